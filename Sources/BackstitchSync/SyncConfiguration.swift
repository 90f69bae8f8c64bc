public import BackstitchCore
public import BackstitchStore

/// How a sync engine works.
public struct SyncConfiguration: Sendable {
    /// The name of the zone that holds the store's records.
    public var zoneName: String
    /// The name of the subscription to the zone's changes.
    public var subscriptionID: String
    /// Who wins when a record was changed on both sides.
    public var conflictPolicy: ConflictPolicy
    /// Whether a local write leads to a round.
    public var syncOnSave: Bool
    /// How long a local write waits for others before its round, in milliseconds.
    public var debounceMilliseconds: Int64
    /// How long the engine waits before it asks again whether it may take over from another process
    /// that synchronises the store, in milliseconds.
    public var standbyMilliseconds: Int64
    /// Whether the records of one request take effect together or not at all.
    public var atomicRequests: Bool
    /// The most records that are folded at once; bounds the memory of a push.
    public var recordsPerPass: Int
    /// Which records are exchanged. Where it is not everything, an engine's first round looks
    /// through the whole log for what is to be pushed.
    public var selection: SyncSelection
    /// The time and chance that the engine uses.
    public var clock: any SyncClock

    /// A configuration; the defaults suit an application that saves now and then.
    public init(
        zoneName: String, subscriptionID: String? = nil,
        conflictPolicy: ConflictPolicy = .serverWins, syncOnSave: Bool = true,
        debounceMilliseconds: Int64 = 500, standbyMilliseconds: Int64 = 1_000,
        atomicRequests: Bool = false,
        recordsPerPass: Int = 10_000, selection: SyncSelection = .all,
        clock: any SyncClock = SystemSyncClock()
    ) {
        self.zoneName = zoneName
        self.subscriptionID = subscriptionID ?? "\(zoneName)-changes"
        self.conflictPolicy = conflictPolicy
        self.syncOnSave = syncOnSave
        self.debounceMilliseconds = debounceMilliseconds
        self.standbyMilliseconds = standbyMilliseconds
        self.atomicRequests = atomicRequests
        self.recordsPerPass = recordsPerPass
        self.selection = selection
        self.clock = clock
    }
}
