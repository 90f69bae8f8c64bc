/// The threads of a hub for what takes long, by what that takes.
struct HubThreads: Sendable {
    /// Works at large bodies, and hands over what starts threads. A storage may read with it.
    let pages: WorkPool
    /// Hashes passwords.
    let passwords: WorkPool
    /// Waits for the disk that uploads go to.
    let disk: WorkPool
    private let objects: HubObjects?

    /// - Parameters:
    ///   - pages: Threads that the hub shares with its storage; nil for some of its own.
    ///   - objects: Those that wait for a bucket.
    init(
        _ configuration: HubConfiguration, _ platform: HubPlatform, pages: WorkPool?,
        objects: HubObjects?
    ) {
        let (limits, clock) = (configuration.limits, configuration.clock.steadyMilliseconds)
        self.objects = objects
        self.pages = pages ?? WorkPool(configuration, platform)
        passwords = WorkPool(
            limits, platform, threads: limits.passwordThreads, waiting: limits.waitingPasswords,
            clock: clock)
        disk = WorkPool(limits, platform, threads: limits.uploadThreads, clock: clock)
    }

    /// How many jobs wait for a thread.
    var waiting: (passwords: Int, uploads: Int) { (passwords.waitingCount, disk.waitingCount) }

    /// Refuses what waited too long for one of them.
    func refuseLate() {
        for pool in [pages, passwords, disk] { pool.refuseLate() }
        objects?.pool.refuseLate()
    }

    /// Has all fail that waits for one of them: the hub ends.
    func stop() {
        for pool in [pages, passwords, disk] { pool.stop() }
        objects?.stop()
    }
}
