package import BackstitchCore

/// What came of a version of a record that the service delivered.
package enum MergeResult: Equatable, Sendable {
    /// It was known already.
    case unchanged
    /// It was taken over.
    case applied
    /// Both sides had changed; an operation settled it.
    case conflict(sequence: UInt64)
    /// Both sides had changed, and the record was parked as it is here.
    case parked(ParkedRecord)
    /// Both sides had changed, and the application has to decide. Nothing was written.
    case undecided(ConflictKey, ConflictQuestion)
    /// It can't be stored at all.
    case rejected(String)
    /// It can't be stored for now, because the catalog has no number for its type. A note says so.
    case unnumbered(String)
}
