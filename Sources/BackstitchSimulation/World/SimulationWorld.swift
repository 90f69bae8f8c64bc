import Backstitch
import BackstitchTesting
import Foundation

/// Everything of one simulation: its parts, and what happens next, one thing at a time.
///
/// Hooks of the service come back into the actor while it waits for an engine, so what is read
/// before an exchange may be otherwise after it.
actor SimulationWorld {
    private let script: SimulationScript
    private let directory: String
    private let clock = ManualClock()
    private let cloud: SimulatedCloud
    private let choices: StepChoices
    private let story: SimulationStory
    private let devices: SimulatedDevices
    private let service: ServiceEvents
    private let checks: StoreChecks
    private let routine: DeviceRoutine
    private let stayingLocal: StayingLocal
    private let fullDisk: FullDisk
    private let compacting: Compacting
    private let renewing: Renewing
    private let migrating: Migrating
    private let moves: ZoneMoves
    private let requests: RequestEvents
    private let engines: EngineTroubles
    private let files: FileEvents
    /// What is wrong with the step that is under way.
    private var reasonToGiveUp = "was cancelled"

    init(_ script: SimulationScript, options: SimulationOptions) {
        self.script = script
        let setting = script.setting
        let parent =
            options.directory
            ?? (FileManager.default.fileExists(atPath: "/dev/shm")
                ? "/dev/shm" : NSTemporaryDirectory())
        directory = parent + "/backstitch-simulation-\(UUID().uuidString)"
        cloud = SimulatedCloud(clock: clock, limits: setting.limits, options: setting.cloud)
        choices = StepChoices(script)
        story = SimulationStory(script, options: options)
        devices = SimulatedDevices(setting, options, in: directory, clock, cloud, story)
        service = ServiceEvents(cloud, choices, setting, story)
        checks = StoreChecks(devices: devices, service: service, setting: setting, story: story)
        routine = DeviceRoutine(devices: devices, choices: choices, story: story, checks: checks)
        stayingLocal = StayingLocal(
            devices: devices, choices: choices, story: story, routine: routine)
        fullDisk = FullDisk(
            devices: devices, choices: choices, story: story, checks: checks, routine: routine)
        compacting = Compacting(
            devices: devices, choices: choices, setting: setting, story: story, checks: checks,
            routine: routine)
        renewing = Renewing(devices: devices, story: story, checks: checks, routine: routine)
        migrating = Migrating(
            devices: devices, choices: choices, story: story, checks: checks, routine: routine)
        moves = ZoneMoves(
            devices: devices, cloud: cloud, choices: choices, setting: setting, story: story,
            checks: checks, routine: routine)
        requests = RequestEvents(
            devices: devices, choices: choices, setting: setting, story: story, routine: routine,
            service: service, compacting: compacting)
        engines = EngineTroubles(setting, options, routine, renewing)
        files = FileEvents(
            devices: devices, choices: choices, cloud: cloud, story: story, checks: checks,
            files: FileChecks(devices: devices, cloud: cloud, story: story), routine: routine)
    }

    func run() async -> SimulationResult {
        do {
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true)
            for index in script.setting.devices.indices {
                try devices.add()
                if requests.isNeeded { setHooks(of: index) }
            }
            for step in script.steps {
                story.step += 1
                try await take(step)
            }
            try await end()
        } catch {
            story.result.failure =
                if Task.isCancelled {
                    endless.failure
                } else if let failure = error as? SimulationFailure {
                    failure
                } else {
                    story.failure("The simulation can't go on", ["\(error)"])
                }
        }
        await engines.end()
        for device in devices.all {
            for (kind, count) in device.service.faultCounts { story.count(kind.rawValue, count) }
            device.connection.crash()
            device.store.close()
        }
        story.forget()
        // A folder that can't be removed says nothing about the run.
        try? FileManager.default.removeItem(atPath: directory)
        return story.result
    }

    /// The number of the step that is under way.
    var step: Int { story.step }

    /// Notes why the run is given up.
    func giveUp(_ reason: String) { reasonToGiveUp = reason }

    /// The result of a run that is given up because it does not end.
    var endless: SimulationResult {
        var result = story.result
        result.failure = story.failure("The run ends", ["Its step \(step) \(reasonToGiveUp)."])
        return result
    }

    /// Lets things happen while the requests of a device are in flight.
    private func setHooks(of index: Int) {
        let hook: SimulatedRecordService.Hook = { [weak self] info in
            await self?.happen(during: info, of: index)
        }
        devices[index].service.beforeRequest = hook
        devices[index].service.beforeReply = hook
        guard script.setting.fileService != nil else { return }
        devices[index].duringTransfer = { [weak self] in await self?.happenDuringTransfer(index) }
    }

    private func happenDuringTransfer(_ index: Int) async {
        await requests.happenDuringTransfer(of: index)
    }

    private func happen(during info: RequestInfo, of index: Int) async {
        await requests.happen(during: info, of: index)
    }

    /// One thing that happens.
    private func take(_ step: SimulationStep) async throws {
        clock.advance(milliseconds: step.pauseMilliseconds)
        choices.begin(step)
        try await engines.deliverReplies()
        try await perform(step.action, step.device)
        try story.throwPending()
    }

    private func perform(_ action: SimulationAction, _ index: Int) async throws {
        switch action {
        case .edit: try await routine.edit(index)
        case .exchange: try await routine.exchange(index)
        case .retryParked: try await routine.retryParked(index)
        case .crashInEdit(let commits): try await routine.crashInEdit(index, after: commits)
        case .crashInExchange(let commits):
            try await routine.crashInExchange(index, after: commits)
        case .reopen:
            try await routine.restart(index)
            story.count(.reopen)
        case .jumpClock(let skew): try routine.jumpClock(index, to: skew)
        case .goOffline(let steps): routine.goOffline(index, steps: steps)
        case .inject(let fault): routine.inject(fault, index)
        case .check: try checks.check(index)
        case .editLocally: try await stayingLocal.editLocally(index)
        case .evict: try await stayingLocal.evict(index)
        case .fetchAgain: try await stayingLocal.fetchAgain(index)
        case .fillDisk(let commits): try await fullDisk.fill(index, after: commits)
        case .compact: try await compacting.compact(index)
        case .takeSchema(let schema): try await renewing.takeSchema(schema, index)
        case .migrate(let count, let failsAfter):
            try await migrating.take(count, failsAfter: failsAfter, index)
        case .reset(let reset): try await renewing.reset(reset, index)
        case .renameZone(let moves): try await self.moves.rename(index, moves: moves)
        case .files(let action): try await files.perform(action, index)
        case .cutTransfer(let trouble): files.cut(trouble, index)
        case .disturb(let trouble): try await engines.disturb(trouble, index)
        case .foreignEdit: service.foreignEdit(.foreignEdit)
        case .deleteZone: service.deleteZone()
        case .forgetTombstones: service.forgetTombstones()
        case .expireTokens: service.expireTokens()
        case .backUp: service.backUp()
        case .restore: service.restore()
        case .wipe: service.wipe()
        case .keepState: service.keepState()
        case .rollBack(let state, let requests):
            service.rollBack(to: state, afterRequests: requests)
        }
    }

    /// Lets the devices settle, and checks what became of them.
    private func end() async throws {
        let setting = script.setting
        choices.generator = SeededGenerator(seed: script.seed)
        let settling = Settling(
            devices: devices, cloud: cloud, clock: clock, story: story, checks: checks,
            routine: routine, moves: moves, engines: engines)
        try await settling.run()
        if setting.checksLiveness {
            try await LivenessCheck(
                devices: devices, clock: clock, choices: choices, setting: setting, story: story,
                routine: routine
            ).run()
            try await settling.run()
        }
        try await EndChecks(
            devices: devices, service: service, setting: setting, story: story, checks: checks
        ).run()
    }
}
