import Backstitch
import BackstitchStore
import BackstitchSync
import Threading

/// Engines that are stopped, replaced, doubled and cancelled while a request is under way.
final class EngineTroubles {
    private let devices: SimulatedDevices
    private let choices: StepChoices
    private let setting: SimulationSetting
    private let options: SimulationOptions
    private let story: SimulationStory
    private let routine: DeviceRoutine
    private let renewing: Renewing
    /// Requests of engines that were stopped, whose replies are still to come.
    private var lateReplies: [LateReply] = []

    init(
        _ setting: SimulationSetting, _ options: SimulationOptions, _ routine: DeviceRoutine,
        _ renewing: Renewing
    ) {
        (devices, choices, story) = (routine.devices, routine.choices, routine.story)
        (self.setting, self.options) = (setting, options)
        self.routine = routine
        self.renewing = renewing
    }

    /// Delivers the replies that are due.
    func deliverReplies(all: Bool = false) async throws {
        let due = lateReplies.filter { all || $0.step <= story.step }
        guard !due.isEmpty else { return }
        lateReplies.removeAll { all || $0.step <= story.step }
        for reply in due {
            story.note("a late reply comes")
            await reply.deliver()
        }
        try story.throwPending()
        try await routine.restartCrashed()
    }

    /// Delivers what is left at the end of a run, so that no request stays.
    func end() async {
        for reply in lateReplies { await reply.deliver() }
    }

    /// Runs a round, and has something happen to its engine in a request.
    func disturb(_ trouble: EngineTrouble, _ index: Int) async throws {
        var index = index
        if trouble.kind == .move, devices.processes(on: index).count == 1 {
            // Only a device with several processes has another one to go on.
            index = devices.indices.first { devices.processes(on: $0).count > 1 } ?? index
        }
        guard devices.mayExchange(index) else { return }
        devices.exchanging.insert(index)
        story.result.rounds += 1
        let device = devices[index]
        let held = HeldRequest()
        device.connection.hold(held, at: trouble.request, isDone: trouble.isDone)
        let call = Task { [engine = device.engine] in
            let outcome = await engine.exchanged()
            held.callEnded()
            return outcome
        }
        guard await held.arrival(), devices[index].engine === device.engine else {
            // There was no such request, or the device started again before; a later one goes through.
            held.open()
            return try await routine.endExchange(of: device, await call.value)
        }
        let late = LateReply(
            held: held, engine: device.engine, isOfRound: await device.engine.isInRound,
            step: story.step + trouble.replySteps)
        defer { if !lateReplies.contains(where: { $0.held === held }) { held.open() } }
        switch trouble.kind {
        case .replace, .hang:
            try await replace(device, call, late, trouble)
        case .double:
            try await double(device, call, late)
        case .move:
            let others = devices.processes(on: index).filter {
                $0 != index && !devices.exchanging.contains($0) && !devices[$0].isCrashed
            }
            if others.isEmpty {
                try await replace(device, call, late, trouble)
            } else {
                try await move(device, call, late, to: choices.generator.pick(others))
            }
        case .cancel:
            try await cancel(device, call, late)
        }
        try await routine.restartCrashed()
    }

    // MARK: Stopping

    /// Stops the engine and goes on with another one on the same store.
    private func replace(
        _ device: SimulatedDevice, _ call: RoundCall, _ late: LateReply, _ trouble: EngineTrouble
    ) async throws {
        let index = device.index
        story.note("\(device.name) goes on with another engine in request \(trouble.request)")
        story.count(trouble.kind == .hang ? .hangingService : .engineReplaced)
        let others = trouble.kind == .hang ? waitingCalls(for: device.engine) : []
        try await stop(device, call, late, others)
        devices[index].take(device.anotherEngine())
        devices.exchanging.remove(index)
        let connection = devices[index].connection
        // Other processes need not wait for what has no turn.
        let comesNow = trouble.replySteps == 0 || !late.isOfRound
        if comesNow {
            connection.setInterlude(at: trouble.replyRequest) { await late.deliver() }
        } else {
            lateReplies.append(late)
        }
        if setting.events.contains(.reset), choices.generator.chance(0.5) {
            try await renewing.reset(.fromServer, index)
        } else {
            try await routine.exchange(index)
        }
        connection.setInterlude(at: 0, nil)
        if comesNow { await late.deliver() }
    }

    /// Calls that wait for an engine beside the one that runs a round, with what they throw.
    private func waitingCalls(for engine: SyncEngine) -> [Task<(any Error)?, Never>] {
        func call(_ body: @escaping @Sendable () async throws -> Void) -> Task<(any Error)?, Never>
        {
            Task {
                do {
                    try await body()
                    return nil
                } catch {
                    return error
                }
            }
        }
        return [
            call { try await engine.sync() },
            call { try await engine.resync(from: .server) },
            call { try await engine.destroyZone() },
            call { try await engine.fetchAgain([SimulatedNote.ID("none")]) },
            call { try await engine.waitUntilCaughtUp() },
        ]
    }

    /// Stops an engine. All calls that wait for it are let go, though the service does not answer.
    private func stop(
        _ device: SimulatedDevice, _ call: RoundCall, _ late: LateReply,
        _ others: [Task<(any Error)?, Never>] = []
    ) async throws {
        device.connection.letGo()
        try await whileHeld(late, "\(device.name)'s engine is not let go when it is stopped") {
            await device.engine.stop()
            var errors = [await call.value.error]
            for other in others { errors.append(await other.value) }
            return errors.filter { ($0 as? SyncError)?.code != .stopped }.map {
                String(describing: $0)
            }
        }
    }

    /// Checks something that has to end while a request is held: it hangs if there is no work for nine
    /// tenths of the looks after which the whole run is given up.
    ///
    /// - Parameter body: Returns what is wrong.
    private func whileHeld(
        _ late: LateReply, _ problem: String, _ body: () async -> [String]
    ) async throws {
        let hangs = Locked(false)
        let work = WorkMeter.current ?? WorkMeter()
        let watchdog = Task { [options] in
            let looks = options.patience - options.patience / 10
            guard try await options.hangs(work, looks: looks) else { return }
            hangs.withLock { $0 = true }
            late.held.open()
        }
        let wrong = await body()
        watchdog.cancel()
        guard !hangs.withLock({ $0 }), wrong.isEmpty else {
            late.held.open()
            throw story.failure(problem, wrong)
        }
    }

    // MARK: Others

    /// Has a second engine want to exchange; it gets its turn when the first has ended.
    private func double(
        _ device: SimulatedDevice, _ call: RoundCall, _ late: LateReply
    ) async throws {
        let index = device.index
        story.note("\(device.name) has a second engine")
        story.count(.engineDoubled)
        let (second, connection) = device.anotherEngine()
        try await expectStandby(second, on: [index], late)
        late.held.open()
        try await routine.endExchange(of: device, await call.value)
        guard devices[index].engine === device.engine, !devices[index].isCrashed else { return }
        device.connection.letGo()
        await device.engine.stop()
        devices[index].take((second, connection))
        try await routine.exchange(index)
        guard devices[index].engine === second, await standsBy(second) else { return }
        throw story.failure("\(device.name)'s second engine does not take over")
    }

    /// Stops the engine, and has another process on the store want to exchange: it gets its turn when
    /// the request has ended.
    private func move(
        _ device: SimulatedDevice, _ call: RoundCall, _ late: LateReply, to other: Int
    ) async throws {
        let (index, name) = (device.index, SimulatedDevice.name(other))
        story.note("\(device.name) leaves its store to \(name)")
        story.count(.engineMoved)
        try await stop(device, call, late)
        devices[index].take(device.anotherEngine())
        if late.isOfRound {
            try await expectStandby(devices[other].engine, on: [index, other], late)
        }
        await late.deliver()
        devices.exchanging.remove(index)
        guard devices[other].store.directory == device.store.directory, devices.mayExchange(other)
        else { return }
        let engine = devices[other].engine
        try await routine.exchange(other)
        // A request of an engine that was replaced before keeps the other process waiting too.
        let isHeld = lateReplies.contains { $0.engine.store === device.store }
        guard devices[other].engine === engine, !isHeld, await standsBy(engine) else { return }
        throw story.failure("\(name) does not take over")
    }

    /// Whether an engine says that another one has the turn; its status may be of an earlier round.
    private func standsBy(_ engine: SyncEngine) async -> Bool {
        guard engine.status == .standby else { return false }
        do {
            _ = try await engine.sync()
            return false
        } catch {
            return (error as? SyncError)?.code == .standby
        }
    }

    /// An engine may not exchange while another one on the store has a request under way.
    ///
    /// - Parameter processes: Those of the two engines. If one of them crashed, its turn has ended.
    private func expectStandby(
        _ engine: SyncEngine, on processes: [Int], _ late: LateReply
    ) async throws {
        let name = SimulatedDevice.name(processes[0])
        try await whileHeld(late, "Two engines on the store of \(name) exchange") {
            let problem: String
            do {
                problem = "\(try await engine.sync().summary)"
            } catch let error as SyncError
                where error.code == .standby || error.code == .invalidConfiguration
            {
                // An application that names another zone is refused before anything else.
                return []
            } catch {
                problem = "\(error)"
            }
            return processes.contains { devices[$0].isCrashed } ? [] : [problem]
        }
    }

    /// Cancels the call. It returns at once; the engine stays with its request, and goes on after it.
    private func cancel(
        _ device: SimulatedDevice, _ call: RoundCall, _ late: LateReply
    ) async throws {
        let index = device.index
        story.note("\(device.name)'s round is cancelled")
        story.count(.cancelledSync)
        try await whileHeld(late, "\(device.name)'s call is not let go when it is cancelled") {
            call.cancel()
            let error = await call.value.error
            return error is CancellationError ? [] : [String(describing: error)]
        }
        try await routine.edit(index, isNested: true)
        let other = choices.generator.below(devices.all.count)
        if other != index { try await routine.exchange(other, depth: 1) }
        await late.deliver()
        devices.exchanging.remove(index)
        try await routine.restartCrashed()
        try await routine.exchange(index)
    }
}

/// A call for a round.
typealias RoundCall = Task<Result<SyncReport, any Error>, Never>

extension Result {
    fileprivate var error: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}
