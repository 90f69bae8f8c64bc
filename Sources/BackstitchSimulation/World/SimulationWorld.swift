import Backstitch
import BackstitchStore
import BackstitchTesting
import Foundation

/// Everything of one simulation. What happens next is decided here, one thing at a time.
///
/// Hooks of the service come back into the actor while it waits for an engine, so what is read
/// before an exchange may be otherwise after it.
actor SimulationWorld {
    static let zone = ZoneID("Notes")
    static let stepsKept = 60

    let script: SimulationScript
    let options: SimulationOptions
    let clock = ManualClock()
    let cloud: SimulatedCloud
    let directory: String
    /// What is chosen within the step that is under way.
    var generator: SeededGenerator
    /// Whether things happen while requests of the step are in flight.
    var isCalm = false
    var devices: [SimulatedDevice] = []
    var pool: RecordPool
    var result: SimulationResult
    var step = 0
    /// What happened last, to be put into words only if something fails.
    private var lastSteps: [(step: Int, text: () -> String)] = []
    /// The devices with an exchange under way.
    var exchanging: Set<Int> = []
    /// Requests of engines that were stopped, whose replies are still to come.
    var lateReplies: [LateReply] = []
    /// The values that somebody else wrote, by record and field.
    var foreignValues: [String: Set<ServiceValue>] = [:]
    var backup: SimulatedCloud.Snapshot?
    var wasRestored = false
    /// What went wrong inside a hook, to be thrown outside of it.
    var pendingFailure: SimulationFailure?

    init(_ script: SimulationScript, options: SimulationOptions) {
        self.script = script
        self.options = options
        let setting = script.setting
        generator = SeededGenerator(seed: script.seed)
        pool = RecordPool(seed: script.seed, kinds: setting.newestSchema.kinds)
        cloud = SimulatedCloud(clock: clock, limits: setting.limits, options: setting.cloud)
        result = SimulationResult(seed: script.seed)
        let parent =
            options.directory
            ?? (FileManager.default.fileExists(atPath: "/dev/shm")
                ? "/dev/shm" : NSTemporaryDirectory())
        directory = parent + "/backstitch-simulation-\(UUID().uuidString)"
    }

    var setting: SimulationSetting { script.setting }

    func run() async -> SimulationResult {
        do {
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true)
            for index in setting.devices.indices { try addDevice(index) }
            for step in script.steps {
                self.step += 1
                try await take(step)
            }
            generator = SeededGenerator(seed: script.seed)
            try await settle()
            if setting.checksLiveness {
                try await checkLiveness()
                try await settle()
            }
            try await checkEnd()
        } catch {
            result.failure =
                if Task.isCancelled {
                    endless.failure
                } else if let failure = error as? SimulationFailure {
                    failure
                } else {
                    failure("The simulation can't go on", ["\(error)"])
                }
        }
        for reply in lateReplies { await reply.deliver() }
        for device in devices {
            for (kind, count) in device.service.faultCounts {
                result.faults[kind.rawValue, default: 0] += count
            }
            device.connection.crash()
            device.store.close()
        }
        do {
            try FileManager.default.removeItem(atPath: directory)
        } catch {
            note("The folder \(self.directory) is left: \(error)")
        }
        return result
    }

    private func addDevice(_ index: Int) throws {
        var generator = SeededGenerator(seed: UInt64(setting.devices[index].seed))
        let home = setting.devices.home(of: index)
        // The service knows devices, not processes.
        let service = cloud.connection(device: SimulatedDevice.name(home))
        let skew = Int64(generator.below(7_200_000)) - 3_600_000
        let skewMilliseconds = generator.chance(0.5) ? skew : 0
        let clockSeed = generator.next()
        let deviceClock =
            home == index
            ? DeviceClock(clock, skewMilliseconds: skewMilliseconds, seed: clockSeed)
            : devices[home].clock
        var configuration = SyncConfiguration(
            zoneName: Self.zone.zoneName, conflictPolicy: setting.policy(of: index),
            deletePolicy: setting.deletePolicy(of: index),
            conflictResolver: { try SimulatedResolver.decide($0) }, resolverMilliseconds: nil,
            syncOnSave: false,
            atomicRequests: setting.isAtomic, recordsPerPass: setting.recordsPerPass,
            bytesPerPass: setting.bytesPerPass, clock: deviceClock)
        configuration.debounceMilliseconds = 0
        service.faultPlan = setting.plan(seed: generator.next())
        for kind in FaultKind.rare
        where setting.hasChanceFaults && setting.faults.contains(kind) {
            let skip = generator.below(20)
            service.inject(ScriptedFault(kind, skip: skip, for: .requests(60)))
        }
        // A poke is a hint only: nothing here may depend on it.
        service.onPoke { _ in }
        devices.append(
            try SimulatedDevice(
                index: index, directory: directory + "/\(home)", service: service,
                clock: deviceClock, configuration: configuration,
                setting: setting.devices[index],
                disk: home == index ? SimulatedDisk() : devices[home].disk,
                intermediary: options.intermediary,
                watch: home == index ? ExchangeWatch() : devices[home].watch))
        if home != index { count(.secondProcess) }
        if setting.devices[index].schema == .old { count(.schemaChange) }
        if setting.devices[index].selection != .all { count(.selection) }
        if setting.policy(of: index) != setting.policy { count(.mixedPolicies) }
        setHooks(of: index)
    }

    /// The device that what is known of the store of a process is kept with.
    func home(of index: Int) -> Int { setting.devices.home(of: index) }

    /// The processes that have the same store.
    func processes(on index: Int) -> [Int] {
        let home = home(of: index)
        return devices.indices.filter { self.home(of: $0) == home }
    }

    /// What is told of a run that is given up since it does not end.
    var endless: SimulationResult {
        var result = result
        result.failure = failure("The run ends", ["It had not after \(options.patience)."])
        return result
    }

    // MARK: Telling

    /// Keeps what happened. The text is made later, so that it can tell of values alone.
    func note(_ text: @autoclosure @escaping () -> String) {
        lastSteps.append((step, text))
        if lastSteps.count > Self.stepsKept { lastSteps.removeFirst() }
    }

    func count(_ fault: SimulationFault) { result.faults[fault.rawValue, default: 0] += 1 }

    func failure(_ checker: String, _ details: [String]) -> SimulationFailure {
        SimulationFailure(
            seed: script.seed, arguments: options.arguments, options: "\(setting)", step: step,
            checker: checker, details: details,
            lastSteps: lastSteps.map { "\($0.step): \($0.text())" })
    }

    func throwPending() throws {
        if let pendingFailure { throw pendingFailure }
    }
}
