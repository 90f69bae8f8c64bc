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

    /// The sequence before which every operation is settled or parked.
    package var outboxFloor: UInt64 {
        get throws {
            guard let bytes = try meta.value(MetaName.outboxFloor), bytes.count == 8 else {
                return 0
            }
            return bytes.bigEndian()
        }
    }
}
