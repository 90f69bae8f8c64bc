import Threading
public import BackstitchCore
import BackstitchSync

extension SimulatedCloud {
    /// The ways in which a zone can end without a request.
    public enum ZoneEnding: Hashable, Sendable, CaseIterable {
        /// By another client: calls fail with `zoneNotFound`.
        case deleted
        /// By the user, in the system's settings: calls fail with `zoneDeletedByUser`.
        case deletedByUser
        /// By the user, who had the app's data purged: calls fail with `zonePurged`.
        case purged
        /// By a reset of the key of encrypted data: calls fail with `encryptedDataReset`.
        case encryptedDataReset

        var code: ServiceError.Code {
            switch self {
            case .deleted: .zoneNotFound
            case .deletedByUser: .zoneDeletedByUser
            case .purged: .zonePurged
            case .encryptedDataReset: .encryptedDataReset
            }
        }
    }

    /// A backup of all databases at one time.
    public struct Snapshot: Sendable {
        let databases: [String: DatabaseState]
        let history: CommitHistory
    }

    /// Makes all tokens of a zone given so far fail with `tokenExpired`.
    public func expireTokens(of zone: ZoneID, user: String = "user") {
        state.withLock { $0.expireTokens(of: zone, user: user) }
    }

    /// Makes all tokens of a database given so far fail with `tokenExpired`.
    public func expireDatabaseTokens(user: String = "user") {
        state.withLock { $0.expireDatabaseTokens(of: user) }
    }

    /// Forgets which records a zone had, as servers do after a time; expires its tokens.
    public func forgetTombstones(of zone: ZoneID, user: String = "user") {
        state.withLock { state in
            state.databases[user]?.zones[zone]?.forgetTombstones()
            state.history.note()
        }
    }

    /// Ends a zone. Calls to it fail as the ending says, until it is created again.
    ///
    /// - Returns: Whether there was such a zone.
    @discardableResult
    public func endZone(
        _ zone: ZoneID, as ending: ZoneEnding, user: String = "user"
    ) -> Bool {
        state.withLock { $0.end(zone, of: user, error: ending.code) }
    }

    /// A backup of all databases as they are now. Cheap: it shares its contents until they change.
    public func snapshot() -> Snapshot {
        state.withLock { Snapshot(databases: $0.databases, history: $0.history) }
    }

    /// Puts all databases back to an older state and does not announce it: the epoch stays, and all tokens
    /// stay valid but for those of lost commits.
    ///
    /// A token of a lost commit fails with `zoneNotFound`, also after later writes of other devices, so
    /// that its holder sends all its records. Change tags keep counting, files stay, and late requests are
    /// still executed.
    /// - Parameter requests: How many further requests are answered before, from any device.
    public func rollBack(to snapshot: Snapshot, afterRequests requests: Int = 0) {
        state.withLock { state in
            state.dueRollback = (snapshot, requests)
            if requests <= 0 { state.rollBack() }
        }
    }

    /// Puts the databases back now, if that is still to come.
    public func performRollback() { state.withLock { $0.rollBack() } }

    /// Restores all databases from a backup, as a new epoch: all tokens expire.
    ///
    /// Change tags go on counting, so that none is given twice. Requests that are still to be
    /// carried out late are forgotten.
    public func restore(to snapshot: Snapshot) {
        state.withLock { state in
            state.databases = snapshot.databases
            state.dueRollback = nil
            state.epoch += 1
            state.lateRequests = []
        }
    }

    /// Forgets all users, their zones and the types of fields, as a new epoch.
    public func wipe() {
        restore(to: Snapshot(databases: [:], history: CommitHistory()))
        state.withLock { $0.fieldTypes = FieldTypes() }
    }

    /// How many requests were lost to their senders and are still to be carried out.
    public var lateRequestCount: Int {
        state.withLock { $0.lateRequests.count }
    }

    /// Carries out all late requests now, in the order that they were sent.
    public func performLateRequests() {
        let now = clock?.milliseconds
        let pokes = state.withLock { state in
            if let now { state.stamp.milliseconds = now }
            state.performAllLate()
            return state.takePokes()
        }
        for poke in pokes { poke.deliver() }
    }

    /// How many requests of each kind arrived.
    public var requestCounts: [RequestKind: Int] {
        state.withLock { $0.log.counts }
    }

    /// The latest requests that arrived, oldest first; see ``Options/requestLogMax``.
    public var requests: [RequestInfo] {
        state.withLock { Array($0.log.entries.suffix($0.options.requestLogMax)) }
    }

    /// Forgets the requests counted and logged so far.
    public func clearRequests() {
        state.withLock { $0.log = RequestLog() }
    }
}
