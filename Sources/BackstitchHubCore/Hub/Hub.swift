import CloudKitWire
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
    let assets: any HubFiles
    let couriers: any CourierBoxes
    let feeds = ListenedFeeds()
    let notifying = NotificationQueue()
    let metrics = HubMetrics()
    let keys: any KeyReading
    let signIns: any SignInLimiting
    let readiness = Readiness()
    /// Works at large bodies and files, and hands over what starts threads.
    let pool: WorkPool
    /// What bodies in work take up.
    let parsing: ParseBudget
    package let gate = RequestGate()
    let uploads = UploadBook()
    let ledger = LedgerBook()
    let sweepRound = SweepRound()
    let zoneNumbers = ZoneNumbers()
    let authentications = AuthenticationCache()
    /// Whether it hears what others change.
    let isServing = Locked(false)
    private let serverURL = Locked("http://127.0.0.1")
    private let serverMetrics = Locked<[MetricSource]>([])

    /// Opens a hub over what keeps its rows and its files.
    ///
    /// - Parameters:
    ///   - pool: Threads that the hub shares with its storage; nil for some of its own.
    ///   - memory: What it keeps in memory unless hubs share it. What signatures did is in the storage.
    package init(
        storage: any HubStorage, files: any HubFiles, configuration: HubConfiguration,
        machine: HubMachine = HubMachine(), pool: WorkPool? = nil,
        memory: HubMemory = HubMemory()
    ) async throws {
        self.storage = storage
        assets = files
        (couriers, keys, signIns) = (memory.couriers, memory.keys, memory.signIns)
        self.configuration = configuration
        self.pool = pool ?? WorkPool(configuration.limits, machine)
        parsing = ParseBudget(bytes: configuration.limits.parsedBytes, machine)
        let secret = configuration.clock.secret
        let now = configuration.clock.milliseconds()
        try await storage.write(to: [.global]) { transaction in
            try AnswerLedger.removeOldGlobal(transaction, now: now)
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
        assets.endServing()
    }

    /// Takes the hub's data for serving, and removes what a hub that was killed left of uploads.
    ///
    /// What others change from now on is told to the devices that listen here. Commands that manage
    /// users and credentials open the data beside the hub that serves it.
    ///
    /// - Throws: A failure that says who else serves it.
    package func beginServing() throws {
        try assets.beginServing()
        isServing.withLock { $0 = true }
        storage.wakeUp { [feeds] in
            [.global] + feeds.partitions
        } _: { [weak self] in
            self?.wake($0)
        }
    }

    /// Makes all tokens invalid that the hub gave out, so that clients fetch everything again and
    /// send what the hub lacks. Do this after the folder was restored from a backup.
    public func beginEpoch() async throws {
        let secret = configuration.clock.secret
        try await storage.write(to: [.global]) { transaction in
            var state = try transaction.state()
            state.epoch = secret(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            try transaction.put(StateRow.key, state)
        }
    }

    /// The time in milliseconds since 1970.
    var now: Int64 { configuration.clock.milliseconds() }

    /// Removes what is due of a partition at this time, in a transaction that writes something else.
    func sweep(of partition: Partition) -> @Sendable (any HubWriting) throws -> Void {
        let (assets, limits, now) = (assets, configuration.limits, now)
        return { transaction in
            try ExpirySweep(
                transaction: transaction, partition: partition, assets: assets, limits: limits,
                now: now
            ).run()
        }
    }

    /// The start of the addresses in replies.
    var baseURL: String { configuration.publicURL ?? serverURL.withLock { $0 } }

    /// Notes the address that the hub's server listens at.
    package func setServerURL(_ url: String) { serverURL.withLock { $0 = url } }

    /// Notes who counts what the hub's server does.
    package func setServerMetrics(_ source: MetricSource) {
        serverMetrics.withLock { $0 = [source] }
    }

    /// All that is counted.
    package var metricFamilies: [MetricFamily] {
        metrics.families(
            waitingCouriers: couriers.waiterCount, storageMisses: storage.missCount,
            storageRoundTrips: storage.roundTripCount)
            + serverMetrics.withLock { $0 }.flatMap { $0.families() }
    }

    /// Milliseconds of a clock that is never set, for how long something takes.
    var steadyNow: Int64 { configuration.clock.steadyMilliseconds() }

    /// Ends long polls that waited long enough. Call it now and then.
    package func tick() {
        let now = steadyNow
        couriers.releaseWaiters(before: now - configuration.limits.courierMilliseconds)
        readiness.tick(now: now)
        couriers.forget(before: now - configuration.limits.absentCourierMilliseconds)
    }

    /// Ends all long polls: the server ends.
    package func releaseWaiters() { couriers.releaseAll() }

    /// Counts a request that the server itself refused.
    package func countRefusal(status: Int) { metrics.countRequest("refused", status: status) }

    /// Has what waits for a thread or for its turn to write be told to come back later: the hub ends.
    package func refuseWork() {
        pool.stop()
        storage.refuseWork()
        parsing.refuseAll()
    }
}
