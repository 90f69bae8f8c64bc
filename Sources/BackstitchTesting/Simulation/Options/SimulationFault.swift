/// What goes wrong in a simulation besides the faults of a connection, see ``FaultKind``.
public enum SimulationFault: String, Hashable, Sendable, CaseIterable, Codable {
    /// A device ends while a request is in flight, and opens its store again.
    case crash
    /// A device ends right before a commit, which is lost.
    case crashBeforeCommit
    /// A device ends while it compacts its log, between two chunks.
    case crashInCompaction
    /// A device closes its store and opens it again.
    case reopen
    /// The device edits while one of its requests is in flight.
    case editDuringRequest
    /// Another device exchanges while a request is in flight.
    case syncDuringRequest
    /// Somebody else edits on the service.
    case foreignEdit
    /// Somebody else edits on the service while a request is in flight.
    case foreignEditDuringRequest
    /// A device's clock jumps, forwards or backwards.
    case clockJump
    /// A device does not exchange for a long time.
    case longOffline
    /// The service forgets what was deleted long ago.
    case tombstoneFloor
    /// All tokens expire.
    case tokensExpire
    /// Another client deletes the zone.
    case zoneDeletedByClient
    /// The service is put back to a backup.
    case restore
    /// The service loses everything.
    case wipe
    /// Two processes use one store, and one of them synchronises it.
    case secondProcess
    /// A device has another version of the schema than others, or takes one.
    case schemaChange
    /// A device's application deletes the zone, or begins anew with what it or the service has.
    case reset
    /// A device exchanges a part of its records.
    case selection
    /// A device saves something that is to stay there.
    case localOnlyEdit
    /// A device takes a record off itself.
    case eviction
}
