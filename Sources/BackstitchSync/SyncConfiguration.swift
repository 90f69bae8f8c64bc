public import BackstitchCore
import BackstitchStore

/// How a sync engine works.
public struct SyncConfiguration: Sendable {
    /// The name of the zone that holds the store's records: 1 to 255 printable ASCII characters, of
    /// which the first is no underscore.
    ///
    /// The first round that reaches the service binds the store to it. With another name engines
    /// refuse to exchange (`invalidConfiguration`); ``SyncEngine/move(to:adoptsUser:)`` takes the
    /// records to another zone.
    public var zoneName: String
    /// The name of the subscription to the zone's changes; if none is given, it follows the zone's.
    public var subscriptionID: String {
        get { givenSubscriptionID ?? Self.subscriptionID(of: zoneName) }
        set { givenSubscriptionID = newValue }
    }
    private var givenSubscriptionID: String?
    /// The rules for records that were changed on both sides: for the store, entities and fields.
    public var conflictRules: ConflictRules
    /// The policy for entities without a rule of their own; part of ``conflictRules``.
    public var conflictPolicy: ConflictPolicy {
        get { conflictRules.policy }
        set { conflictRules.policy = newValue }
    }
    /// Decides if the rules say ``ConflictPolicy/resolver``, which without one is refused.
    public var conflictResolver: RecordConflict.Resolver?
    /// How long a resolver may take for a record, one that blocks its thread too; nil for as long as it likes.
    public var resolverTimeout: Duration?
    /// Whether a local write leads to a round.
    public var syncOnSave: Bool
    /// How long a local write waits for others before its round.
    public var debounce: Duration
    /// How long after a round the next one begins by itself; nil is never. Of use if the service sends
    /// no notifications.
    public var poll: Duration?
    /// How long after a refusal that lasts, as for a full account or a missing sign-in, the engine
    /// tries again by itself.
    public var blockedRetry: Duration
    /// The container whose notifications count; nil is any.
    public var containerID: String?
    /// How long the engine waits before it asks again whether it may take over from another engine
    /// that synchronises the store.
    public var standbyRetry: Duration
    /// Whether the records of one request take effect together or not at all.
    public var atomicRequests: Bool
    /// The most records that are folded at once, but for those of one transaction.
    public var recordsPerPass: Int
    /// The bytes of memory that folded records may take, roughly, 16 MiB: a push takes them in
    /// passes. A record that is larger goes alone. If one transaction is larger than that, its
    /// records go in several passes, and one that refers to a record of a later pass is created
    /// without the reference, which follows.
    public var bytesPerPass: Int
    /// Which records are exchanged. If it is not everything, an engine's first round looks
    /// through the whole log for what is to be pushed.
    public var selection: Selection
    /// The files that a started engine downloads before the application opens them.
    public var assetDownloads: AssetDownloads
    /// The most bytes that contents of files may take on this device, if so many can be evicted; nil is no limit.
    ///
    /// Before a download those contents are evicted that were not opened for longest, as by
    /// `store.assets.evict(downTo:)`: never what the service is not known to have, nor what is pinned.
    /// Costs a look at all contents for each download.
    public var assetBytesMax: Int64?
    /// The most files that go on at a time in a direction, if that is less than usual.
    package var transfersMax = Int.max
    /// The clock and random source of the engine; nil for those of its store.
    public var clock: (any StoreClock)?

    /// A configuration; the defaults suit an application that saves now and then.
    public init(
        zoneName: String, subscriptionID: String? = nil,
        conflictPolicy: ConflictPolicy = .serverWins,
        deletePolicy: ConflictRules.DeletePolicy = .followPolicy,
        entityRules: [String: ConflictRules.EntityRules] = [:],
        conflictResolver: RecordConflict.Resolver? = nil, resolverTimeout: Duration? = .seconds(30),
        syncOnSave: Bool = true,
        debounce: Duration = .milliseconds(500), poll: Duration? = nil,
        blockedRetry: Duration = .seconds(900), containerID: String? = nil,
        standbyRetry: Duration = .seconds(1),
        atomicRequests: Bool = false,
        recordsPerPass: Int = 10_000, bytesPerPass: Int = 16 << 20,
        selection: Selection = .all, assetDownloads: AssetDownloads = .onDemand,
        clock: (any StoreClock)? = nil
    ) {
        self.zoneName = zoneName
        givenSubscriptionID = subscriptionID
        conflictRules = ConflictRules(
            conflictPolicy, deletePolicy: deletePolicy, entities: entityRules)
        self.conflictResolver = conflictResolver
        self.resolverTimeout = resolverTimeout
        self.syncOnSave = syncOnSave
        self.debounce = debounce
        self.poll = poll
        self.blockedRetry = blockedRetry
        self.containerID = containerID
        self.standbyRetry = standbyRetry
        self.atomicRequests = atomicRequests
        self.recordsPerPass = recordsPerPass
        self.bytesPerPass = bytesPerPass
        self.selection = selection
        self.assetDownloads = assetDownloads
        self.clock = clock
    }

    /// The name of a zone's subscription if none is given.
    static func subscriptionID(of zoneName: String) -> String { "\(zoneName)-changes" }
}

/// Whole milliseconds, which the decisions of an engine count in.
extension SyncConfiguration {
    package var resolverMilliseconds: Int64? {
        get { resolverTimeout?.wholeMilliseconds }
        set { resolverTimeout = newValue.map { .milliseconds($0) } }
    }
    package var debounceMilliseconds: Int64 {
        get { debounce.wholeMilliseconds }
        set { debounce = .milliseconds(newValue) }
    }
    package var pollMilliseconds: Int64? {
        get { poll?.wholeMilliseconds }
        set { poll = newValue.map { .milliseconds($0) } }
    }
    package var blockedRetryMilliseconds: Int64 {
        get { blockedRetry.wholeMilliseconds }
        set { blockedRetry = .milliseconds(newValue) }
    }
    package var standbyMilliseconds: Int64 {
        get { standbyRetry.wholeMilliseconds }
        set { standbyRetry = .milliseconds(newValue) }
    }
}
