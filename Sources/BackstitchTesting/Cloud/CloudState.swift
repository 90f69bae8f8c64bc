import BackstitchCore

/// Everything that a server knows; guarded by the server's lock.
struct CloudState: Sendable {
    var limits: ServiceLimits
    var options: SimulatedCloud.Options
    var stamp: WriteStamp
    var databases: [String: DatabaseState] = [:]
    /// Part of every token; another one after a restore or wipe.
    var epoch = 1
    /// The commits of all databases; part of every token too.
    var history = CommitHistory()
    /// Numbers runs, never the same twice.
    var runCount = 0
    /// What the databases are put back to, and how many requests are answered before.
    var dueRollback: (snapshot: SimulatedCloud.Snapshot, requests: Int)?
    /// Numbers zones and databases, never the same twice.
    var ownerCount = 0
    /// Numbers requests as they are carried out.
    var requestCount = 0
    var log = RequestLog()
    /// Requests that were lost to their senders and are still to be carried out.
    var lateRequests: [LateRequest] = []
    /// How each device wants to be told of changes.
    var pokeHandlers: [String: @Sendable (ZoneID) -> Void] = [:]
    /// The types of fields, as their first values had them.
    var fieldTypes = FieldTypes()
    var files = SimulatedFiles()
    private var pokes: [Poke] = []

    init(limits: ServiceLimits, options: SimulatedCloud.Options, advancesItself: Bool) {
        self.limits = limits
        self.options = options
        stamp = WriteStamp(
            advancesItself: advancesItself, keepsVersions: options.keepsVersions)
    }

    var rules: RecordRules { RecordRules(limits: limits, options: options) }

    /// Makes the user's database on first use.
    mutating func openDatabase(of user: String) {
        guard databases[user] == nil else { return }
        ownerCount += 1
        databases[user] = DatabaseState(number: ownerCount)
    }

    /// Whether the holder of a token may know of commits that were lost.
    func hasLost(_ text: String?) -> Bool {
        guard let token = text.flatMap({ ChangeToken($0) }), token.epoch == epoch else {
            return false
        }
        return !history.holds(token.mark)
    }

    /// Puts the databases back, without another epoch.
    mutating func rollBack() {
        guard let snapshot = dueRollback?.snapshot else { return }
        dueRollback = nil
        databases = snapshot.databases
        history = snapshot.history
        runCount += 1
        history.begin(run: runCount)
    }

    /// Ends a zone; false if it does not exist.
    mutating func end(_ zone: ZoneID, of user: String, error: ServiceError.Code) -> Bool {
        stamp.noteEnds(databases[user]?.zones[zone]?.slots.compactMap(\.record?.changeTag) ?? [])
        guard databases[user]?.end(zone, error: error) == true else { return false }
        history.note()
        return true
    }

    /// Makes all tokens of a zone given so far stop working.
    mutating func expireTokens(of zone: ZoneID, user: String) {
        databases[user]?.zones[zone]?.expireTokens()
        history.note()
    }

    /// Makes all tokens of a database given so far stop working.
    mutating func expireDatabaseTokens(of user: String) {
        databases[user]?.expireTokens()
        history.note()
    }

    /// Notes that a zone changed, and who is to be told.
    mutating func noteChange(in zone: ZoneID, of user: String, by device: String) {
        history.note()
        databases[user]?.noteChange(in: zone)
        guard let subscriptions = databases[user]?.subscriptions.values else { return }
        for subscription in subscriptions where subscription.zone == zone {
            for receiver in subscription.devices.sorted() where receiver != device {
                guard let handler = pokeHandlers[receiver] else {
                    continue
                }
                let poke = Poke(device: receiver, zone: zone, handler: handler)
                if !pokes.contains(where: { $0.device == receiver && $0.zone == zone }) {
                    pokes.append(poke)
                }
            }
        }
    }

    /// Hands over the pokes that are due, each device's and zone's once, ordered by device.
    mutating func takePokes() -> [Poke] {
        guard !pokes.isEmpty else { return [] }
        defer { pokes = [] }
        return pokes.sorted { ($0.device, $0.zone.zoneName) < ($1.device, $1.zone.zoneName) }
    }

    /// How many pokes are due.
    var pokeCount: Int { pokes.count }

    /// Forgets the latest pokes, down to a count.
    mutating func dropPokes(downTo count: Int) {
        pokes.removeLast(max(0, pokes.count - count))
    }
}

/// A hint to a device that a zone changed.
struct Poke: Sendable {
    var device: String
    var zone: ZoneID
    var handler: @Sendable (ZoneID) -> Void

    func deliver() { handler(zone) }
}

/// A request that is carried out after its sender was told that it got lost.
struct LateRequest: Sendable {
    var request: ServiceRequest
    var caller: Caller
    /// How many other requests are still to come before it.
    var remaining: Int
    /// Whether it goes before the request that it waits for, or after it.
    var isBefore: Bool
    /// Whether the request that it came with is still being answered.
    var isNew: Bool
}
