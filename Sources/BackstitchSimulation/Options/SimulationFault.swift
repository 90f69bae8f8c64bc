import BackstitchTesting

/// What goes wrong in a simulation besides the faults of a connection, see ``FaultKind``.
public enum SimulationFault: String, Hashable, Sendable, CaseIterable, Codable {
    /// A device ends while a request is in flight, and opens its store again.
    case crash
    /// A device ends right before a commit, which is lost.
    case crashBeforeCommit
    /// A device ends while it compacts its log, between two chunks.
    case crashInCompaction
    /// A device's disk is full for a while: commits fail, some by a write that is cut short.
    case fullDisk
    /// A device closes its store and opens it again.
    case reopen
    /// The device edits while one of its requests is in flight.
    case editDuringRequest
    /// Another device exchanges while a request is in flight.
    case syncDuringRequest
    /// Another client edits on the service.
    case foreignEdit
    /// Another client edits on the service while a request is in flight.
    case foreignEditDuringRequest
    /// A device's clock jumps, forwards or backwards.
    case clockJump
    /// A device saves while its clock is years ahead, and the clock is put right.
    case clockFarAhead
    /// A device has another conflict policy than most.
    case mixedPolicies
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
    /// The service is put back to an older state, and nobody is told.
    case rollback
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
    /// An engine is stopped while a request is in flight, and another one goes on; the reply comes
    /// later.
    case engineReplaced
    /// A second engine on the same store object wants to exchange while the first one does.
    case engineDoubled
    /// An engine is stopped while a request is in flight, and another process goes on with the store.
    case engineMoved
    /// A call for a round is cancelled while a request is in flight.
    case cancelledSync
    /// The service does not answer while several calls wait for the engine, which is then stopped.
    case hangingService
    /// A device's application starts with another name of the zone by mistake.
    case zoneRenamed
    /// A device's application takes its store to another zone.
    case zoneMove
    /// A device's application takes a version with more or fewer data migrations, of which one may fail in the
    /// middle.
    case dataMigration
    /// Another client writes a value of a type that the devices do not know, or not yet.
    case unknownType
    /// An upload of a file goes wrong.
    case uploadCut
    /// A download of a file goes wrong.
    case downloadCut
    /// All receipts of uploads end.
    case receiptsExpire
    /// All addresses for downloads end.
    case addressesExpire
    /// A device takes files off itself.
    case fileEviction
    /// A device removes files that nothing names.
    case fileCollection
    /// A device undoes a transaction.
    case undo
    /// Something happens while a file is transferred.
    case eventDuringTransfer
}
