import BackstitchCore

/// Up to where the log is compacted, and up to where it may be.
package struct LogHorizon {
    let reader: TableReader
    private var meta: MetaReader { reader.meta }

    package init(_ reader: TableReader) { self.reader = reader }

    /// Whether a service may come to have the store's records; false if the store was last opened as
    /// one that never syncs.
    package var maySync: Bool {
        get throws { try meta.value(MetaName.neverSyncs) == nil }
    }

    /// How far the log is compacted.
    package var compaction: CompactionBounds {
        get throws {
            guard let bytes = try meta.value(MetaName.compaction) else {
                return CompactionBounds()
            }
            guard let bounds = CompactionBounds(bytes) else {
                throw StoreError(
                    .damaged,
                    "The note of how far the log is compacted can't be read. Restore the store from "
                        + "a backup.")
            }
            return bounds
        }
    }

    /// The sequence before which every operation of a zone is settled or parked.
    package func outboxFloor(in slot: UInt8) throws -> UInt64 {
        guard let bytes = try meta.value(MetaName.outboxFloor(in: slot)), bytes.count == 8 else {
            return 0
        }
        return bytes.bigEndian()
    }

    /// The sequence before which every operation is settled or parked: the least floor of the zones that have
    /// records here.
    package var outboxFloor: UInt64 {
        get throws {
            var least = try outboxFloor(in: 0)
            guard least > 0 else { return 0 }
            for slot in try ZoneRows(reader).slots() where slot != 0 {
                least = min(least, try outboxFloor(in: slot))
            }
            return least
        }
    }

    /// The stored floors by slot. A zone without one has the floor 0.
    var outboxFloors: [UInt8: UInt64] {
        get throws {
            var floors: [UInt8: UInt64] = [:]
            try meta.visit(MetaName.outboxFloor) { suffix, bytes in
                let slot: UInt8? = suffix.isEmpty ? 0 : UInt8(suffix.dropFirst(), radix: 16)
                if let slot, bytes.count == 8 { floors[slot] = bytes.bigEndian(UInt64.self) }
                return true
            }
            return floors
        }
    }
}
