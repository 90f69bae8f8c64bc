package import Backstitch
import BackstitchTesting

/// What a seed chooses once: the devices, the service's limits and manners, and what goes wrong.
public struct SimulationSetting: Hashable, Sendable, Codable {
    /// The devices.
    package var devices: [SimulatedDeviceSetting]
    var policy: ConflictPolicy
    var deletePolicy: ConflictRules.DeletePolicy
    var isAtomic: Bool
    var recordsPerPass = 10_000
    var operationsPerRequest = ServiceLimits().operationsPerRequest
    var recordsPerPage = ServiceLimits().recordsPerPage
    /// Whether values may be larger than the service takes.
    var mayBeLarge: Bool
    var conflictsCarryServerRecord: Bool
    var existsCarriesServerRecord: Bool
    var deletionsCarryType: Bool
    var wrapsLimitExceeded: Bool
    /// The kinds of fault of a connection that there are.
    var faults: [FaultKind]
    /// Whether connections also meet faults by chance.
    var hasChanceFaults = true
    /// What else may go wrong, sorted by name.
    var events: [SimulationFault]
    /// How likely something happens in a request that changes records.
    var eventChance: Double
    /// Whether the server may be put back or lose everything.
    var mayRestore: Bool
    var mayLoseZone: Bool
    /// Whether an engine has to go on by itself in the end.
    var checksLiveness: Bool
    /// How the service takes files; nil if there are none.
    package var fileService: SimulatedFileService?

    /// The bytes of a pass: if passes are small, half of the seeds also end them by bytes, within
    /// transactions.
    var bytesPerPass: Int {
        recordsPerPass < 10 && recordsPerPass % 2 == 1 ? recordsPerPass * 3_000 : 16 << 20
    }

    init(
        _ generator: inout SeededGenerator, _ mix: SimulationMix, _ options: SimulationOptions
    ) {
        let count = 2 + generator.below(4)
        devices = (0..<(options.devices ?? count)).map { _ in
            var device = SimulatedDeviceSetting(
                seed: UInt32(truncatingIfNeeded: generator.next()))
            device.schema = mix.schema
            return device
        }
        policy = generator.pick(ConflictPolicy.allCases)
        deletePolicy =
            generator.chance(0.6)
            ? .followPolicy : generator.pick(ConflictRules.DeletePolicy.allCases)
        isAtomic = generator.chance(0.25)
        if generator.chance(mix.passChance) { recordsPerPass = 1 + generator.below(4) }
        if generator.chance(mix.limitChance) { operationsPerRequest = 1 + generator.below(8) }
        if generator.chance(mix.limitChance) { recordsPerPage = 1 + generator.below(8) }
        mayBeLarge = generator.chance(mix.largeChance)
        conflictsCarryServerRecord = generator.chance(0.7)
        existsCarriesServerRecord = generator.chance(0.7)
        deletionsCarryType = generator.chance(0.7)
        wrapsLimitExceeded = generator.chance(0.3)
        let events: Set<SimulationFault>
        switch options.faults {
        case .bySeed:
            faults = Self.faults(of: mix, &generator)
            events = mix.events
        case .only(let kinds, let chosen):
            faults = kinds
            events = Set(chosen)
        }
        self.events = events.sorted { $0.rawValue < $1.rawValue }
        eventChance = mix.eventChance
        // These take away what a service like that would not tell anyway.
        if faults.contains(.conflictWithoutServerRecord) { conflictsCarryServerRecord = true }
        if faults.contains(.existsWithoutServerRecord) { existsCarriesServerRecord = true }
        let canRestore = events.contains(.restore) || events.contains(.wipe)
        let isAsked = options.faults != .bySeed
        mayRestore = (generator.chance(mix.restoreChance) || isAsked) && canRestore
        mayLoseZone =
            (generator.chance(mix.zoneLossChance) || isAsked)
            && events.contains(.zoneDeletedByClient)
        checksLiveness = generator.chance(0.15) && mix.mayCheckLiveness
        chooseProcesses(&generator, mix)
        chooseSchemas(&generator, mix)
        chooseSelections(&generator, mix)
        var aside = generator.aside(0x706F_6C69_6379)
        choosePolicies(&aside, mix)
        if mix.schema == .files { fileService = aside.pick(SimulatedFileService.allCases) }
        aside = generator.aside(0x6D69_6772_6174)
        chooseMigrations(&aside, mix)
    }

    /// Lets some devices be processes on the stores of others; at least two stores stay.
    private mutating func chooseProcesses(
        _ generator: inout SeededGenerator, _ mix: SimulationMix
    ) {
        guard generator.chance(mix.sharingChance), events.contains(.secondProcess) else { return }
        for index in devices.indices.dropFirst(2) where generator.chance(0.6) {
            let target = generator.below(index)
            devices[index].home = devices.home(of: target)
        }
    }

    private mutating func chooseSchemas(
        _ generator: inout SeededGenerator, _ mix: SimulationMix
    ) {
        guard generator.chance(mix.schemaChance), events.contains(.schemaChange) else { return }
        for index in devices.indices where generator.chance(0.5) { devices[index].schema = .old }
        agree(on: \.schema)
    }

    private mutating func chooseSelections(
        _ generator: inout SeededGenerator, _ mix: SimulationMix
    ) {
        guard generator.chance(mix.selectionChance), events.contains(.selection) else { return }
        for index in devices.indices {
            devices[index].selection = generator.pick(SimulatedSelection.allCases)
        }
        agree(on: \.selection)
    }

    /// Lets devices decide about conflicts each in its own way.
    private mutating func choosePolicies(
        _ generator: inout SeededGenerator, _ mix: SimulationMix
    ) {
        guard generator.chance(mix.policyChance), events.contains(.mixedPolicies) else { return }
        for index in devices.indices {
            devices[index].policy = generator.pick(ConflictPolicy.allCases)
            if generator.chance(0.4) {
                devices[index].deletePolicy = generator.pick(ConflictRules.DeletePolicy.allCases)
            }
        }
        agree(on: \.policy)
        agree(on: \.deletePolicy)
    }

    /// Lets some devices begin with an application that has data migrations.
    private mutating func chooseMigrations(
        _ generator: inout SeededGenerator, _ mix: SimulationMix
    ) {
        let isAsked = mix.weights.contains { $0.kind == .migration && $0.weight > 0 }
        guard isAsked, events.contains(.dataMigration) else { return }
        for index in devices.indices where generator.chance(0.3) {
            devices[index].migrations = 1 + generator.below(SimulatedMigrations.countMax)
        }
    }

    /// Gives all processes on a store what the device has whose own it is.
    private mutating func agree<Choice>(
        on choice: WritableKeyPath<SimulatedDeviceSetting, Choice>
    ) {
        for index in devices.indices {
            devices[index][keyPath: choice] = devices[devices.home(of: index)][keyPath: choice]
        }
    }

    /// How the engine of a device decides about conflicts.
    package func policy(of device: Int) -> ConflictPolicy { devices[device].policy ?? policy }

    /// What the engine of a device does if one side deleted a record.
    func deletePolicy(of device: Int) -> ConflictRules.DeletePolicy {
        devices[device].deletePolicy ?? deletePolicy
    }

    private static func faults(
        of mix: SimulationMix, _ generator: inout SeededGenerator
    ) -> [FaultKind] {
        var kinds = mix.faults
        var faults: [FaultKind] = []
        while faults.count < SimulationMix.faultsPerSeed, !kinds.isEmpty {
            faults.append(kinds.remove(at: generator.below(kinds.count)))
        }
        for kind in FaultKind.rare
        where mix.faults.contains(kind) && !faults.contains(kind) && generator.chance(0.3) {
            faults.append(kind)
        }
        return faults
    }

    /// The schema of applications that have taken the last update.
    var newestSchema: SimulatedSchema {
        [.keyed, .files].first { schema in devices.contains { $0.schema == schema } } ?? .current
    }

    var limits: ServiceLimits {
        var limits = ServiceLimits(
            operationsPerRequest: operationsPerRequest, recordsPerPage: recordsPerPage)
        if mayBeLarge {
            limits.recordBytes = 4_000
            limits.requestBytes = 8_000
        }
        return limits
    }

    var cloud: SimulatedCloud.Options {
        var cloud = SimulatedCloud.Options()
        // As a hub does: others write values of any type.
        cloud.keepsFieldTypes = false
        cloud.conflictsCarryServerRecord = conflictsCarryServerRecord
        cloud.existsCarriesServerRecord = existsCarriesServerRecord
        cloud.deletionsCarryType = deletionsCarryType
        cloud.wrapsLimitExceeded = wrapsLimitExceeded
        cloud.keepsVersions = true
        cloud.resumesUploads = fileService != .apple
        cloud.hasOpaqueChecksums = fileService == .apple
        return cloud
    }

    /// Faults by chance, on top of those that are asked for one by one.
    func plan(seed: UInt64) -> FaultPlan {
        guard hasChanceFaults else { return FaultPlan() }
        let chosen = Set(faults.prefix(4)).subtracting(FaultKind.ending)
        return FaultPlan(
            seed: seed, probabilities: Dictionary(uniqueKeysWithValues: chosen.map { ($0, 0.02) }))
    }
}

extension SimulationSetting: CustomStringConvertible {
    /// The setting in a line.
    public var description: String {
        "\(devices.count) devices, \(policy), limits \(limits.operationsPerRequest) "
            + "operations, \(limits.recordsPerPage) a page, \(limits.recordBytes) bytes; atomic "
            + "\(isAtomic), \(recordsPerPass) records a pass, conflicts carry records "
            + "\(conflictsCarryServerRecord), exists \(existsCarriesServerRecord), faults "
            + faults.map(\.rawValue).joined(separator: " ")
            + (mayRestore ? ", restores" : "") + (mayLoseZone ? ", zone losses" : "")
            + (fileService.map { ", files as \($0.rawValue)" } ?? "")
    }
}
