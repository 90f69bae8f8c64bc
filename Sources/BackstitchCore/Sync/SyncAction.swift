/// What the sync engine has to do next.
package enum SyncAction: Equatable, Sendable {
    /// Make the zone and the subscription, and check the account.
    case setUp
    /// Read which zones changed.
    case fetchDatabaseChanges
    /// Read a page of the zone's changes and apply it.
    case fetchZoneChanges
    /// Forget where the database's changes were read to.
    case dropDatabaseToken
    /// Forget where the zone's changes were read to, and fetch everything.
    case beginFullFetch
    /// End a full fetch. Records that it did not list are looked up before, and deleted if the service
    /// lacks them.
    case sweep
    /// The service lost the zone: make everything unsynced and set up again.
    case forgetService
    /// Stop exchanging until the application decides.
    case suspend(ServiceError.Code)
    /// Fold unsynced operations: the same run of the log as before, or the one after it.
    case foldOutbox(continues: Bool)
    /// Read the service's version of some of the records that were missed, and merge them.
    case lookUpMissed(Range<Int>)
    /// Send items, by their positions in what was folded.
    case push([Int], atomic: Bool)
    /// Read the service's version of items.
    case lookUp([Int])
    /// Apply what the replies mean, in one transaction.
    case apply([ItemDecision])
    /// Remember that everything that was folded is settled or parked.
    case raiseFloor
    /// The round is over.
    case finish(RoundOutcome)
}

/// What a reply means for one record.
package struct ItemDecision: Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        /// The service has it; nil is its end.
        case acknowledge(ServerVersion?)
        /// The service has it, but for the fields that were deferred.
        case acknowledgePart(ServerVersion)
        /// The service has another version.
        case merge(ServiceRecord)
        /// The service has no such record.
        case mergeAbsent
        /// It can't be pushed as it is.
        case park(ServiceError)
    }

    /// The position in what was folded.
    package var index: Int
    package var kind: Kind

    package init(_ index: Int, _ kind: Kind) {
        self.index = index
        self.kind = kind
    }
}

/// How a round ended.
package enum RoundOutcome: Equatable, Sendable {
    /// Everything that could be exchanged was.
    case completed
    /// Something is left that a later attempt may settle.
    case backOff(ServiceError)
    /// Nothing can be exchanged until something changes outside.
    case blocked(ServiceError)
    /// Nothing is exchanged until the application decides.
    case suspended(ServiceError.Code)
}

/// What happened; the machine answers with the next action.
package enum SyncEvent: Equatable, Sendable {
    /// A round begins, with what is known of the zone.
    case began(
        isSetUp: Bool, needsPull: Bool, suspension: ServiceError.Code?, checksDatabase: Bool = true)
    /// The action before was done.
    case done
    /// A page of database changes was stored.
    case databaseChanges(zoneChanged: Bool, zoneEnded: ServiceError.Code?, moreComing: Bool)
    /// A page of zone changes was applied.
    case zoneChanges(moreComing: Bool, isFullFetch: Bool)
    /// Before the outbox is folded, or a full fetch is ended, this many records have to be looked up, of
    /// which the service may have a version that no page brings. In a round each is told once.
    case missed(Int)
    /// The outbox was folded.
    case folded([PushItem], isComplete: Bool)
    /// The replies to a push, in the order of the items that were sent.
    case pushed([ModificationResult])
    /// The replies to a lookup, in the order of the items.
    case lookedUp([LookupResult])
    /// The request failed as a whole.
    case failed(ServiceError)
}
