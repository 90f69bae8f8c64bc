public import BackstitchCore

/// A record that was changed on both sides, for the application to decide.
///
/// Values are by attribute name; nil says that the record does not exist on that side. Attributes
/// that the schema does not know are among them.
public struct RecordConflict: Sendable {
    /// The entity.
    public let entity: String
    /// The record's name.
    public let recordName: RecordName
    /// The version that both sides started from; nil if each made the record by itself.
    public let base: [String: Value]?
    /// The local version.
    public let local: [String: Value]?
    /// The service's version.
    public let server: [String: Value]?
    /// When the last local operation was made, by this device's clock, in milliseconds since 1970.
    public let localMilliseconds: Int64
    /// When the service's version was saved, by the service's clock, in milliseconds since 1970;
    /// nil if it was deleted.
    public let serverMilliseconds: Int64?

    /// The attributes that differ between the base and the local version.
    public var locallyChanged: Set<String> { Self.changes(from: base, to: local) }
    /// The attributes that differ between the base and the service's version.
    public var changedOnService: Set<String> { Self.changes(from: base, to: server) }

    private static func changes(
        from base: [String: Value]?, to side: [String: Value]?
    ) -> Set<String> {
        guard let side else { return [] }
        let base = base ?? [:]
        return Set(base.keys).union(side.keys).filter { base[$0] != side[$0] }
    }
}

/// What becomes of a record that was changed on both sides.
public enum ConflictResolution: Hashable, Sendable {
    /// The service's version stands.
    case server
    /// The local version stands.
    case client
    /// These values stand, by attribute name, `null` for none. The rest is the service's version,
    /// or the local one if the service deleted the record.
    case fields([String: Value])
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
