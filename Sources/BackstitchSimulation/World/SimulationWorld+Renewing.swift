import Backstitch
import BackstitchStore

extension SimulationWorld {
    /// Ends all processes on a device's store, and starts them with a version of the schema.
    func takeSchema(_ schema: SimulatedSchema, _ index: Int) async throws {
        let processes = processes(on: index)
        guard devices[index].schema != schema, exchanging.isDisjoint(with: processes) else {
            return
        }
        try check(index)
        for process in processes { devices[process].end() }
        let before = devices[index].schema
        do {
            for process in processes { try await reopen(process, schema) }
        } catch let error as StoreError where error.code == .invalidSchema {
            // Records came that lack what this version can't do without: it has to wait.
            for process in processes { try await reopen(process, before) }
            note("\(SimulatedDevice.name(index)) can't take the schema \(schema.rawValue)")
            return
        }
        count(.schemaChange)
        note("\(SimulatedDevice.name(index)) takes the schema \(schema.rawValue)")
        try check(index)
    }

    /// Has a device's application ask for a new beginning.
    func reset(_ reset: SimulatedReset, _ index: Int) async throws {
        guard !exchanging.contains(index), !devices[index].isCrashed,
            devices[index].offlineUntil <= step
        else { return }
        // What was done so far is judged without leniency.
        try check(index)
        exchanging.insert(index)
        devices[home(of: index)].isReset = true
        if reset == .remote || reset == .fromLocal {
            devices[home(of: index)].hasPreferredLocal = true
        }
        do {
            try await begin(reset, devices[index].engine)
            note("\(SimulatedDevice.name(index)) resets \(reset.rawValue)")
            count(.reset)
            if reset != .destroyZone { try endReset(index) }
        } catch let error as SyncError {
            note("\(SimulatedDevice.name(index)) resets \(reset.rawValue): \(error)")
            if error.isOfStore, !devices[index].isCrashed {
                throw failure("A store failed in a reset", ["\(error)"])
            }
        } catch {
            guard devices[index].isCrashed else { throw error }
        }
        exchanging.remove(index)
        if devices[index].isCrashed { try await restart(index) }
        try await restartCrashed()
    }

    private func begin(_ reset: SimulatedReset, _ engine: SyncEngine) async throws {
        switch reset {
        case .local: try await engine.resetLocal()
        case .localWithEdits: try await engine.resetLocal(keepsUnsynced: false)
        case .remote: try await engine.resetRemote()
        case .destroyZone: try await engine.destroyZone()
        case .fromServer: try await engine.resync(from: .server)
        case .fromLocal: try await engine.resync(from: .local)
        }
    }

    /// Ends the leniency towards a device that began anew, once a round ended well.
    func endReset(_ index: Int) throws {
        guard devices[home(of: index)].isReset else { return }
        try check(index)
        devices[home(of: index)].isReset = false
    }
}
