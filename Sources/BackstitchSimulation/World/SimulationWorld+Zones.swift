import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchTesting

extension SimulationWorld {
    /// The zone that devices go to and come back from.
    static let otherZone = ZoneID("Other")

    /// The device's application starts with another name of the zone.
    func renameZone(_ index: Int, moves: Bool) async throws {
        guard !exchanging.contains(index), !devices[index].isCrashed,
            devices[index].offlineUntil <= step
        else { return }
        if moves {
            try await move(index)
        } else {
            try await mistakeZone(index)
        }
    }

    /// A name that is not the store's: nothing may be asked of the service or changed here.
    private func mistakeZone(_ index: Int) async throws {
        let device = devices[index]
        let claims = try device.store.read { try $0.reader.zoneClaims() }
        let wrong = [Self.zone, Self.otherZone].first { zone in
            claims.target.map { $0 != zone.zoneName }
                ?? (!claims.bound.isEmpty && claims.bound != [zone.zoneName])
        }
        guard let wrong else { return }
        let before = try device.store.read { try $0.reader.head }
        let requests = cloud.requestCounts
        let engine = device.engine(of: wrong)
        do {
            _ = try await engine.sync()
            throw failure(
                "\(device.name) exchanged with a zone that is not its own",
                ["\(wrong.zoneName), and the store belongs to \(claims)"])
        } catch let error as SyncError {
            guard error.code == .invalidConfiguration else {
                throw failure("\(device.name) does not refuse another zone", ["\(error)"])
            }
        }
        await engine.stop()
        let (after, head) = try device.store.read {
            (try $0.reader.zoneClaims(), try $0.reader.head)
        }
        guard cloud.requestCounts == requests, after == claims, head == before else {
            throw failure(
                "\(device.name) refuses another zone and does something all the same",
                ["\(claims) and \(after)", "operations \(before) and \(head)"])
        }
        note("\(device.name) refuses the zone \(wrong.zoneName)")
        count(.zoneRenamed)
    }

    /// The device's application takes the store to the other of two zones. Other processes on the store
    /// still have the old name.
    private func move(_ index: Int) async throws {
        let device = devices[index]
        let claims = try device.store.read { try $0.reader.zoneClaims() }
        let here = claims.target ?? claims.bound.first
        let target = here == Self.otherZone.zoneName ? Self.zone : Self.otherZone
        // What was done so far is judged without leniency.
        try check(index)
        let before = try device.store.read { try $0.reader.head }
        exchanging.insert(index)
        devices[home(of: index)].hasPreferredLocal = true
        let knowsName = generator.chance(0.7)
        let commits = generator.below(16)
        if generator.chance(0.4), setting.events.contains(.crashBeforeCommit) {
            devices[index].crashBeforeCommit(after: commits)
            count(.crashBeforeCommit)
        }
        do {
            try await device.engine.move(to: target.zoneName)
            note("\(device.name) moves to \(target.zoneName)")
            count(.zoneMove)
        } catch let error as SyncError {
            note("\(device.name) moves to \(target.zoneName): \(error)")
            if error.code == .store, !devices[index].isCrashed {
                throw failure("A store failed in a move", ["\(error)"])
            }
        } catch {
            guard devices[index].isCrashed else { throw error }
        }
        exchanging.remove(index)
        // Whatever came of it, its application is started again, with the one name or the other.
        try await reopen(index, zone: knowsName ? target : nil)
        try await restartCrashed()
        try checkMove(of: index, after: before)
        try check(index)
    }

    /// What was forgotten with a zone ends only if the new one had it: no zone can tell the end of a
    /// record that it never had.
    private func checkMove(of index: Int, after sequence: UInt64) throws {
        var isKnown: [RecordPlace: Bool] = [:]
        var lost: [String] = []
        try devices[index].store.read { transaction in
            try transaction.reader.visitOperations(from: sequence + 1) { operation in
                let place = RecordPlace(entity: operation.entity, key: try operation.key)
                if operation.kind == .delete, operation.origin == .remote,
                    operation.conflictBytes == nil, isKnown[place] == false
                {
                    lost.append("operation \(operation.sequence) ends \(place.key.name)")
                }
                if operation.kind == .forget { isKnown[place] = false }
                if let stamp = operation.stamp { isKnown[place] = !stamp.changeTag.isEmpty }
                return true
            }
        }
        guard lost.isEmpty else {
            throw failure("\(devices[index].name) lost records in a move", lost)
        }
    }

    /// Brings all stores back to the zone of the others, so that they can be compared.
    func moveBack() async throws {
        for index in devices.indices where home(of: index) == index {
            let claims = try devices[index].store.read { try $0.reader.zoneClaims() }
            let isAway =
                claims != ZoneClaims(bound: [Self.zone.zoneName]) && claims != ZoneClaims()
            for process in processes(on: index)
            where isAway || devices[process].zoneName != Self.zone.zoneName {
                try await reopen(process, zone: Self.zone)
            }
            guard isAway else { continue }
            devices[index].hasPreferredLocal = true
            do {
                try await devices[index].engine.move(to: Self.zone.zoneName)
                note("\(SimulatedDevice.name(index)) comes back to \(Self.zone.zoneName)")
            } catch let error as SyncError where error.code != .store {
                note("\(SimulatedDevice.name(index)) comes back: \(error)")
            }
        }
    }
}
