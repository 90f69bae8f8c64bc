import Backstitch
import BackstitchStore
import BackstitchTesting

extension SimulationWorld {
    /// Lets things happen while the requests of a device are in flight.
    func setHooks(of index: Int) {
        guard !setting.events.filter(\.isDuringRequest).isEmpty else { return }
        let service = devices[index].service
        service.beforeRequest = { [weak self] info throws(ServiceError) in
            await self?.happen(during: info, of: index)
        }
        service.beforeReply = { [weak self] info throws(ServiceError) in
            await self?.happen(during: info, of: index)
        }
    }

    /// Whether a request is worth a race with somebody else, because a fault waits for a conflict.
    private func contends(_ info: RequestInfo) -> Bool {
        let hasCreate = info.modifications.contains { modification in
            if case .create = modification { true } else { false }
        }
        if hasCreate, setting.faults.contains(.existsWithoutServerRecord) { return true }
        return !info.modifications.isEmpty
            && setting.faults.contains(.conflictWithoutServerRecord) && generator.chance(0.5)
    }

    private func happen(during info: RequestInfo, of index: Int) async {
        // What is done here for a call that was cancelled would be cancelled too.
        guard !isCalm, !devices[index].isCrashed, !Task.isCancelled else { return }
        let chance = info.kind == .modify ? setting.eventChance : setting.eventChance / 2
        let isContended = contends(info)
        guard generator.chance(chance) || isContended else { return }
        do {
            try await happen(eventDuringRequest(isContended: isContended), info, index)
        } catch let failure as SimulationFailure {
            pendingFailure = pendingFailure ?? failure
        } catch {
            pendingFailure = pendingFailure ?? failure("A nested step failed", ["\(error)"])
        }
    }

    private func eventDuringRequest(isContended: Bool) -> SimulationFault {
        if isContended && generator.chance(0.7) { return .foreignEditDuringRequest }
        switch generator.below(10) {
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
            count(event)
            note("during a \(info.kind.rawValue):")
            try await edit(index, isNested: true)
            if generator.chance(0.3) { try await compact(index, isNested: true) }
        case .syncDuringRequest:
            let other = generator.below(devices.count)
            guard exchanging.count < 3, !exchanging.contains(other) else { return }
            count(event)
            note("during a \(info.kind.rawValue) of \(SimulatedDevice.name(index)):")
            try await edit(other, isNested: true)
            try await exchange(other, depth: 1)
        case .foreignEditDuringRequest:
            guard !info.modifications.isEmpty else { return foreignEdit(event) }
            let target = generator.pick(info.modifications)
            perform(ForeignEdit(against: target, &generator), event)
        default:
            count(.crash)
            note("\(SimulatedDevice.name(index)) crashes in a \(info.kind.rawValue)")
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
