import Backstitch
import BackstitchStore

extension SimulationWorld {
    /// Compacts a device's log in small chunks, up to any of its operations; the device may end
    /// between two of them. Nothing but the log may change.
    func compact(_ index: Int, isNested: Bool = false) async throws {
        guard !devices[index].isCrashed else { return }
        let account = try checkedAccount(of: devices[index])
        devices[home(of: index)].account = account
        let store = devices[index].store
        let before = try state(of: store)
        let head = try store.read { try $0.lastSequence }
        let horizon = UInt64(generator.below(Int(head) + 1))
        let mayCrash = !isNested && setting.events.contains(.crashInCompaction)
        let crashes = mayCrash && generator.chance(0.3)
        if crashes { devices[index].crashBeforeCommit(after: generator.below(3)) }
        do {
            let removed = try await store.compact(
                through: horizon, operationsPerChunk: 1 + generator.below(30)
            ).removed
            note("\(SimulatedDevice.name(index)) compacts through \(horizon): \(removed) are gone")
        } catch let error where isFullDisk(error, index) {
            note("\(SimulatedDevice.name(index)) can't compact: \(error)")
        } catch {
            guard devices[index].isCrashed else { throw error }
            count(.crashInCompaction)
            note("\(SimulatedDevice.name(index)) crashes in a compaction through \(horizon)")
        }
        guard try state(of: store) == before else {
            throw failure("A compaction of \(devices[index].name) changed more than its log", [])
        }
        if devices[index].isCrashed {
            try await restart(index)
        } else {
            if crashes { store.setCommitFault(nil) }
            try check(index)
        }
    }

    /// What a compaction must leave alone.
    private struct State: Equatable {
        let tables: UInt64
        let outbox: Outbox
        let lastSequence: UInt64
    }

    private func state(of store: Store) throws -> State {
        try store.read { transaction in
            State(
                tables: try TablesDigest(transaction.reader).hash,
                outbox: try OutboxFolder(transaction.reader).fold(recordsMax: .max),
                lastSequence: try transaction.lastSequence)
        }
    }
}
