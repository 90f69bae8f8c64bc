import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchTesting

/// Stores that go to another zone, and applications that name a wrong one.
struct ZoneMoves {
    let devices: SimulatedDevices
    let cloud: SimulatedCloud
    let choices: StepChoices
    let setting: SimulationSetting
    let story: SimulationStory
    let checks: StoreChecks
    let routine: DeviceRoutine

    /// The device's application starts with another name of the zone.
    func rename(_ index: Int, moves: Bool) async throws {
        guard devices.mayExchange(index) else { return }
        if moves {
            try await move(index)
        } else {
            try await mistakeZone(index)
        }
    }

    /// A name that is not the store's: nothing may be asked of the service or changed here.
    private func mistakeZone(_ index: Int) async throws {
        let device = devices[index]
        let claims = try device.store.read { try ZoneClaims($0.reader) }
        let wrong = [SimulatedZone.usual, SimulatedZone.other].first { zone in
            claims.target.map { $0 != zone.zoneName }
                ?? (!claims.bound.isEmpty && claims.bound != [zone.zoneName])
        }
        guard let wrong else { return }
        let before = try device.store.read { try $0.reader.log.head }
        let requests = cloud.requestCounts
        let engine = device.engine(of: wrong)
        do {
            _ = try await engine.sync()
            throw story.failure(
                "\(device.name) exchanged with a zone that is not its own",
                ["\(wrong.zoneName), and the store belongs to \(claims)"])
        } catch let error as SyncError {
            guard error.code == .invalidConfiguration else {
                throw story.failure("\(device.name) does not refuse another zone", ["\(error)"])
            }
        }
        await engine.stop()
        let (after, head) = try device.store.read {
            (try ZoneClaims($0.reader), try $0.reader.log.head)
        }
        guard cloud.requestCounts == requests, after == claims, head == before else {
            throw story.failure(
                "\(device.name) refuses another zone and does something all the same",
                ["\(claims) and \(after)", "operations \(before) and \(head)"])
        }
        story.note("\(device.name) refuses the zone \(wrong.zoneName)")
        story.count(.zoneRenamed)
    }

    /// The device's application takes the store to the other of two zones. Other processes on the store
    /// still have the old name.
    private func move(_ index: Int) async throws {
        let device = devices[index]
        let claims = try device.store.read { try ZoneClaims($0.reader) }
        let here = claims.target ?? claims.bound.first
        let target =
            here == SimulatedZone.other.zoneName ? SimulatedZone.usual : SimulatedZone.other
        // What was done so far is judged without leniency.
        try checks.check(index)
        let before = try device.store.read { try $0.reader.log.head }
        devices.exchanging.insert(index)
        devices[index].home.hasPreferredLocal = true
        let knowsName = choices.generator.chance(0.7)
        let commits = choices.generator.below(16)
        if choices.generator.chance(0.4), setting.events.contains(.crashBeforeCommit) {
            devices[index].crashBeforeCommit(after: commits)
            story.count(.crashBeforeCommit)
        }
        do {
            try await device.engine.move(to: target.zoneName)
            story.note("\(device.name) moves to \(target.zoneName)")
            story.count(.zoneMove)
        } catch let error as SyncError {
            story.note("\(device.name) moves to \(target.zoneName): \(error)")
            if error.code == .store, !devices[index].isCrashed {
                throw story.failure("A store failed in a move", ["\(error)"])
            }
        } catch {
            guard devices[index].isCrashed else { throw error }
        }
        devices.exchanging.remove(index)
        // Whatever came of it, its application is started again, with the one name or the other.
        try await routine.reopen(index, zone: knowsName ? target : nil)
        try await routine.restartCrashed()
        try checkMove(of: index, after: before)
        try checks.check(index)
    }

    /// What was forgotten with a zone ends only if the new one had it: no zone can tell the end of a
    /// record that it never had.
    private func checkMove(of index: Int, after sequence: UInt64) throws {
        var isKnown: [StoredRecordID: Bool] = [:]
        var lost: [String] = []
        try devices[index].store.read { transaction in
            try transaction.reader.log.visit(from: sequence + 1) { operation in
                let place = StoredRecordID(entity: operation.entity, key: try operation.key)
                if operation.kind == .delete, operation.origin == .remote,
                    unsafe operation.conflictBytes == nil, isKnown[place] == false
                {
                    lost.append("operation \(operation.sequence) ends \(place.key.name)")
                }
                if operation.kind == .forget { isKnown[place] = false }
                if let stamp = operation.stamp { isKnown[place] = !stamp.changeTag.isEmpty }
                return true
            }
        }
        guard lost.isEmpty else {
            throw story.failure("\(devices[index].name) lost records in a move", lost)
        }
    }

    /// Brings all stores back to the zone of the others, so that they can be compared.
    func moveBack() async throws {
        for index in devices.owners {
            let claims = try devices[index].store.read { try ZoneClaims($0.reader) }
            let isAway =
                claims != ZoneClaims(bound: [SimulatedZone.usual.zoneName])
                && claims != ZoneClaims()
            for process in devices.processes(on: index)
            where isAway || devices[process].zoneName != SimulatedZone.usual.zoneName {
                try await routine.reopen(process, zone: SimulatedZone.usual)
            }
            guard isAway else { continue }
            devices[index].home.hasPreferredLocal = true
            do {
                try await devices[index].engine.move(to: SimulatedZone.usual.zoneName)
                story.note("\(devices[index].name) comes back to \(SimulatedZone.usual.zoneName)")
            } catch let error as SyncError where error.code != .store {
                story.note("\(devices[index].name) comes back: \(error)")
            }
        }
    }
}
