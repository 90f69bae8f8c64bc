package import BackstitchCore
import LMDB

/// A kind of note in `meta` about single records, by their names: what a later step has to know of a
/// record and its row does not tell.
package struct RecordNotes: Hashable, Sendable {
    /// What the names of the notes begin with in `meta`.
    package let prefix: String

    /// The note of a full fetch that the record was seen.
    package static let seen = RecordNotes(prefix: "seen.")
    /// The note that the service has a version which was not taken over.
    package static let missed = RecordNotes(prefix: "missed.")
    /// The note that the record was deleted here and the service never heard of it.
    package static let unheard = RecordNotes(prefix: "unheard.")
    /// The note that the record could not be stored whole.
    package static let incomplete = RecordNotes(prefix: "incomplete.")
    /// The note that the record may be a duplicate.
    package static let duplicate = RecordNotes(prefix: "duplicate.")

    fileprivate func name(_ record: RecordName) -> String { prefix + record.description }
}

extension TableReader {
    /// A record's note; nil if it has none of the kind.
    package func note(_ kind: RecordNotes, _ record: RecordName) throws -> [UInt8]? {
        try meta(kind.name(record))
    }

    /// Visits the notes of a kind by the names of their records, until the closure returns false.
    package func visitNotes(
        _ kind: RecordNotes, _ visit: (RecordName, UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        try visitMeta(kind.prefix) { try visit(RecordName($0), $1) }
    }

    /// Whether any record has a note of a kind.
    package func hasNotes(_ kind: RecordNotes) throws -> Bool {
        var isThere = false
        try visitMeta(kind.prefix) { _, _ in
            isThere = true
            return false
        }
        return isThere
    }
}

extension LogWriter {
    /// Writes a record's note.
    package func note(_ kind: RecordNotes, _ record: RecordName, _ value: [UInt8] = []) throws {
        try setMeta(kind.name(record), value)
        haveNotes[kind] = true
    }

    /// A record's note; nil if it has none. Costs nothing if no record has one.
    package func noted(_ kind: RecordNotes, _ record: RecordName) throws -> [UInt8]? {
        try mayHaveNotes(kind) ? reader.note(kind, record) : nil
    }

    /// Takes a record's note away, if there is one. Costs nothing if no record has one.
    package func forgetNote(_ kind: RecordNotes, _ record: RecordName) throws {
        if try noted(kind, record) != nil { try deleteMeta(kind.name(record)) }
    }

    /// Takes all notes of a kind away.
    package func forgetNotes(_ kind: RecordNotes) throws {
        for prefix in [kind.prefix, MetaChecksum.name(of: kind.prefix)] {
            try Array(prefix.utf8).withUnsafeBytes { prefix in
                try access.withCursor(in: databases.meta) { cursor in
                    var isThere = try cursor.seek(atOrAfter: prefix)
                    while isThere, cursor.key.begins(with: prefix) {
                        try cursor.delete()
                        isThere = try cursor.next()
                    }
                }
            }
        }
        haveNotes[kind] = false
    }

    /// Whether there may be notes of a kind; looked up once for each commit.
    package func mayHaveNotes(_ kind: RecordNotes) throws -> Bool {
        if let known = haveNotes[kind] { return known }
        let isThere = try reader.hasNotes(kind)
        haveNotes[kind] = isThere
        return isThere
    }

    /// Notes that the service has a version of a record which was not taken over.
    ///
    /// - Parameter isDoubted: Whether the record ended here because a lookup did not find it.
    package func noteMissedVersion(
        of key: RecordKey, modifiedMilliseconds: Int64, isDoubted: Bool = false
    ) throws {
        var value = withUnsafeBytes(of: modifiedMilliseconds.bigEndian) { Array($0) }
        if isDoubted { value.append(1) }
        try note(.missed, key.name, value)
    }
}
