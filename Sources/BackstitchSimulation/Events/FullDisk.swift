import Backstitch
import BackstitchStore

/// Disks that get full for a while.
struct FullDisk {
    let devices: SimulatedDevices
    let choices: StepChoices
    let story: SimulationStory
    let checks: StoreChecks
    let routine: DeviceRoutine

    /// Fills a device's disk for a while. What is written meanwhile is there as a whole or not at all,
    /// everything can be read, and afterwards the same store and the same engine go on.
    func fill(_ index: Int, after commits: Int) async throws {
        guard !devices[index].isCrashed else { return }
        let disk = devices[index].home.disk
        disk.fill(after: commits)
        devices[index].home.ledger.forget()
        story.note("\(devices[index].name)'s disk gets full after \(commits) commits")
        try await routine.edit(index)
        try await routine.exchange(index)
        // If a process ended meanwhile, there is space again before it starts.
        if disk.isFilling {
            var refused = disk.free()
            if !devices[index].isCrashed {
                disk.fill(after: 0)
                try await editOnFullDisk(index)
                refused += disk.free()
            }
            if refused > 0 { story.count(.fullDisk) }
            try await routine.restartCrashed()
        }
        devices[index].home.ledger.forget()
        story.note("\(devices[index].name)'s disk has space")
        guard !devices[index].isCrashed else { return }
        try checks.check(index)
        try await routine.edit(index)
    }

    /// An edit that finds no block leaves everything as it was.
    private func editOnFullDisk(_ index: Int) async throws {
        let store = devices[index].store
        let before = try StoreState(of: store)
        do {
            let edit = choices.edit(devices[index].schema)
            try await store.write { _ = try edit.perform($0) }
        } catch let error as StoreError where error.code == .full || error.code == .notUnique {
            guard try StoreState(of: store) == before else {
                throw story.failure(
                    "A write that failed on \(devices[index].name) left something", ["\(error)"])
            }
            return
        } catch {
            guard devices[index].isCrashed else { throw error }
            return
        }
        // It changed nothing, and needed no block.
        guard try StoreState(of: store) == before else {
            throw story.failure("A write of \(devices[index].name) went to a full disk")
        }
    }
}
