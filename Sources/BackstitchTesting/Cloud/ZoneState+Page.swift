import BackstitchCore

/// A stretch of a zone's feed.
struct FeedStretch: Sendable {
    var records: [ServiceRecord] = []
    var deletions: [ServiceDeletion] = []
    /// The position after which the next stretch starts.
    var sequence: Int
    var moreComing = false
}

extension ZoneState {
    /// The records changed after a position, oldest change first.
    ///
    /// Costs a binary search and the stretch itself.
    func stretch(
        after position: Int, count: Int, fields: Set<String>?, deletionsCarryType: Bool
    ) -> FeedStretch {
        var stretch = FeedStretch(sequence: sequence)
        stretch.records.reserveCapacity(min(count, feed.count))
        var index = firstFeedIndex(after: position)
        var taken = 0
        var last = position
        while index < feed.count {
            let entry = feed[index]
            index += 1
            guard slots[entry.slot].sequence == entry.sequence else { continue }
            if taken == count {
                stretch.moreComing = true
                stretch.sequence = last
                return stretch
            }
            taken += 1
            last = entry.sequence
            if let record = slots[entry.slot].record {
                stretch.records.append(record.only(fields))
            } else {
                stretch.deletions.append(
                    ServiceDeletion(
                        recordName: slots[entry.slot].name,
                        recordType: deletionsCarryType ? slots[entry.slot].deletedType : nil))
            }
        }
        return stretch
    }

    /// The tags of the last versions of the records that ended after a position.
    func endedTags(after position: Int) -> [String] {
        feed[firstFeedIndex(after: position)...].compactMap { entry in
            let slot = slots[entry.slot]
            guard slot.sequence == entry.sequence, slot.record == nil else { return nil }
            return slot.previous?.changeTag
        }
    }

    /// What a replica that lags behind answers: the versions before the last write.
    func staleRecords(after position: Int, count: Int, fields: Set<String>?) -> [ServiceRecord] {
        var records: [ServiceRecord] = []
        for entry in feed[firstFeedIndex(after: position)...] {
            guard records.count < count else { break }
            let slot = slots[entry.slot]
            guard slot.sequence == entry.sequence, let previous = slot.previous else { continue }
            records.append(previous.only(fields))
        }
        return records
    }

    private func firstFeedIndex(after position: Int) -> Int {
        var low = 0
        var high = feed.count
        while low < high {
            let middle = (low + high) / 2
            if feed[middle].sequence <= position { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

extension ServiceRecord {
    /// The record with no other fields than those asked for; nil asks for all.
    func only(_ names: Set<String>?) -> ServiceRecord {
        guard let names else { return self }
        var record = self
        record.fields = fields.filter { names.contains($0.key) }
        record.requestedFields = names
        return record
    }
}
