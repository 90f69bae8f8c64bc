import Backstitch

/// What a seed chooses once: the devices, the service's limits and manners, and what goes wrong.
struct SimulationSetting: CustomStringConvertible {
    let deviceCount: Int
    let policy: ConflictPolicy
    let deletePolicy: DeletePolicy
    let limits: ServiceLimits
    let cloud: SimulatedCloud.Options
    let isAtomic: Bool
    let recordsPerPass: Int
    let mayBeLarge: Bool
    let isQuiet: Bool
    /// The kinds of fault of a connection that this seed has.
    let faults: [FaultKind]
    /// Whether the server may be put back or lose everything.
    let mayRestore: Bool
    let mayLoseZone: Bool

    /// Faults that need circumstances to make a difference.
    static let rareFaults: [FaultKind] = [
        .conflictWithoutServerRecord, .existsWithoutServerRecord, .droppedPoke, .reorderedFeed,
        .smallLimits, .limitExceededWrapped,
    ]

    /// Faults that few requests meet, and that are asked for more often.
    static let scarceFaults: Set<FaultKind> = [
        .tokenExpiry, .databaseTokenExpiry, .zonePurge, .zoneDeletion, .recordNetwork,
        .recordIncompatibleVersion, .recordPermissionDenied, .accountSwitch,
    ]

    init(_ generator: inout SeededGenerator, isQuiet: Bool) {
        self.isQuiet = isQuiet
        deviceCount = 2 + generator.below(4)
        policy = generator.pick(ConflictPolicy.allCases)
        deletePolicy = generator.chance(0.6) ? .followPolicy : generator.pick(DeletePolicy.allCases)
        isAtomic = generator.chance(0.25)
        recordsPerPass = generator.chance(0.25) ? 1 + generator.below(4) : 10_000
        var limits = ServiceLimits()
        if generator.chance(0.4) { limits.operationsPerRequest = 1 + generator.below(8) }
        if generator.chance(0.4) { limits.recordsPerPage = 1 + generator.below(8) }
        mayBeLarge = generator.chance(0.3)
        if mayBeLarge {
            limits.recordBytes = 4_000
            limits.requestBytes = 8_000
        }
        self.limits = limits
        var cloud = SimulatedCloud.Options()
        cloud.conflictsCarryServerRecord = generator.chance(0.7)
        cloud.existsCarriesServerRecord = generator.chance(0.7)
        cloud.deletionsCarryType = generator.chance(0.7)
        cloud.wrapsLimitExceeded = generator.chance(0.3)
        cloud.keepsVersions = true
        var kinds = FaultKind.allCases
        var faults: [FaultKind] = []
        for _ in 0..<14 where !isQuiet {
            faults.append(kinds.remove(at: generator.below(kinds.count)))
        }
        for kind in Self.rareFaults where !isQuiet && generator.chance(0.3) { faults.append(kind) }
        self.faults = faults
        // These take away what a service like that would not tell anyway.
        if faults.contains(.conflictWithoutServerRecord) { cloud.conflictsCarryServerRecord = true }
        if faults.contains(.existsWithoutServerRecord) { cloud.existsCarriesServerRecord = true }
        self.cloud = cloud
        mayRestore = generator.chance(0.25) && !isQuiet
        mayLoseZone = generator.chance(0.2) && !isQuiet
    }

    /// Faults by chance, on top of those that are asked for one by one.
    func plan(seed: UInt64) -> FaultPlan {
        let isEnding: Set<FaultKind> = [
            .zoneDeletion, .zonePurge, .encryptedDataReset, .accountSwitch,
        ]
        let chosen = Set(faults.prefix(4)).subtracting(isEnding)
        return FaultPlan(
            seed: seed, probabilities: Dictionary(uniqueKeysWithValues: chosen.map { ($0, 0.02) }))
    }

    var description: String {
        "\(deviceCount) devices, \(policy), deletes \(deletePolicy), limits \(limits.operationsPerRequest) operations, "
            + "\(limits.recordsPerPage) a page, \(limits.recordBytes) bytes; atomic \(isAtomic), "
            + "\(recordsPerPass) records a pass, conflicts carry records "
            + "\(cloud.conflictsCarryServerRecord), exists \(cloud.existsCarriesServerRecord), "
            + "faults \(faults.map(\.rawValue).joined(separator: " "))"
            + (mayRestore ? ", restores" : "") + (mayLoseZone ? ", zone losses" : "")
    }
}
