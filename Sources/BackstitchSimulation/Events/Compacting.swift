import Backstitch
import BackstitchStore

/// Compactions of logs, and crashes in them.
struct Compacting {
    let devices: SimulatedDevices
    let choices: StepChoices
    let setting: SimulationSetting
    let story: SimulationStory
    let checks: StoreChecks
    let routine: DeviceRoutine

    /// Compacts a device's log in small chunks, up to any of its operations; the device may end
    /// between two of them. Nothing but the log may change.
    func compact(_ index: Int, isNested: Bool = false) async throws {
        guard !devices[index].isCrashed else { return }
        let account = try checks.checkedAccount(of: devices[index])
        devices[index].home.account = account
        let store = devices[index].store
        let before = try StoreState(of: store)
        let head = try store.read { try $0.lastSequence }
        let horizon = UInt64(choices.generator.below(Int(head) + 1))
        let mayCrash = !isNested && setting.events.contains(.crashInCompaction)
        let crashes = mayCrash && choices.generator.chance(0.3)
        if crashes { devices[index].crashBeforeCommit(after: choices.generator.below(3)) }
        do {
            let perChunk = 1 + choices.generator.below(30)
            let removed = try await FileChecks(
                devices: devices, cloud: checks.service.cloud, story: story
            ).collecting(index) {
                try await StoreCompaction(store, operationsPerChunk: perChunk).run(through: horizon)
                    .removed
            }
            story.note("\(devices[index].name) compacts through \(horizon): \(removed) are gone")
        } catch let error where routine.isFullDisk(error, index) {
            story.note("\(devices[index].name) can't compact: \(error)")
        } catch {
            guard devices[index].isCrashed else { throw error }
            story.count(.crashInCompaction)
            story.note("\(devices[index].name) crashes in a compaction through \(horizon)")
        }
        guard try StoreState(of: store) == before else {
            throw story.failure(
                "A compaction of \(devices[index].name) changed more than its log")
        }
        if devices[index].isCrashed {
            try await routine.restart(index)
        } else {
            if crashes { store.setCommitFault(nil) }
            try checks.check(index)
        }
    }
}
