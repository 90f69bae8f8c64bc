public import BackstitchCore

/// What becomes of a record that was changed on both sides.
public enum ConflictResolution: Hashable, Sendable {
    /// The service's version stands.
    case server
    /// The local version stands.
    case client
    /// These values stand, by attribute name, `null` for none. The rest is the service's version,
    /// or the local one if the service deleted the record.
    case fields([String: RecordValue])
    /// Both stand: see ``ConflictPolicy/keepBoth``.
    case keepBoth
    /// The record stays as it is here and is not pushed until somebody edits, retries or discards
    /// it; see ``SyncEngine/parked()``.
    case park(reason: String)
}

/// Decides about records that were changed on both sides.
///
/// It is called outside of transactions and may take its time, but the round waits for it. One
/// that throws, or takes longer than ``SyncConfiguration/resolverMilliseconds``, parks the record,
/// and everything else goes on. It may be asked again about a record that changed meanwhile, and
/// is called for several records at once.
public typealias ConflictResolver = @Sendable (RecordConflict) async throws -> ConflictResolution
