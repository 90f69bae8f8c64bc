package import BackstitchCore

/// A kind of note in `meta` about single records: what a later step has to know of a record and its row does not
/// tell.
package enum SyncNotes: String, Hashable, Sendable, CaseIterable {
    /// The note of a full fetch that the record was seen.
    case seen
    /// The note that the service has a version which was not taken over.
    case missed
    /// The note that the record was deleted here and the service never heard of it.
    case unheard
    /// The note that this device asked the service to create the record, or to replace it by one that was
    /// made anew after a delete here, and has no answer yet: the service may have that record or not. The
    /// note is stored before the request is sent. A deletion that the service reports after that may be of
    /// the record that was sent; one of a record before a create was reported earlier.
    case sent
    /// The note that the record could not be stored whole.
    case incomplete
    /// The note that the service has the record and could not deliver it.
    case undelivered
    /// The note that the record may be a duplicate.
    case duplicate

    /// What the names of the notes about records of a zone begin with in `meta`.
    package func prefix(in slot: UInt8) -> String { rawValue + MetaName.suffix(of: slot) + "." }

    /// The name of the note about a record.
    package func name(_ record: RecordKey) -> String {
        prefix(in: record.zone) + record.name.description
    }

    /// Whether a name in `meta` is that of a mark of a full fetch, in any zone. Marks have no checksums.
    package static func isMark(_ name: String) -> Bool {
        name.hasPrefix(seen.rawValue + ".") || name.hasPrefix(seen.rawValue + ":")
    }
}
