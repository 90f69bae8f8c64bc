import Backstitch
import BackstitchTesting
import Foundation

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

    /// Chooses whether something happens while a file is transferred, and what.
    func happenDuringTransfer(of index: Int) async {
        guard !choices.isCalm, !devices[index].isCrashed, !Task.isCancelled,
            choices.generator.chance(setting.eventChance)
        else { return }
        do {
            story.count(.eventDuringTransfer)
            story.note("while \(devices[index].name) transfers a file:")
            let other = choices.generator.below(devices.all.count)
            switch choices.generator.below(8) {
            case 0..<3:
                try await routine.edit(index, isNested: true)
                if choices.generator.chance(0.3) {
                    try await compacting.compact(index, isNested: true)
                }
            case 3:
                try await collectFiles(index)
            case 4..<6:
                guard devices.exchanging.count < 3, !devices.exchanging.contains(other),
                    devices[other].home !== devices[index].home
                else { return }
                try await routine.edit(other, isNested: true)
                try await routine.exchange(other, depth: 1)
            case 6:
                service.cloud.expireReceipts()
                for device in devices.all { device.home.ledger.forget() }
                service.cloud.expireAddresses()
                service.cloud.collectFiles()
                story.note("receipts and addresses end")
            default:
                guard setting.events.contains(.crash) else { return }
                story.count(.crash)
                story.note("\(devices[index].name) crashes in a transfer")
                devices[index].crash()
            }
        } catch {
            story.keep(error)
        }
    }

    private func collectFiles(_ index: Int) async throws {
        let store = devices[index].store
        do {
            try await FileChecks(devices: devices, cloud: service.cloud, story: story)
                .collecting(index) {
                    _ = try await store.assets.collect(addedBefore: .distantFuture)
                }
        } catch {
            guard !routine.isFullDisk(error, index), !devices[index].isCrashed else { return }
            throw error
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
