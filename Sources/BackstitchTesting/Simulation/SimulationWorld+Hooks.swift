import Backstitch
import BackstitchStore

extension SimulationWorld {
    /// Lets things happen while the requests of a device are in flight.
    func setHooks(of index: Int) {
        guard !setting.isQuiet else { return }
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
            && setting.faults.contains(.conflictWithoutServerRecord) && step % 2 == 0
    }

    private func happen(during info: RequestInfo, of index: Int) async {
        guard !devices[index].isCrashed,
            generator.chance(info.kind == .modify ? 0.12 : 0.06) || contends(info)
        else { return }
        do {
            switch contends(info) && generator.chance(0.7) ? 7 : generator.below(10) {
            case 0..<4:
                count(.editDuringRequest)
                note("during a \(info.kind.rawValue):")
                try await edit(index, isNested: true)
                if generator.chance(0.3) { try await compact(index, isNested: true) }
            case 4..<7:
                let other = generator.below(devices.count)
                guard exchanging.count < 3, !exchanging.contains(other) else { return }
                count(.syncDuringRequest)
                note("during a \(info.kind.rawValue) of \(devices[index].name):")
                try await edit(other, isNested: true)
                try await exchange(other, depth: 1)
            case 7..<8:
                if info.modifications.isEmpty {
                    foreignEdit(.foreignEditDuringRequest)
                } else {
                    let target = generator.pick(info.modifications)
                    perform(
                        ForeignEdit(against: target, &generator), .foreignEditDuringRequest)
                }
            default:
                count(.crash)
                note("\(devices[index].name) crashes in a \(info.kind.rawValue)")
                devices[index].crash()
            }
        } catch let failure as SimulationFailure {
            pendingFailure = pendingFailure ?? failure
        } catch {
            pendingFailure = pendingFailure ?? failure("A nested step failed", ["\(error)"])
        }
    }
}
