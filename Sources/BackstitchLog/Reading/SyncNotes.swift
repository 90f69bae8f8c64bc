package import BackstitchCore
import LMDB

/// A kind of note in `meta` about single records, by their names: what a later step has to know of a
/// record and its row does not tell.
package struct SyncNotes: Hashable, Sendable {
    /// What the names of the notes begin with in `meta`.
    package let prefix: String

    /// The note of a full fetch that the record was seen.
    package static let seen = SyncNotes(prefix: MetaName.seenPrefix)
    /// The note that the service has a version which was not taken over.
    package static let missed = SyncNotes(prefix: "missed.")
    /// The note that the record was deleted here and the service never heard of it.
    package static let unheard = SyncNotes(prefix: "unheard.")
    /// The note that this device asked the service to create the record, or to replace it by one that was
    /// made anew after a delete here, and has no answer yet: the service may have that record or not. The
    /// note is stored before the request is sent. A deletion that the service reports after that may be of
    /// the record that was sent; one of a record before a create was reported earlier.
    package static let sent = SyncNotes(prefix: "sent.")
    /// The note that the record could not be stored whole.
    package static let incomplete = SyncNotes(prefix: "incomplete.")
    /// The note that the service has the record and could not deliver it.
    package static let undelivered = SyncNotes(prefix: "undelivered.")
    /// The note that the record may be a duplicate.
    package static let duplicate = SyncNotes(prefix: "duplicate.")

    func name(_ record: RecordName) -> String { prefix + record.description }
}

extension MetaReader {
    /// A record's note; nil if it has none of the kind.
    package func note(_ kind: SyncNotes, _ record: RecordName) throws -> [UInt8]? {
        try value(kind.name(record))
    }

    /// Visits the notes of a kind by the names of their records, until the closure returns false.
    package func visitNotes(
        _ kind: SyncNotes, _ visit: (RecordName, [UInt8]) throws -> Bool
    ) throws {
        try self.visit(kind.prefix) { try visit(RecordName($0), $1) }
    }

    /// Whether any record has a note of a kind.
    package func hasNotes(_ kind: SyncNotes) throws -> Bool {
        var isThere = false
        try self.visit(kind.prefix) { _, _ in
            isThere = true
            return false
        }
        return isThere
    }
}
