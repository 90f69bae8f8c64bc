package import BackstitchCore
import LMDB

extension MetaReader {
    /// A record's note; nil if it has none of the kind.
    package func note(_ kind: SyncNotes, _ record: RecordKey) throws -> [UInt8]? {
        try value(kind.name(record))
    }

    /// Visits the notes of a kind about records of a zone, by the names of the records, until the closure
    /// returns false.
    package func visitNotes(
        _ kind: SyncNotes, in slot: UInt8, _ visit: (RecordKey, [UInt8]) throws -> Bool
    ) throws {
        try self.visit(kind.prefix(in: slot)) {
            try visit(RecordKey(RecordName($0), zone: slot), $1)
        }
    }

    /// The number of records of all zones that have a note of a kind.
    package func countNotes(_ kind: SyncNotes) throws -> Int {
        var count = 0
        for separator in [".", ":"] {
            try self.visit(kind.rawValue + separator) { _, _ in
                count += 1
                return true
            }
        }
        return count
    }

    /// Whether any record of a zone has a note of a kind.
    package func hasNotes(_ kind: SyncNotes, in slot: UInt8) throws -> Bool {
        var isThere = false
        try self.visit(kind.prefix(in: slot)) { _, _ in
            isThere = true
            return false
        }
        return isThere
    }
}
