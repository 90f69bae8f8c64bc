public import BackstitchCore

extension RecordConflict {
    /// The application's answer to a conflict.
    ///
    /// Under ``ConflictPolicy/merge(otherwise:)``, if both sides have the record, ``server``, ``client``
    /// and ``fields(_:)`` decide the attributes of ``RecordConflict/contested`` and no others: an attribute
    /// that only one side changed has the value of that side, whatever the answer.
    public enum Resolution: Hashable, Sendable {
        /// The service's version wins.
        case server
        /// The local version wins.
        case client
        /// These values win, by attribute name; `null` clears an attribute. Other attributes keep the
        /// service's values, or the local ones if the service deleted the record.
        case fields([String: RecordValue])
        /// Both versions are kept, see ``ConflictPolicy/keepBoth``.
        case keepBoth
        /// The record stays as it is here and is not pushed until it is edited, retried or discarded;
        /// see ``SyncEngine/parked()``.
        case park(reason: String)
    }
}

extension RecordConflict {
    /// Decides about records that were changed on both sides.
    ///
    /// It is called outside of transactions and may take its time, but the round waits for it. If it
    /// throws, or takes longer than ``SyncConfiguration/resolverTimeout``, the record is parked,
    /// and all others are exchanged. It may be asked again about a record that changed meanwhile, and
    /// is called for several records at once.
    ///
    /// With a timeout it runs on threads apart, 64 at most, so that it may block its thread. Without one it
    /// runs on one of the few threads that all tasks share, and must not.
    public typealias Resolver = @Sendable (RecordConflict) async throws -> RecordConflict.Resolution
}
