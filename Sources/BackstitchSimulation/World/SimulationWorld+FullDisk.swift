import Backstitch
import BackstitchStore

extension SimulationWorld {
    /// Fills a device's disk for a while. What is written meanwhile is there as a whole or not at all,
    /// everything can be read, and afterwards the same store and the same engine go on.
    func fillDisk(_ index: Int, after commits: Int) async throws {
        guard !devices[index].isCrashed else { return }
        let disk = devices[index].disk
        disk.fill(after: commits)
        note("\(SimulatedDevice.name(index))'s disk gets full after \(commits) commits")
        try await edit(index)
        try await exchange(index)
        // If a process ended meanwhile, there is space again before it starts.
        if disk.isFilling {
            var refused = disk.free()
            if !devices[index].isCrashed {
                disk.fill(after: 0)
                try await editOnFullDisk(index)
                refused += disk.free()
            }
            if refused > 0 { count(.fullDisk) }
            try await restartCrashed()
        }
        note("\(SimulatedDevice.name(index))'s disk has space")
        guard !devices[index].isCrashed else { return }
        try check(index)
        try await edit(index)
    }

    /// An edit that finds no block leaves everything as it was.
    private func editOnFullDisk(_ index: Int) async throws {
        let store = devices[index].store
        let before = try state(of: store)
        do {
            let edit = LocalEdit(
                seed: generator.next(), pool: pool, schema: devices[index].schema,
                mayBeLarge: setting.mayBeLarge)
            try await store.write { _ = try edit.perform($0) }
        } catch let error as StoreError where error.code == .full || error.code == .notUnique {
            guard try state(of: store) == before else {
                throw failure(
                    "A write that failed on \(devices[index].name) left something", ["\(error)"])
            }
            return
        } catch {
            guard devices[index].isCrashed else { throw error }
            return
        }
        // It changed nothing, and needed no block.
        guard try state(of: store) == before else {
            throw failure("A write of \(devices[index].name) went to a full disk", [])
        }
    }

    private struct State: Equatable {
        let tables: UInt64
        let lastSequence: UInt64
    }

    private func state(of store: Store) throws -> State {
        try store.read { transaction in
            State(
                tables: try TablesDigest(transaction.reader).hash,
                lastSequence: try transaction.lastSequence)
        }
    }

    /// Whether a device's disk is full, or about to be.
    func isFullDisk(_ index: Int) -> Bool { devices[index].disk.isFilling }

    /// Whether an error is what a full disk gives.
    func isFullDisk(_ error: any Error, _ index: Int) -> Bool {
        guard isFullDisk(index) else { return false }
        return (error as? StoreError)?.code == .full || (error as? SyncError)?.code == .storeFull
    }
}

extension SyncError {
    /// Whether the store failed, for whatever reason.
    var isOfStore: Bool { code == .store || code == .storeFull }
}
