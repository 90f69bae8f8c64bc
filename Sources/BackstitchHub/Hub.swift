import CloudKitWire
import Threading
import Threading

/// A server of records that speaks CloudKit Web Services.
///
/// It answers requests from wherever they come, see ``respond(to:)``; ``HubServer`` brings it onto the
/// network. Calls are safe from any task, and a reply to a write is given only after what was
/// written is on disk.
public final class Hub: Sendable {
    /// How the hub works.
    public let configuration: HubConfiguration
    let storage: any HubStorage
    let assets: AssetFiles
    let couriers = CourierBoard()
    let notifying = NotificationQueue()
    let metrics = HubMetrics()
    let keys = KeyCache()
    let signIns = SignInGate()
    let readiness = Readiness()
    /// The folder of the hub; nil where it is in memory.
    private let directory: String?
    private let serving = Locked<ServingLock?>(nil)
    /// Reads for requests.
    let pool: WorkPool
    /// What bodies in work take up.
    let parsing: ParseBudget
    let gate = RequestGate()
    let uploads = UploadBook()
    let ledger = LedgerBook()
    private let serverURL = Locked("http://127.0.0.1")

    /// Opens the hub in a folder, and makes it where there is none.
    ///
    /// - Throws: A failure of the storage, whose message says what to do.
    public convenience init(
        at directory: String, configuration: HubConfiguration = HubConfiguration()
    ) async throws {
        let storage = try LMDBHubStorage(at: directory)
        try await self.init(
            storage: storage, assets: AssetFiles(folder: directory + "/assets"),
            configuration: configuration, directory: directory)
    }

    /// A hub that keeps its records in memory; assets go to a folder that the caller removes.
    public static func temporary(
        assetFolder: String, configuration: HubConfiguration = HubConfiguration()
    ) async throws -> Hub {
        try await Hub(
            storage: LMDBHubStorage.temporary(), assets: AssetFiles(folder: assetFolder),
            configuration: configuration)
    }

    init(
        storage: any HubStorage, assets: AssetFiles, configuration: HubConfiguration,
        directory: String? = nil
    ) async throws {
        self.directory = directory
        self.storage = storage
        self.assets = assets
        self.configuration = configuration
        pool = WorkPool(configuration.limits)
        parsing = ParseBudget(bytes: configuration.limits.parsedBytes)
        let secret = configuration.clock.secret
        try await storage.write { transaction in
            // Another version may have written without counting.
            try AnswerLedger.forgetTotals(transaction)
            guard try transaction.value(StateRow.key) == nil else {
                _ = try transaction.state()
                return
            }
            let epoch = secret(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            try transaction.put(StateRow.key, StateRow(epoch: epoch, tokenKey: secret(32)))
        }
    }

    /// Ends the hub. Requests must have been answered.
    public func close() {
        couriers.releaseAll()
        pool.stop()
        storage.close()
        serving.withLock { $0 = nil }
    }

    /// Takes the hub's folder for serving, and removes what a hub that was killed left of uploads.
    ///
    /// Two hubs that serve one folder would not tell each other's devices of changes. Commands that
    /// manage users and credentials open the folder beside the hub that serves it.
    ///
    /// - Throws: A failure that says who else serves the folder.
    func beginServing() throws {
        guard let directory else { return }
        try serving.withLock { lock in
            guard lock == nil else { return }
            lock = try ServingLock(directory: directory)
            assets.removeCutUploads()
        }
    }

    /// Whether a folder holds a hub.
    public static func isHub(at directory: String) -> Bool {
        LMDBHubStorage.isThere(in: directory)
    }

    /// Makes all tokens invalid that the hub gave out, so that clients fetch everything again and
    /// send what the hub lacks. Do this after the folder was restored from a backup.
    public func beginEpoch() async throws {
        let secret = configuration.clock.secret
        try await storage.write { transaction in
            var state = try transaction.state()
            state.epoch = secret(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            try transaction.put(StateRow.key, state)
        }
    }

    /// The time in milliseconds since 1970.
    var now: Int64 { configuration.clock.milliseconds() }

    /// Removes what is due at this time, in a transaction that writes something else.
    var sweep: @Sendable (any HubWriting) throws -> Void {
        let (assets, limits, now) = (assets, configuration.limits, now)
        return { transaction in
            try ExpirySweep(transaction: transaction, assets: assets, limits: limits, now: now)
                .run()
        }
    }

    /// The start of the addresses in replies.
    var baseURL: String { configuration.publicURL ?? serverURL.withLock { $0 } }

    /// Notes the address that the hub's server listens at.
    func setServerURL(_ url: String) { serverURL.withLock { $0 = url } }

    /// Milliseconds of a clock that is never set, for how long something takes.
    var steadyNow: Int64 { configuration.clock.steadyMilliseconds() }

    /// Ends long polls that waited long enough. Call it now and then.
    func tick() {
        let now = steadyNow
        couriers.releaseWaiters(before: now - configuration.limits.courierMilliseconds)
        readiness.tick(now: now)
        couriers.forget(before: now - configuration.limits.absentCourierMilliseconds)
    }

    /// Has what waits for a thread or for its turn to write be told to come back later: the hub ends.
    func refuseWork() {
        pool.stop()
        storage.refuseWrites()
        parsing.refuseAll()
    }
}
