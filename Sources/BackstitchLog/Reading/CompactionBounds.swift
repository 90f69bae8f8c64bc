import BackstitchCore
import LMDB

/// How far a log is compacted; kept in the store.
package struct CompactionBounds: Equatable {
    /// Operations up to this sequence may be missing; all later ones are there.
    package var through: UInt64 = 0
    /// The first operation up to there that was kept as it is, because sync needed it; 0 for none.
    package var firstKept: UInt64 = 0

    /// Where the next run begins.
    package var start: UInt64 { firstKept == 0 ? through + 1 : firstKept }

    package init(through: UInt64 = 0, firstKept: UInt64 = 0) {
        self.through = through
        self.firstKept = firstKept
    }

    /// Reads the stored form: both sequences, 8 bytes each, big-endian.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        (through, firstKept) = (bytes.bigEndian(), bytes.bigEndian(at: 8))
        guard through < .max, firstKept <= through else { return nil }
    }

    package var bytes: [UInt8] {
        [through, firstKept].flatMap { number in
            number.bigEndianBytes
        }
    }
}
