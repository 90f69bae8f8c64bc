import Backstitch
import BackstitchStore
import BackstitchTesting

extension SimulationWorld {
    /// One thing that happens.
    func take(_ step: SimulationStep) async throws {
        clock.advance(milliseconds: step.pauseMilliseconds)
        generator = SeededGenerator(seed: UInt64(step.seed))
        pool.reach = step.names
        isCalm = step.isCalm
        try await deliverReplies()
        try await perform(step.action, step.device)
        try throwPending()
    }

    private func perform(_ action: SimulationAction, _ index: Int) async throws {
        switch action {
        case .edit: try await edit(index)
        case .editLocally: try await editLocally(index)
        case .evict: try await evict(index)
        case .fetchAgain: try await fetchAgain(index)
        case .exchange: try await exchange(index)
        case .check: try check(index)
        case .retryParked: try await retryParked(index)
        case .compact: try await compact(index)
        case .fillDisk(let commits): try await fillDisk(index, after: commits)
        case .crashInEdit, .crashInExchange, .reopen, .jumpClock, .goOffline:
            try await goWrong(action, index)
        case .inject(let fault): inject(fault, index)
        case .foreignEdit: foreignEdit(.foreignEdit)
        case .deleteZone, .forgetTombstones, .expireTokens, .backUp, .restore, .wipe:
            trouble(action)
        case .takeSchema(let schema): try await takeSchema(schema, index)
        case .reset(let reset): try await self.reset(reset, index)
        case .disturb(let trouble): try await disturb(trouble, index)
        case .renameZone(let moves): try await renameZone(index, moves: moves)
        }
    }

    // MARK: Devices

    /// A transaction of the application.
    func edit(_ index: Int, isNested: Bool = false) async throws {
        guard !devices[index].isCrashed else { return }
        let edit = LocalEdit(
            seed: generator.next(), pool: pool, schema: devices[index].schema,
            mayBeLarge: setting.mayBeLarge)
        do {
            let done = try await devices[index].store.write { try edit.perform($0) }
            note("\(SimulatedDevice.name(index)) edits: \(done.joined(separator: ", "))")
        } catch let error as StoreError where error.code == .notUnique {
            note("\(SimulatedDevice.name(index)) can't edit: a value is there")
        } catch let error where isFullDisk(error, index) {
            note("\(SimulatedDevice.name(index)) can't edit: \(error)")
        } catch {
            note("\(SimulatedDevice.name(index)) can't edit: \(error)")
            guard devices[index].isCrashed else { throw error }
        }
        try checkClock(index)
        if devices[index].isCrashed, !isNested { try await restart(index) }
    }

    /// A sync round.
    func exchange(_ index: Int, depth: Int = 0) async throws {
        guard mayExchange(index) else { return }
        exchanging.insert(index)
        result.rounds += 1
        let device = devices[index]
        let outcome = await device.engine.exchanged()
        try await endExchange(of: device, outcome, depth: depth)
    }

    func mayExchange(_ index: Int) -> Bool {
        !exchanging.contains(index) && !devices[index].isCrashed
            && devices[index].offlineUntil <= step
    }

    /// Takes what came of a round that a device ran.
    func endExchange(
        of device: SimulatedDevice, _ outcome: Result<SyncReport, any Error>, depth: Int = 0
    ) async throws {
        let index = device.index
        do {
            let report = try outcome.get()
            devices[home(of: index)].isBound = true
            try endReset(index)
            note("\(device.name) exchanged: \(report.summary)")
        } catch let error as SyncError {
            note(
                "\(device.name) exchanged: \(error.code) \(error.serviceError.map { "\($0)" } ?? "")"
            )
            if error.isOfStore, !device.isCrashed, !isFullDisk(error, index) {
                exchanging.remove(index)
                throw failure("A store failed in an exchange", ["\(device.name): \(error)"])
            }
            if error.code == .suspended, !isFullDisk(index), generator.chance(0.5) {
                try await resume(index)
            }
        }
        exchanging.remove(index)
        try checkClock(index)
        if device.isCrashed, depth == 0 { try await restart(index) }
        if depth == 0 { try await restartCrashed() }
    }

    /// Takes the application's decision about a lost zone.
    func resume(_ index: Int) async throws {
        let decision: ZoneLossDecision = generator.chance(0.7) ? .reupload : .erase
        do {
            if decision == .erase { devices[home(of: index)].hasErased = true }
            try await devices[index].engine.resume(after: decision)
            note("\(SimulatedDevice.name(index)) resumes: \(decision)")
        } catch {
            guard devices[index].isCrashed else { throw error }
        }
    }

    func retryParked(_ index: Int) async throws {
        guard !devices[index].isCrashed else { return }
        do {
            let count = try await devices[index].engine.retryParked()
            if count > 0 { note("\(SimulatedDevice.name(index)) retries \(count) parked") }
        } catch {
            guard devices[index].isCrashed else { throw error }
            try await restart(index)
        }
    }

    /// Starts a crashed device again from what it had stored, which has to be whole.
    func restart(_ index: Int) async throws {
        try await reopen(index)
        note("\(SimulatedDevice.name(index)) starts again")
        try check(index)
    }

    /// Opens a device's store again, and waits for what it does by itself.
    func reopen(
        _ index: Int, _ schema: SimulatedSchema? = nil, selection: SimulatedSelection? = nil,
        zone: ZoneID? = nil
    ) async throws {
        try devices[index].reopen(schema, selection: selection, zone: zone)
        await devices[index].store.waitForSchemaWork()
    }

    func restartCrashed() async throws {
        for index in devices.indices
        where devices[index].isCrashed && !exchanging.contains(index) {
            try await restart(index)
        }
    }

    private func goWrong(_ action: SimulationAction, _ index: Int) async throws {
        switch action {
        case .crashInEdit(let commits):
            devices[index].crashBeforeCommit(after: commits)
            try await edit(index)
            count(.crashBeforeCommit)
        case .crashInExchange(let commits):
            devices[index].crashBeforeCommit(after: commits)
            try await exchange(index)
            if !devices[index].isCrashed { devices[index].store.setCommitFault(nil) }
            count(.crashBeforeCommit)
        case .reopen:
            try await restart(index)
            count(.reopen)
        case .jumpClock(let skew):
            try passClock(index)
            devices[index].clock.jump(to: skew)
            note("\(SimulatedDevice.name(index))'s clock jumps to \(skew)")
            count(skew >= SimulationScript.farMilliseconds ? .clockFarAhead : .clockJump)
        case .goOffline(let steps):
            devices[index].offlineUntil = step + steps
            note("\(SimulatedDevice.name(index)) is offline for long")
            count(.longOffline)
        default: preconditionFailure("\(action) is no trouble of a device.")
        }
    }

    private func inject(_ fault: InjectedFault, _ index: Int) {
        // A store belongs to the user that it first met; only then can another one be in the way.
        guard fault.kind != .accountSwitch || devices[home(of: index)].isBound else { return }
        devices[index].service.inject(fault.scripted)
        note("\(SimulatedDevice.name(index)) will meet \(fault.kind.rawValue)")
    }

    // MARK: The service

    func foreignEdit(_ fault: SimulationFault) {
        var edit = ForeignEdit(pool, &generator)
        if setting.events.contains(.unknownType) { edit.addUnknownTypes(&generator) }
        perform(edit, fault)
    }

    func perform(_ edit: ForeignEdit, _ fault: SimulationFault) {
        do {
            switch edit.change {
            case .remove:
                try cloud.remove(edit.recordName, in: Self.zone)
            case .write(let type, let fields):
                try cloud.write(edit.recordName, type: type, fields: fields, in: Self.zone)
                for (name, value) in fields {
                    if case .unknown = value { count(.unknownType) }
                    foreignValues["\(edit.recordName).\(name)", default: []].insert(value)
                }
            }
            count(fault)
            note("somebody else: \(edit.recordName) \(edit.change)")
        } catch {
            // There is no such zone or record, or the record may not go.
            note("somebody else: \(edit.recordName) refused, \(error)")
        }
    }

    private func trouble(_ action: SimulationAction) {
        switch action {
        case .deleteZone:
            cloud.endZone(Self.zone, as: .deleted)
            count(.zoneDeletedByClient)
            note("another client deletes the zone")
        case .forgetTombstones:
            cloud.forgetTombstones(of: Self.zone)
            count(.tombstoneFloor)
            note("the service forgets tombstones")
        case .expireTokens:
            cloud.expireTokens(of: Self.zone)
            cloud.expireDatabaseTokens()
            count(.tokensExpire)
            note("all tokens expire")
        case .backUp:
            backup = cloud.snapshot()
            note("the service is backed up")
        case .wipe:
            wasRestored = true
            cloud.wipe()
            count(.wipe)
            note("the service loses everything")
        case .restore:
            guard let backup else { return note("the service has no backup") }
            wasRestored = true
            cloud.restore(to: backup)
            count(.restore)
            note("the service is put back to its backup")
        default: preconditionFailure("\(action) is no trouble of the service.")
        }
    }
}

extension SyncEngine {
    /// What comes of a round.
    func exchanged() async -> Result<SyncReport, any Error> {
        do {
            return .success(try await sync())
        } catch {
            return .failure(error)
        }
    }
}

extension SyncReport {
    var summary: String {
        "\(pulledRecords) pulled, \(pushedRecords) pushed, \(conflicts) conflicts, "
            + "\(parkedRecords) parked"
    }
}
