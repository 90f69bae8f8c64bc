package import BackstitchCore
import LMDB

extension LogWriter {
    /// Writes a record's note.
    package func note(_ kind: SyncNotes, _ record: RecordName, _ value: [UInt8] = []) throws {
        try setMeta(kind.name(record), value)
        haveNotes[kind] = true
    }

    /// A record's note; nil if it has none. Costs nothing if no record has one.
    package func noted(_ kind: SyncNotes, _ record: RecordName) throws -> [UInt8]? {
        try mayHaveNotes(kind) ? reader.meta.note(kind, record) : nil
    }

    /// Takes a record's note away, if there is one. Costs nothing if no record has one.
    package func forgetNote(_ kind: SyncNotes, _ record: RecordName) throws {
        if try noted(kind, record) != nil { try deleteMeta(kind.name(record)) }
    }

    /// Takes all notes of a kind away.
    package func forgetNotes(_ kind: SyncNotes) throws {
        for prefix in [kind.prefix, MetaChecksum.name(of: kind.prefix)] {
            try unsafe Array(prefix.utf8).withUnsafeBytes { prefix in
                try access.withCursor(in: databases.meta) { cursor in
                    var isThere = try unsafe cursor.seek(atOrAfter: prefix)
                    while isThere, unsafe cursor.key.begins(with: prefix) {
                        try cursor.delete()
                        isThere = try cursor.next()
                    }
                }
            }
        }
        haveNotes[kind] = false
    }

    /// Whether there may be notes of a kind; looked up once for each commit.
    package func mayHaveNotes(_ kind: SyncNotes) throws -> Bool {
        if let known = haveNotes[kind] { return known }
        let isThere = try reader.meta.hasNotes(kind)
        haveNotes[kind] = isThere
        return isThere
    }

    /// Notes that the service has a version of a record which was not taken over.
    ///
    /// - Parameter isDoubted: Whether the record ended here because a lookup did not find it.
    package func noteUnmergedVersion(
        of key: RecordKey, modifiedMilliseconds: Int64, isDoubted: Bool = false
    ) throws {
        try note(.missed, key.name, modifiedMilliseconds.bigEndianBytes + (isDoubted ? [1] : []))
    }
}
