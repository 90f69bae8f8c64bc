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
    /// Its containers, users and credentials.
    public let accounts: HubAccounts
    /// Who may sign in on its page, and for which web pages.
    public let signIns: HubSignIns
    /// Decides by the head of a request what becomes of it.
    package let admissions: Admissions
    package let gate = RequestGate()
    package let storage: any HubStorage
    let assets: any HubFiles
    let mailboxes: any MailboxStorage
    let readiness: Readiness
    let metrics: HubMetrics
    let authenticator: Authenticator
    let databases: DatabaseMaker
    let sessions: SessionNotes
    let replies: Replies
    let notifier: Notifier
    let records: RecordCalls
    let changes: FeedCalls
    let zones: ZoneCalls
    let subscriptions: SubscriptionCalls
    let users: UserCalls
    let files: AssetCalls
    let devices: DeviceCalls
    let signInPages: SignInPages
    let threads: HubThreads
    /// What bodies in work take up.
    let parsing: ParseBudget
    private let authentications: AuthenticationCache
    private let address: HubAddress
    private let serverMetrics = Locked<[MetricSource]>([])
    /// Whether files are in a bucket that was not named.
    private let lacksBucket = Locked(false)

    /// Opens a hub over what keeps its rows and its files.
    ///
    /// - Parameters:
    ///   - pool: Threads that the hub shares with its storage; nil for some of its own.
    ///   - memory: What it keeps in memory unless hubs share it. What signatures did is in the storage.
    package init(
        storage: any HubStorage, files: any HubFiles, configuration: HubConfiguration,
        platform: HubPlatform = HubPlatform(), pool: WorkPool? = nil,
        memory: HubState = HubState()
    ) async throws {
        let threads = HubThreads(configuration, platform, pages: pool, objects: files.objects)
        let metrics = HubMetrics()
        let watch = HistoryWatch(configuration: configuration, metrics: metrics)
        let readiness = Readiness()
        let address = HubAddress(configuration)
        let (zoneNumbers, uploads, feeds) = (ZoneNumbers(), UploadQuota(), WatchedFeeds())
        let authentications = AuthenticationCache()
        let replies = Replies(
            configuration: configuration, metrics: metrics, readiness: readiness,
            address: address)
        let authenticator = Authenticator(
            configuration: configuration, keys: memory.keys, signIns: memory.signIns)
        let deleter = Deleter(configuration: configuration, storage: storage, assets: files)
        let sweeper = ExpirySweeper(
            configuration: configuration, storage: storage, assets: files, deleter: deleter,
            pool: threads.pages)
        let once = IdempotentWriter(
            configuration: configuration, storage: storage, index: LedgerIndex(), metrics: metrics)
        let notifier = Notifier(
            configuration: configuration, storage: storage, mailboxes: memory.mailboxes,
            feeds: feeds, authentications: authentications, queue: NotificationQueue(),
            metrics: metrics, pool: threads.pages)
        let uploadedFiles = AssetCalls(
            configuration: configuration, storage: storage, assets: files, address: address,
            zoneNumbers: zoneNumbers, uploads: uploads, once: once, sweeper: sweeper,
            disk: threads.disk)

        self.configuration = configuration
        (self.storage, assets, mailboxes) = (storage, files, memory.mailboxes)
        (self.threads, self.metrics, self.readiness) = (threads, metrics, readiness)
        (self.address, self.replies, self.authenticator) = (address, replies, authenticator)
        (self.notifier, self.authentications) = (notifier, authentications)
        databases = DatabaseMaker(storage: storage, configuration: configuration)
        sessions = SessionNotes(configuration, storage, threads.pages)
        parsing = ParseBudget(bytes: configuration.limits.parsedBytes, platform)
        accounts = HubAccounts(
            configuration: configuration, storage: storage, sweeper: sweeper, deleter: deleter,
            authentications: authentications)
        signIns = HubSignIns(configuration: configuration, storage: storage, sweeper: sweeper)
        signInPages = SignInPages(
            configuration: configuration, storage: storage, accounts: accounts, sweeper: sweeper,
            signIns: memory.signIns, passwords: threads.passwords)
        admissions = Admissions(
            configuration: configuration, storage: storage, authenticator: authenticator,
            authentications: authentications, uploadedFiles: uploadedFiles, replies: replies)
        records = RecordCalls(
            configuration: configuration, storage: storage, assets: files, address: address,
            zoneNumbers: zoneNumbers, uploads: uploads, feeds: feeds, once: once,
            notifier: notifier, sweeper: sweeper, metrics: metrics, watch: watch)
        changes = FeedCalls(
            configuration: configuration, address: address, zoneNumbers: zoneNumbers, watch: watch)
        zones = ZoneCalls(
            configuration: configuration, storage: storage, assets: files, feeds: feeds,
            notifier: notifier)
        subscriptions = SubscriptionCalls(configuration: configuration, once: once)
        users = UserCalls(configuration: configuration)
        self.files = uploadedFiles
        devices = DeviceCalls(
            configuration: configuration, storage: storage, address: address,
            mailboxes: memory.mailboxes, notifier: notifier)
        let hasBucket = files.objects != nil
        let hasObjects = try await storage.prepareHub(configuration, hasBucket: hasBucket)
        lacksBucket.withLock { $0 = hasObjects && !hasBucket }
    }

    /// Ends the hub. Requests must have been answered.
    public func close() {
        mailboxes.releaseAll()
        threads.stop()
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
        guard !lacksBucket.withLock({ $0 }) else { throw HubObjects.bucketMissing }
        try assets.beginServing()
        authentications.begin()
        storage.wakeUp { [notifier] in
            [.global] + notifier.feeds.partitions
        } _: { [weak self] in
            self?.notifier.wake($0)
            self?.records.sweeper.sweepSoon(after: $0)
        }
    }

    /// Makes all change tokens of the hub invalid, so that clients fetch everything again and send
    /// what the hub lacks. Do this after the folder was restored from a backup.
    public func beginEpoch() async throws {
        let secret = configuration.clock.secret
        try await storage.write(to: [.global]) { transaction in
            try transaction.beginEpoch(secret)
        }
    }

    /// Notes the address that the hub's server listens at.
    package func setServerURL(_ url: String) { address.note(serverURL: url) }

    /// Notes who counts what the hub's server does.
    package func setServerMetrics(_ source: MetricSource) {
        serverMetrics.withLock { $0 = [source] }
    }

    /// All that is counted.
    package var metricFamilies: [MetricFamily] {
        metrics.families(
            waitingCouriers: mailboxes.waiterCount, waiting: threads.waiting,
            storageMisses: storage.missCount, storageRoundTrips: storage.roundTripCount)
            + (assets.objects?.families() ?? [])
            + serverMetrics.withLock { $0 }.flatMap { $0.families() }
    }

    /// Does what is due by the clock. Call it now and then.
    package func tick() {
        let now = configuration.steadyNow
        threads.refuseLate()
        parsing.refuseLate()
        storage.refuseLate()
        mailboxes.releaseWaiters(before: now - configuration.limits.courierMilliseconds)
        readiness.tick(now: now)
        mailboxes.forget(before: now - configuration.limits.absentCourierMilliseconds)
        records.sweeper.removeOldUploads(now: now)
    }

    /// Ends all long polls: the server ends.
    package func releaseWaiters() { mailboxes.releaseAll() }

    /// Counts a request that the server itself refused.
    package func countRefusal(status: Int) { metrics.countRequest("refused", status: status) }

    /// Has what waits for a thread or for its turn to write be told to come back later: the hub ends.
    package func refuseWork() {
        threads.stop()
        storage.refuseWork()
        parsing.refuseAll()
    }
}
