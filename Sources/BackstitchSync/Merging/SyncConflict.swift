public import BackstitchCore

/// A record that was changed on both sides.
public struct SyncConflict: Hashable, Sendable {
    /// The entity.
    public let entity: String
    /// The record's name.
    public let recordName: RecordName
    /// The policy that decided.
    public let policy: ConflictPolicy
    /// The record that has the local version: a new one if both were kept, or the one that this
    /// one became one with, because a unique attribute had the same value.
    public let copy: RecordName?
}
