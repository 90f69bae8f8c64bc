extension ZoneState {
    /// What contradicts the invariants; nil if nothing does. Costs as much as the zone is large.
    var violation: String? {
        if zip(feed, feed.dropFirst()).contains(where: { $0.sequence >= $1.sequence }) {
            return "its feed does not ascend"
        }
        var entries: [Int: Int] = [:]
        for entry in feed where slots[entry.slot].sequence == entry.sequence {
            entries[entry.slot, default: 0] += 1
        }
        var expected = ZoneState(incarnation: incarnation)
        for (index, slot) in slots.enumerated() {
            // What was never written has no entry, nor has a tombstone that is forgotten.
            let mayLack = slot.record == nil && (slot.sequence == 0 || slot.sequence < floor)
            let count = entries[index] ?? 0
            guard count == 1 || count == 0 && mayLack else {
                return "\(slot.name) has \(count) entries in the feed"
            }
            guard slotsByName[slot.name] == index else { return "\(slot.name) is not found" }
            expected.slots.append(slot)
            expected.link(index)
        }
        return links == expected.links ? nil : "its links are not those of its records"
    }
}
