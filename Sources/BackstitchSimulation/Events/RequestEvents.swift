import Backstitch
import BackstitchTesting

/// What happens while a request of a device is in flight.
struct RequestEvents {
    let devices: SimulatedDevices
    let choices: StepChoices
    let setting: SimulationSetting
    let story: SimulationStory
    let routine: DeviceRoutine
    let service: ServiceEvents
    let compacting: Compacting

    /// Whether anything ever happens while a request is in flight.
    var isNeeded: Bool { setting.events.contains(where: \.isDuringRequest) }

    /// Whether a request is worth a race with another client, because a fault waits for a conflict.
    private func contends(_ info: RequestInfo) -> Bool {
        let hasCreate = info.modifications.contains { modification in
            if case .create = modification { true } else { false }
        }
        if hasCreate, setting.faults.contains(.existsWithoutServerRecord) { return true }
        return !info.modifications.isEmpty
            && setting.faults.contains(.conflictWithoutServerRecord)
            && choices.generator.chance(0.5)
    }

    /// Chooses whether something happens while a request is in flight, and what.
    func happen(during info: RequestInfo, of index: Int) async {
        // What is done here for a call that was cancelled would be cancelled too.
        guard !choices.isCalm, !devices[index].isCrashed, !Task.isCancelled else { return }
        let chance = info.kind == .modify ? setting.eventChance : setting.eventChance / 2
        let isContended = contends(info)
        guard choices.generator.chance(chance) || isContended else { return }
        do {
            try await happen(eventDuringRequest(isContended: isContended), info, index)
        } catch {
            story.keep(error)
        }
    }

    private func eventDuringRequest(isContended: Bool) -> SimulationFault {
        if isContended && choices.generator.chance(0.7) { return .foreignEditDuringRequest }
        switch choices.generator.below(10) {
        case 0..<4: return .editDuringRequest
        case 4..<7: return .syncDuringRequest
        case 7..<8: return .foreignEditDuringRequest
        default: return .crash
        }
    }

    private func happen(
        _ event: SimulationFault, _ info: RequestInfo, _ index: Int
    ) async throws {
        guard setting.events.contains(event) else { return }
        switch event {
        case .editDuringRequest:
            story.count(event)
            story.note("during a \(info.kind.rawValue):")
            try await routine.edit(index, isNested: true)
            if choices.generator.chance(0.3) { try await compacting.compact(index, isNested: true) }
        case .syncDuringRequest:
            let other = choices.generator.below(devices.all.count)
            guard devices.exchanging.count < 3, !devices.exchanging.contains(other) else { return }
            story.count(event)
            story.note("during a \(info.kind.rawValue) of \(devices[index].name):")
            try await routine.edit(other, isNested: true)
            try await routine.exchange(other, depth: 1)
        case .foreignEditDuringRequest:
            guard !info.modifications.isEmpty else { return service.foreignEdit(event) }
            let target = choices.generator.pick(info.modifications)
            service.perform(ForeignEdit(against: target, &choices.generator), event)
        default:
            story.count(.crash)
            story.note("\(devices[index].name) crashes in a \(info.kind.rawValue)")
            devices[index].crash()
        }
    }
}

extension SimulationFault {
    /// Whether it happens while a request is in flight.
    fileprivate var isDuringRequest: Bool {
        [.crash, .editDuringRequest, .syncDuringRequest, .foreignEditDuringRequest].contains(self)
    }
}
