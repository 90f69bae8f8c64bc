import Backstitch
import BackstitchTesting

/// The devices of a run.
final class SimulatedDevices {
    private let setting: SimulationSetting
    private let options: SimulationOptions
    private let directory: String
    private let clock: ManualClock
    private let cloud: SimulatedCloud
    private let story: SimulationStory
    private(set) var all: [SimulatedDevice] = []
    /// Those with an exchange under way.
    var exchanging: Set<Int> = []

    /// No devices yet; their stores will be in a folder.
    init(
        _ setting: SimulationSetting, _ options: SimulationOptions, in directory: String,
        _ clock: ManualClock, _ cloud: SimulatedCloud, _ story: SimulationStory
    ) {
        self.setting = setting
        self.options = options
        self.directory = directory
        self.clock = clock
        self.cloud = cloud
        self.story = story
    }

    /// Where the stores are.
    var folder: String { directory }

    /// Lets time pass for all.
    func passTime(milliseconds: Int64) { clock.advance(milliseconds: milliseconds) }

    subscript(index: Int) -> SimulatedDevice {
        get { all[index] }
        set { all[index] = newValue }
    }

    var indices: Range<Int> { all.indices }

    /// Those with a store of their own.
    var owners: [Int] { indices.filter { all[$0].home.index == $0 } }

    /// The processes that have the same store.
    func processes(on index: Int) -> [Int] {
        indices.filter { all[$0].home === all[index].home }
    }

    func mayExchange(_ index: Int) -> Bool {
        !exchanging.contains(index) && !all[index].isCrashed && isOnline(index)
    }

    func isOnline(_ index: Int) -> Bool { all[index].offlineUntil <= story.step }

    /// Makes the next device of the setting.
    func add() throws {
        let index = all.count
        var generator = SeededGenerator(seed: UInt64(setting.devices[index].seed))
        let owner = setting.devices.home(of: index)
        // The service knows devices, not processes.
        let service = cloud.connection(device: SimulatedDevice.name(owner))
        let skew = Int64(generator.below(7_200_000)) - 3_600_000
        let skewMilliseconds = generator.chance(0.5) ? skew : 0
        let clockSeed = generator.next()
        let home =
            owner == index
            ? SimulatedHome(
                index, directory: directory + "/\(index)",
                clock: DeviceClock(clock, skewMilliseconds: skewMilliseconds, seed: clockSeed))
            : all[owner].home
        service.faultPlan = setting.plan(seed: generator.next())
        for kind in FaultKind.rare
        where setting.hasChanceFaults && setting.faults.contains(kind) {
            let skip = generator.below(20)
            service.inject(ScriptedFault(kind, skip: skip, for: .requests(60)))
        }
        // A poke is a hint only: nothing here may depend on it.
        service.onPoke { _ in }
        all.append(
            try SimulatedDevice(
                index: index, home: home, service: service,
                configuration: configuration(of: index, home.clock),
                setting: setting.devices[index], intermediary: options.intermediary))
        if owner != index { story.count(.secondProcess) }
        if setting.devices[index].schema == .old { story.count(.schemaChange) }
        if setting.devices[index].selection != .all { story.count(.selection) }
        if setting.policy(of: index) != setting.policy { story.count(.mixedPolicies) }
    }

    private func configuration(of index: Int, _ clock: DeviceClock) -> SyncConfiguration {
        var configuration = SyncConfiguration(
            zoneName: SimulatedZone.usual.zoneName, conflictPolicy: setting.policy(of: index),
            deletePolicy: setting.deletePolicy(of: index),
            conflictResolver: { try SimulatedResolver.decide($0) }, resolverTimeout: nil,
            syncOnSave: false,
            atomicRequests: setting.isAtomic, recordsPerPass: setting.recordsPerPass,
            bytesPerPass: setting.bytesPerPass, clock: clock)
        configuration.debounceMilliseconds = 0
        // One after another, so that a seed does the same each time.
        configuration.transfersMax = 1
        return configuration
    }
}
