import BackstitchCore

/// The records, the feed and the links of one zone.
///
/// Invariants: the feed ascends by sequence; each live record and each tombstone has exactly one
/// entry in it whose sequence is its own; `links` mirrors the links of the live records. `violation`
/// checks them.
struct ZoneState: Sendable {
    /// Tells this zone from one of the same name that was there before, and from all others.
    let incarnation: Int
    var slots: [RecordSlot] = []
    var slotsByName: [String: Int] = [:]
    var feed: [FeedEntry] = []
    var links: [String: LinkSources] = [:]
    /// The position of the last write.
    var sequence = 0
    /// Tokens that stand for less than this no longer find all tombstones.
    var floor = 0
    /// The position of the last write in the list of changed zones.
    var databaseSequence = 0

    init(incarnation: Int) {
        self.incarnation = incarnation
    }

    /// The slot of a name, made if there is none yet.
    mutating func slot(named name: String) -> Int {
        if let slot = slotsByName[name] { return slot }
        slots.append(RecordSlot(name: name))
        slotsByName[name] = slots.count - 1
        return slots.count - 1
    }

    /// The record of a name as it stands.
    func record(named name: String) -> ServiceRecord? {
        slotsByName[name].flatMap { slots[$0].record }
    }

    /// The live records, sorted by name.
    var sortedRecords: [ServiceRecord] {
        slots.compactMap(\.record).sorted { $0.recordName < $1.recordName }
    }

    /// Puts a record at the end of the feed.
    mutating func store(
        _ record: ServiceRecord?, bytes: Int, links newLinks: [RecordLink], at slot: Int
    ) {
        unlink(slot)
        sequence += 1
        feed.append(FeedEntry(sequence: sequence, slot: slot))
        let old = slots[slot].record
        slots[slot].previous = old
        if record == nil { slots[slot].deletedType = old?.recordType }
        slots[slot].record = record
        slots[slot].sequence = sequence
        slots[slot].bytes = bytes
        slots[slot].links = newLinks
        link(slot)
    }

    /// Puts a slot back to what it was before `store`; the feed is cut by the caller.
    mutating func putBack(_ old: RecordSlot, at slot: Int) {
        unlink(slot)
        slots[slot] = old
        link(slot)
    }

    /// Deletes a record, and all that refer to it with DELETE_SELF, and so on.
    ///
    /// - Returns: The slots that were deleted, the record's own first.
    mutating func removeCascading(_ slot: Int, willRemove: (Int, RecordSlot) -> Void) -> [Int] {
        var removed: [Int] = []
        var waiting = [slot]
        var next = 0
        while next < waiting.count {
            let current = waiting[next]
            next += 1
            guard slots[current].record != nil else { continue }
            let sources = links[slots[current].name]?.deleteSelf ?? []
            willRemove(current, slots[current])
            store(nil, bytes: 0, links: [], at: current)
            removed.append(current)
            waiting += sources.sorted()
        }
        return removed
    }

    /// Drops feed entries that no longer count, once they are more than the others.
    mutating func compactFeed() {
        guard feed.count > 2 * slots.count + 256 else { return }
        feed.removeAll { slots[$0.slot].sequence != $0.sequence }
    }

    /// Forgets all tombstones; tokens given so far no longer work.
    mutating func forgetTombstones() {
        feed.removeAll {
            slots[$0.slot].record == nil || slots[$0.slot].sequence != $0.sequence
        }
        expireTokens()
    }

    /// Makes tokens given so far stop working.
    mutating func expireTokens() {
        sequence += 1
        floor = sequence
    }

    mutating func link(_ slot: Int) {
        for link in slots[slot].links {
            if link.isValidating {
                links[link.target, default: LinkSources()].validate.insert(slot)
            } else {
                links[link.target, default: LinkSources()].deleteSelf.insert(slot)
            }
        }
    }

    private mutating func unlink(_ slot: Int) {
        for link in slots[slot].links {
            if link.isValidating {
                links[link.target]?.validate.remove(slot)
            } else {
                links[link.target]?.deleteSelf.remove(slot)
            }
            if let left = links[link.target], left.validate.isEmpty, left.deleteSelf.isEmpty {
                links[link.target] = nil
            }
        }
    }
}
