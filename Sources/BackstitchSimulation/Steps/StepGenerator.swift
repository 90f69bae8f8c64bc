import BackstitchTesting

/// Chooses the steps of a simulation, by the weights of a mix and within the faults of a setting.
struct StepGenerator {
    private var generator: SeededGenerator
    private let mix: SimulationMix
    private let setting: SimulationSetting
    private let weightSum: Int
    /// The kinds of fault that are asked for, some more often than others.
    private let faults: [FaultKind]
    private let troubles: [SimulationFault]
    private var hasBackup = false
    /// Whether devices go to another zone and back.
    private let moves: Bool

    init(_ generator: SeededGenerator, _ mix: SimulationMix, _ setting: SimulationSetting) {
        var generator = generator
        moves = generator.chance(mix.moveChance) && setting.events.contains(.zoneMove)
        self.generator = generator
        self.mix = mix
        self.setting = setting
        weightSum = mix.weights.reduce(0) { $0 + $1.weight }
        let scarce = setting.faults.filter(FaultKind.scarce.contains)
        faults = setting.faults + scarce + scarce
        let choices: [SimulationFault] = [
            .crashBeforeCommit, .crashBeforeCommit, .reopen, .clockJump, .longOffline, .fullDisk,
        ]
        troubles = choices.filter(setting.events.contains)
    }

    /// The step at a place in the script.
    mutating func step(_ index: Int) -> SimulationStep {
        let pause = Int64(1 + generator.below(60_000))
        let device = generator.below(setting.devices.count)
        let seed = UInt32(truncatingIfNeeded: generator.next())
        let names = min(mix.namesMax, 1 + index / 8)
        return SimulationStep(
            action(), device: device, pauseMilliseconds: pause, seed: seed, names: names)
    }

    private mutating func action() -> SimulationAction {
        var number = generator.below(weightSum)
        for (kind, weight) in mix.weights {
            if number < weight { return action(of: kind) }
            number -= weight
        }
        return .exchange
    }

    /// A step of a kind; what may not happen becomes a check, which changes nothing.
    private mutating func action(of kind: SimulationMix.Kind) -> SimulationAction {
        switch kind {
        case .edit: .edit
        case .exchange: .exchange
        case .check: .check
        case .retryParked: .retryParked
        case .compact: .compact
        case .foreignEdit: setting.events.contains(.foreignEdit) ? .foreignEdit : .check
        case .trouble: trouble()
        case .fault: fault()
        case .service: service()
        case .renewal: renewal()
        case .locality: locality()
        case .engine: engine()
        case .zone: zone()
        case .files: files()
        case .migration: migration()
        }
    }

    private mutating func files() -> SimulationAction {
        guard setting.fileService != nil else { return .check }
        if generator.chance(0.35) {
            // Most files are small, so that many cuts are near their ends.
            let bytes = generator.pick([
                generator.below(12), generator.below(120), generator.below(1_200),
                generator.below(12_000),
            ])
            let kind = generator.pick(TransferTrouble.Kind.allCases + [.cut, .cut])
            let trouble = TransferTrouble(
                kind, isUpload: generator.chance(0.6), bytes: bytes)
            let event: SimulationFault = trouble.isUpload ? .uploadCut : .downloadCut
            return setting.events.contains(event) ? .cutTransfer(trouble) : .check
        }
        let often: [FileAction] = [.open, .open, .open, .hold, .evict, .collect]
        let action = generator.pick(FileAction.allCases + often)
        return action.fault.map(setting.events.contains) ?? true ? .files(action) : .check
    }

    private mutating func engine() -> SimulationAction {
        let mayMove = setting.devices.contains { $0.home != nil } && generator.chance(0.7)
        let kind = mayMove ? .move : generator.pick(EngineTrouble.Kind.allCases)
        var trouble = EngineTrouble(
            kind, request: generator.below(6), isDone: generator.chance(0.7))
        if generator.chance(0.3) { trouble.replySteps = 1 + generator.below(12) }
        trouble.replyRequest = generator.below(6)
        return setting.events.contains(kind.fault) ? .disturb(trouble) : .exchange
    }

    private mutating func zone() -> SimulationAction {
        if moves, generator.chance(0.7) { return .renameZone(moves: true) }
        return setting.events.contains(.zoneRenamed) ? .renameZone(moves: false) : .check
    }

    private mutating func migration() -> SimulationAction {
        let count = generator.below(SimulatedMigrations.countMax + 1)
        let failsAfter = generator.chance(0.4) ? generator.below(6) : nil
        return setting.events.contains(.dataMigration)
            ? .migrate(count: count, failsAfter: failsAfter) : .check
    }

    private mutating func locality() -> SimulationAction {
        let choices: [SimulationAction] = [.editLocally, .evict, .evict, .fetchAgain]
        let action = generator.pick(choices)
        let event: SimulationFault = action == .editLocally ? .localOnlyEdit : .eviction
        return setting.events.contains(event) ? action : .check
    }

    private mutating func renewal() -> SimulationAction {
        let hasSchemas = setting.devices.contains { $0.schema == .old }
        let takesSchema = generator.chance(0.5)
        let reset = generator.pick(SimulatedReset.allCases)
        let schema: SimulatedSchema = generator.chance(0.7) ? .current : .old
        if hasSchemas, takesSchema { return .takeSchema(schema) }
        guard setting.events.contains(.reset), !reset.endsZone || setting.mayLoseZone else {
            return .check
        }
        return .reset(reset)
    }

    private mutating func trouble() -> SimulationAction {
        guard !troubles.isEmpty else { return .exchange }
        switch generator.pick(troubles) {
        case .crashBeforeCommit:
            let commits = generator.below(5)
            return generator.chance(0.3)
                ? .crashInEdit(afterCommits: commits) : .crashInExchange(afterCommits: commits)
        case .reopen: return .reopen
        case .fullDisk: return .fillDisk(afterCommits: generator.below(6))
        case .clockJump:
            return .jumpClock(milliseconds: Int64(generator.below(400_000_000)) - 200_000_000)
        default: return .goOffline(steps: 15)
        }
    }

    private mutating func fault() -> SimulationAction {
        guard !faults.isEmpty else { return .exchange }
        let kind = generator.pick(faults)
        var fault = InjectedFault(kind, lateBy: generator.below(4))
        // Some need a request of a certain kind, or a conflict, and wait for one.
        if FaultKind.rare.contains(kind) || kind == .stuckFeed { fault.requests = 40 }
        if kind == .stuckFeed {
            var aside = generator.aside(0x7475_726E)
            if aside.chance(0.5) { fault.alternates = true }
        }
        if kind.requestCode != nil, generator.chance(0.3) { fault.skip = generator.below(4) }
        if kind.rawValue.hasSuffix("RetryAfter") { fault.retryAfterSeconds = 5 }
        return .inject(fault)
    }

    private mutating func service() -> SimulationAction {
        if setting.mayRestore, generator.chance(0.6) { return restore() }
        if setting.mayLoseZone, generator.chance(0.4) { return .deleteZone }
        let isForgetting = generator.chance(0.5)
        if isForgetting, setting.events.contains(.tombstoneFloor) { return .forgetTombstones }
        return setting.events.contains(.tokensExpire) ? .expireTokens : .exchange
    }

    private mutating func restore() -> SimulationAction {
        guard hasBackup, generator.chance(0.6) else {
            hasBackup = true
            return .backUp
        }
        let wipes = generator.chance(0.45)
        if wipes, setting.events.contains(.wipe) { return .wipe }
        return setting.events.contains(.restore) ? .restore : .wipe
    }
}

extension FileAction {
    /// What has to be allowed for it; nil if nothing has.
    fileprivate var fault: SimulationFault? {
        switch self {
        case .open, .hold, .add, .collectOnService: nil
        case .evict: .fileEviction
        case .collect: .fileCollection
        case .undo: .undo
        case .expireReceipts: .receiptsExpire
        case .expireAddresses: .addressesExpire
        }
    }
}
