import Backstitch
import BackstitchStore

/// New versions of schemas, and new beginnings.
struct Renewing {
    let devices: SimulatedDevices
    let story: SimulationStory
    let checks: StoreChecks
    let routine: DeviceRoutine

    /// Ends all processes on a device's store, and starts them with a version of the schema.
    func takeSchema(_ schema: SimulatedSchema, _ index: Int) async throws {
        let processes = devices.processes(on: index)
        guard devices[index].schema != schema, devices.exchanging.isDisjoint(with: processes) else {
            return
        }
        try checks.check(index)
        for process in processes { devices[process].end() }
        let before = devices[index].schema
        do {
            for process in processes { try await routine.reopen(process, schema) }
        } catch let error as StoreError where error.code == .invalidSchema {
            // Records came that lack what this version can't do without: it has to wait.
            for process in processes { try await routine.reopen(process, before) }
            story.note("\(devices[index].name) can't take the schema \(schema.rawValue)")
            return
        }
        story.count(.schemaChange)
        story.note("\(devices[index].name) takes the schema \(schema.rawValue)")
        try checks.check(index)
    }

    /// Has a device's application ask for a new beginning.
    func reset(_ reset: SimulatedReset, _ index: Int) async throws {
        guard devices.mayExchange(index) else { return }
        // What was done so far is judged without leniency.
        try checks.check(index)
        devices.exchanging.insert(index)
        devices[index].home.isReset = true
        if reset == .remote || reset == .fromLocal {
            devices[index].home.hasPreferredLocal = true
        }
        do {
            try await begin(reset, devices[index].engine)
            story.note("\(devices[index].name) resets \(reset.rawValue)")
            story.count(.reset)
            if reset != .destroyZone { try routine.endReset(index) }
        } catch let error as SyncError {
            story.note("\(devices[index].name) resets \(reset.rawValue): \(error)")
            if error.isOfStore, !devices[index].isCrashed {
                throw story.failure("A store failed in a reset", ["\(error)"])
            }
        } catch {
            guard devices[index].isCrashed else { throw error }
        }
        devices.exchanging.remove(index)
        if devices[index].isCrashed { try await routine.restart(index) }
        try await routine.restartCrashed()
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
}
