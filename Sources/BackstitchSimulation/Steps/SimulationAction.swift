public import BackstitchTesting

/// What can happen in a step of a simulation.
public enum SimulationAction: Hashable, Sendable, Codable {
    /// The device saves or deletes records in one transaction.
    case edit
    /// The device saves or deletes records in a transaction that the service is never to hear of.
    case editLocally
    /// The device takes some records off itself.
    case evict
    /// The device takes some records that it took off itself back.
    case fetchAgain
    /// The device runs a sync round, unless it is offline.
    case exchange
    /// The device ends in a transaction of its own, after a number of commits.
    case crashInEdit(afterCommits: Int)
    /// The device ends in a sync round, after a number of commits.
    case crashInExchange(afterCommits: Int)
    /// The device's disk gets full after a number of commits; it edits and exchanges meanwhile.
    case fillDisk(afterCommits: Int)
    /// The device closes its store and opens it again.
    case reopen
    /// The device's clock is off by a number of milliseconds from now on.
    case jumpClock(milliseconds: Int64)
    /// The device does not exchange for a number of steps.
    case goOffline(steps: Int)
    /// The device's connection will meet a fault.
    case inject(InjectedFault)
    /// The device's parked records are tried again.
    case retryParked
    /// The device compacts its log up to some operation.
    case compact
    /// The device's store and log are checked.
    case check
    /// Another client edits a record on the service.
    case foreignEdit
    /// Another client deletes the zone.
    case deleteZone
    /// The service forgets what was deleted.
    case forgetTombstones
    /// All tokens expire.
    case expireTokens
    /// The service is backed up.
    case backUp
    /// The service is put back to its backup; nothing happens if there is none.
    case restore
    /// The service loses everything.
    case wipe
    /// The state of the service is kept, beside the last ones that were kept before.
    case keepState
    /// The service is put back to one of the states that were kept, after a number of further requests; nothing
    /// happens if there are none. Nobody is told, and its tokens go on to count.
    case rollBack(state: Int, afterRequests: Int)
    /// The device ends all processes on its store, and opens it with a version of the schema.
    case takeSchema(SimulatedSchema)
    /// The device's application ends, and starts in the version that has a number of data migrations. One
    /// may fail after a number of records; the application starts again then, in this version or in the one
    /// that it had.
    case migrate(count: Int, failsAfter: Int?)
    /// The device's application asks its engine to begin anew.
    case reset(SimulatedReset)
    /// The device runs a sync round, and something happens to its engine while a request is under way.
    case disturb(EngineTrouble)
    /// The device's application starts with another name of the zone, and may ask its engine to take
    /// the store there.
    case renameZone(moves: Bool)
    /// Something happens to files.
    case files(FileAction)
    /// One of the next transfers of the device goes wrong.
    case cutTransfer(TransferTrouble)
}

/// What happens to an engine while one of its requests is under way.
public struct EngineTrouble: Hashable, Sendable, Codable {
    /// The kinds of trouble.
    public enum Kind: String, Hashable, Sendable, Codable, CaseIterable {
        /// It is stopped, and another one goes on.
        case replace
        /// A second one on the same store object wants to exchange; it may once the first has ended.
        case double
        /// It is stopped, and another process wants to go on with the store; if the device has no
        /// other process, it happens to one that has, and else it is replaced.
        case move
        /// The call that runs the round is cancelled.
        case cancel
        /// More calls come to wait, and it is stopped.
        case hang
    }

    /// What happens.
    public var kind: Kind
    /// Which request of the round it happens in, from 0; if the round has fewer, nothing happens.
    public var request: Int
    /// Whether the service has done by then what the request asks for.
    public var isDone: Bool
    /// How many steps later the reply to an engine that was stopped comes; with 0 it comes while the
    /// next engine exchanges.
    public var replySteps: Int
    /// In which request of the next engine it comes then, from 0.
    public var replyRequest: Int

    /// A trouble by its parts.
    public init(
        _ kind: Kind, request: Int, isDone: Bool = true, replySteps: Int = 0, replyRequest: Int = 0
    ) {
        self.kind = kind
        self.request = request
        self.isDone = isDone
        self.replySteps = replySteps
        self.replyRequest = replyRequest
    }
}

extension EngineTrouble.Kind {
    var fault: SimulationFault {
        switch self {
        case .replace: .engineReplaced
        case .double: .engineDoubled
        case .move: .engineMoved
        case .cancel: .cancelledSync
        case .hang: .hangingService
        }
    }
}

/// What an application can ask an engine for besides rounds.
public enum SimulatedReset: String, Hashable, Sendable, Codable, CaseIterable {
    /// What is here goes, but for edits, and is fetched again.
    case local
    /// What is here goes, and is fetched again.
    case localWithEdits
    /// The zone is deleted and filled again from here.
    case remote
    /// The zone is deleted.
    case destroyZone
    /// Everything is compared anew, and the service's version wins if nothing was edited.
    case fromServer
    /// Everything is compared anew, and the local version wins.
    case fromLocal

    /// Whether it ends the zone, for all devices.
    var endsZone: Bool { self == .remote || self == .destroyZone }
}

/// A fault of a connection as a step asks for it, see ``ScriptedFault``.
public struct InjectedFault: Hashable, Sendable, Codable {
    /// The kind of fault.
    public var kind: FaultKind
    /// How many requests that could meet it go well before.
    public var skip: Int
    /// How many requests meet it.
    public var requests: Int
    /// For `lateExecution`, how many other requests pass before.
    public var lateBy: Int
    /// The seconds to wait, for errors that tell them.
    public var retryAfterSeconds: Double?
    /// For `stuckFeed`, whether the pages have two tokens in turn; nil is no.
    public var alternates: Bool?

    /// A fault of the next request that it applies to.
    public init(
        _ kind: FaultKind, skip: Int = 0, requests: Int = 1, lateBy: Int = 0,
        retryAfterSeconds: Double? = nil
    ) {
        self.kind = kind
        self.skip = skip
        self.requests = requests
        self.lateBy = lateBy
        self.retryAfterSeconds = retryAfterSeconds
    }

    var scripted: ScriptedFault {
        ScriptedFault(
            kind, skip: skip, for: .requests(requests), retryAfterSeconds: retryAfterSeconds,
            lateBy: lateBy, alternates: alternates == true)
    }
}

extension FaultKind: Codable {}
