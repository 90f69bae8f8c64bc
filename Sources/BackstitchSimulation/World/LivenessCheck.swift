import Backstitch
import BackstitchCore
import BackstitchSync
import BackstitchTesting

/// Checks that an engine which goes on by itself gets everything to the service.
struct LivenessCheck {
    let devices: SimulatedDevices
    let clock: ManualClock
    let choices: StepChoices
    let setting: SimulationSetting
    let story: SimulationStory
    let routine: DeviceRoutine

    /// The most attempts that an engine may need for one edit after an outage.
    private static let attemptsMax = 20

    /// Lets the engine of a device go on by itself after an edit, while the service can't be reached
    /// for some requests. It has to try again in time until nothing waits, without another edit or
    /// another call for a round.
    func run() async throws {
        let index = choices.generator.below(devices.all.count)
        let device = devices[index]
        try await makePending(index)
        // Whoever synchronised the store ends, and this one has to take over.
        let others = devices.processes(on: index).filter { $0 != index }
        for other in others { devices[other].end() }
        injectOutage(device)
        device.home.clock.setDriven(true)
        let events = device.engine.events
        try await device.engine.start()
        try await followAttempts(of: device, events)
        device.home.clock.setDriven(false)
        await device.engine.stop()
        for process in devices.processes(on: index) { try await routine.reopen(process) }
    }

    /// Edits until something is to be pushed; some edits change nothing.
    private func makePending(_ index: Int) async throws {
        for _ in 0..<5 {
            try await routine.edit(index)
            if try devices[index].engine.pending().pendingRecords > 0 { return }
        }
    }

    private func injectOutage(_ device: SimulatedDevice) {
        let kinds = [
            FaultKind.lostRequest, .lostReply, .error(.network), .error(.serviceUnavailable),
            .error(.rateLimited), .error(.zoneBusy), .rateLimitedRetryAfter, .zoneBusyRetryAfter,
        ].filter(setting.faults.contains)
        guard !kinds.isEmpty else { return }
        let kind = choices.generator.pick(kinds)
        let fault = ScriptedFault(
            kind, skip: choices.generator.below(3), for: .requests(1 + choices.generator.below(4)))
        device.service.inject(fault)
        story.note("\(device.name) goes on by itself, through \(kind.rawValue)")
    }

    private func followAttempts(
        of device: SimulatedDevice, _ events: SyncEngineEvent.Stream
    ) async throws {
        var attempts = 0
        for await event in events {
            switch event {
            case .finished(let report):
                story.note("\(device.name) exchanged by itself: \(report.summary)")
            case .failed(let error):
                story.note("\(device.name) exchanged by itself: \(error.code)")
            default: continue
            }
            story.result.rounds += 1
            attempts += 1
            let waiting = try device.engine.pending().pendingRecords
            if waiting == 0 { return }
            guard attempts < Self.attemptsMax else {
                throw story.failure(
                    "\(device.name) gets nowhere by itself", ["\(waiting) records wait"])
            }
            try await moveToNextAttempt(of: device, waiting: waiting)
        }
    }

    private func moveToNextAttempt(of device: SimulatedDevice, waiting: Int) async throws {
        guard let due = await device.engine.nextAttemptMilliseconds else {
            throw story.failure(
                "\(device.name) would never exchange again", ["\(waiting) records wait"])
        }
        let wait = due - device.home.clock.milliseconds
        guard wait <= Backoff.longestMilliseconds else {
            throw story.failure(
                "\(device.name) waits too long", ["\(wait) ms for the next attempt"])
        }
        // The timer is a task of its own, and has to fall asleep before the time moves on.
        while clock.sleeperCount == 0 { await Task.yield() }
        clock.advance(milliseconds: max(0, wait))
    }
}
