import Backstitch
import BackstitchStore

extension SimulationWorld {
    /// One thing that happens.
    func takeStep() async throws {
        clock.advance(milliseconds: Int64(1 + generator.below(60_000)))
        let index = generator.below(devices.count)
        switch generator.below(100) {
        case 0..<31: try await edit(index)
        case 31..<65: try await exchange(index)
        case 65..<70: if !setting.isQuiet { try await goWrong(index) }
        case 70..<84: if !setting.isQuiet { injectFault(index) }
        case 84..<88: foreignEdit(.foreignEdit)
        case 88..<90: try check(index)
        case 90..<92: try await retryParked(index)
        case 92..<94: try await compact(index)
        default: if !setting.isQuiet { serverTrouble() }
        }
        try throwPending()
    }

    // MARK: Devices

    /// A transaction of the application.
    func edit(_ index: Int, isNested: Bool = false) async throws {
        guard !devices[index].isCrashed else { return }
        let edit = LocalEdit(seed: generator.next(), pool: pool, mayBeLarge: setting.mayBeLarge)
        do {
            let (used, done) = try await devices[index].store.write { try edit.perform($0) }
            pool = used
            note("\(devices[index].name) edits: \(done.joined(separator: ", "))")
        } catch {
            note("\(devices[index].name) can't edit: \(error)")
            guard devices[index].isCrashed else { throw error }
        }
        if options.bug == .acknowledgesNewerEdits { try await acknowledgeFalsely(index) }
        if devices[index].isCrashed, !isNested { try await restart(index) }
    }

    /// A sync round.
    func exchange(_ index: Int, depth: Int = 0) async throws {
        guard !exchanging.contains(index), !devices[index].isCrashed,
            devices[index].offlineUntil <= step
        else { return }
        exchanging.insert(index)
        result.rounds += 1
        let device = devices[index]
        do {
            let report = try await device.engine.sync()
            devices[index].isBound = true
            note("\(device.name) exchanged: \(report.summary)")
        } catch let error as SyncError {
            note(
                "\(device.name) exchanged: \(error.code) \(error.serviceError.map { "\($0)" } ?? "")"
            )
            if error.code == .store, !device.isCrashed {
                exchanging.remove(index)
                throw failure("A store failed in an exchange", ["\(device.name): \(error)"])
            }
            if error.code == .suspended, generator.chance(0.5) { try await resume(index) }
        }
        exchanging.remove(index)
        if device.isCrashed, depth == 0 { try await restart(index) }
        if depth == 0 { try await restartCrashed() }
    }

    /// Takes the application's decision about a lost zone.
    func resume(_ index: Int) async throws {
        let decision: ZoneLossDecision = generator.chance(0.7) ? .reupload : .erase
        do {
            try await devices[index].engine.resume(after: decision)
            note("\(devices[index].name) resumes: \(decision)")
        } catch {
            guard devices[index].isCrashed else { throw error }
        }
    }

    func retryParked(_ index: Int) async throws {
        guard !devices[index].isCrashed else { return }
        do {
            let count = try await devices[index].engine.retryParked()
            if count > 0 { note("\(devices[index].name) retries \(count) parked") }
        } catch {
            guard devices[index].isCrashed else { throw error }
            try await restart(index)
        }
    }

    /// Starts a crashed device again from what it had stored, which has to be whole.
    func restart(_ index: Int) async throws {
        try devices[index].reopen()
        note("\(devices[index].name) starts again")
        try check(index)
    }

    private func restartCrashed() async throws {
        for index in devices.indices
        where devices[index].isCrashed && !exchanging.contains(index) {
            try await restart(index)
        }
    }

    private func goWrong(_ index: Int) async throws {
        let fault = generator.pick(
            [
                SimulationFault.crashBeforeCommit, .crashBeforeCommit, .reopen, .clockJump,
                .longOffline,
            ])
        switch fault {
        case .crashBeforeCommit:
            devices[index].crashBeforeCommit(after: generator.below(5))
            if generator.chance(0.3) {
                try await edit(index)
            } else {
                try await exchange(index)
                if !devices[index].isCrashed { devices[index].store.setCommitFault(nil) }
            }
        case .reopen: try await restart(index)
        case .clockJump:
            let skew = Int64(generator.below(400_000_000)) - 200_000_000
            devices[index].clock.jump(to: skew)
            note("\(devices[index].name)'s clock jumps to \(skew)")
        default:
            devices[index].offlineUntil = step + 15
            note("\(devices[index].name) is offline for long")
        }
        count(fault)
    }

    private func injectFault(_ index: Int) {
        let scarce = setting.faults.filter(SimulationSetting.scarceFaults.contains)
        let kind = generator.pick(setting.faults + scarce + scarce)
        // A store belongs to the user that it first met; only then can another one be in the way.
        guard kind != .accountSwitch || devices[index].isBound else { return }
        var fault = ScriptedFault(kind, lateBy: generator.below(4))
        // Some need a request of a certain kind, or a conflict, and wait for one.
        if SimulationSetting.rareFaults.contains(kind) { fault.duration = .requests(40) }
        if kind.requestCode != nil, generator.chance(0.3) { fault.skip = generator.below(4) }
        if kind.rawValue.hasSuffix("RetryAfter") { fault.retryAfterSeconds = 5 }
        devices[index].service.inject(fault)
        note("\(devices[index].name) will meet \(kind.rawValue)")
    }

    // MARK: The service

    func foreignEdit(_ fault: SimulationFault) {
        perform(ForeignEdit(&pool, &generator), fault)
    }

    func perform(_ edit: ForeignEdit, _ fault: SimulationFault) {
        do {
            switch edit.change {
            case .remove:
                try cloud.remove(edit.recordName, in: Self.zone)
            case .write(let type, let fields):
                try cloud.write(edit.recordName, type: type, fields: fields, in: Self.zone)
                for (name, value) in fields {
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

    private func serverTrouble() {
        if setting.mayRestore, generator.chance(0.6) { return restore() }
        if setting.mayLoseZone, generator.chance(0.4) {
            cloud.endZone(Self.zone, as: .deleted)
            count(.zoneDeletedByClient)
            note("another client deletes the zone")
        } else if generator.chance(0.5) {
            cloud.forgetTombstones(of: Self.zone)
            count(.tombstoneFloor)
            note("the service forgets tombstones")
        } else {
            cloud.expireTokens(of: Self.zone)
            cloud.expireDatabaseTokens()
            count(.tokensExpire)
            note("all tokens expire")
        }
    }

    private func restore() {
        guard let kept = backup, generator.chance(0.6) else {
            backup = cloud.snapshot()
            return note("the service is backed up")
        }
        wasRestored = true
        if generator.chance(0.45) {
            cloud.wipe()
            count(.wipe)
            note("the service loses everything")
        } else {
            cloud.restore(to: kept)
            count(.restore)
            note("the service is put back to its backup")
        }
    }

    /// A planted bug: the newest local edit is said to be on the service.
    private func acknowledgeFalsely(_ index: Int) async throws {
        try await devices[index].store.writeContext { context in
            var last: (EntityNumber, RecordKey, UInt64)?
            try context.reader.visitOperations(from: 1) { operation in
                if operation.origin == .local, operation.kind.changesContent {
                    last = (operation.entity, try operation.key, operation.sequence)
                }
                return true
            }
            if let (entity, key, sequence) = last {
                try context.settle(entity, key, through: sequence)
            }
        }
    }
}

extension SyncReport {
    var summary: String {
        "\(pulledRecords) pulled, \(pushedRecords) pushed, \(conflicts) conflicts, "
            + "\(parkedRecords) parked"
    }
}
