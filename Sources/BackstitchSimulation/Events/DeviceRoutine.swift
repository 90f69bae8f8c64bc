import Backstitch
import BackstitchStore
import BackstitchTesting

/// What devices do all the time: they edit, exchange, end, and start again.
struct DeviceRoutine {
    let devices: SimulatedDevices
    let choices: StepChoices
    let story: SimulationStory
    let checks: StoreChecks

    /// A transaction of the application.
    func edit(_ index: Int, isNested: Bool = false) async throws {
        guard !devices[index].isCrashed else { return }
        let edit = choices.edit(devices[index].schema, files: try await files(for: index))
        do {
            let done = try await devices[index].store.write { try edit.perform($0) }
            story.note("\(devices[index].name) edits: \(done.joined(separator: ", "))")
        } catch let error as StoreError where error.code == .notUnique {
            story.note("\(devices[index].name) can't edit: a value is there")
        } catch let error as StoreError where error.code == .assetMissing {
            // A file that was added before was collected.
            let assets = devices[index].store.assets
            guard edit.files.contains(where: { (try? assets.isHere($0)) != true }) else {
                throw story.failure("\(devices[index].name) refuses a file that it has")
            }
            story.note("\(devices[index].name) can't edit: a file is gone")
        } catch let error where isFullDisk(error, index) {
            story.note("\(devices[index].name) can't edit: \(error)")
        } catch {
            story.note("\(devices[index].name) can't edit: \(error)")
            guard devices[index].isCrashed else { throw error }
        }
        try checks.checkClock(index)
        if devices[index].isCrashed, !isNested { try await restart(index) }
    }

    /// Files for records: new ones, and those that were added before.
    func files(for index: Int) async throws -> [Asset] {
        guard devices[index].schema == .files else { return [] }
        let files = try await addFiles(index, count: choices.generator.below(3))
        defer { devices[index].home.added = [] }
        return files + devices[index].home.added
    }

    /// Adds files that no record holds; fewer if the disk is full or the device crashes.
    func addFiles(_ index: Int, count: Int) async throws -> [Asset] {
        var added: [Asset] = []
        for _ in 0..<count {
            let bytes = SimulatedContent.bytes(choices.generator.below(SimulatedContent.count))
            let middle = choices.generator.below(bytes.count + 1)
            do {
                added.append(
                    try await devices[index].store.assets.add { file in
                        try file.write(Array(bytes[..<middle]))
                        try file.write(Array(bytes[middle...]))
                    })
            } catch let error where isFullDisk(error, index) {
                story.note("\(devices[index].name) can't add a file: \(error)")
            } catch {
                guard devices[index].isCrashed else { throw error }
                break
            }
        }
        return added
    }

    /// A sync round.
    func exchange(_ index: Int, depth: Int = 0) async throws {
        guard devices.mayExchange(index) else { return }
        devices.exchanging.insert(index)
        story.result.rounds += 1
        let device = devices[index]
        let outcome = await device.engine.exchanged()
        try await endExchange(of: device, outcome, depth: depth)
    }

    /// Takes what came of a round that a device ran.
    func endExchange(
        of device: SimulatedDevice, _ outcome: Result<SyncReport, any Error>, depth: Int = 0
    ) async throws {
        let index = device.index
        do {
            let report = try outcome.get()
            devices[index].home.isBound = true
            try endReset(index)
            story.note("\(device.name) exchanged: \(report.summary)")
        } catch let error as SyncError {
            story.note(
                "\(device.name) exchanged: \(error.code) \(error.serviceError.map { "\($0)" } ?? "")"
            )
            if error.isOfStore, !device.isCrashed, !isFullDisk(error, index) {
                devices.exchanging.remove(index)
                throw story.failure("A store failed in an exchange", ["\(device.name): \(error)"])
            }
            if error.code == .suspended, !isFullDisk(index), choices.generator.chance(0.5) {
                try await resume(index)
            }
        }
        devices.exchanging.remove(index)
        try checks.checkClock(index)
        if device.isCrashed, depth == 0 { try await restart(index) }
        if depth == 0 { try await restartCrashed() }
    }

    /// Takes the application's decision about a lost zone.
    func resume(_ index: Int) async throws {
        let decision: SyncConfiguration.ZoneLossDecision =
            choices.generator.chance(0.7) ? .reupload : .erase
        do {
            if decision == .erase { devices[index].home.hasErased = true }
            try await devices[index].engine.resume(after: decision)
            story.note("\(devices[index].name) resumes: \(decision)")
        } catch {
            guard devices[index].isCrashed else { throw error }
        }
    }

    func retryParked(_ index: Int) async throws {
        guard !devices[index].isCrashed else { return }
        do {
            let count = try await devices[index].engine.retryParked()
            if count > 0 { story.note("\(devices[index].name) retries \(count) parked") }
        } catch {
            guard devices[index].isCrashed else { throw error }
            try await restart(index)
        }
    }

    /// Starts a crashed device again from what it had stored, which has to be whole.
    func restart(_ index: Int) async throws {
        try await reopen(index)
        story.note("\(devices[index].name) starts again")
        try checks.check(index)
    }

    /// Opens a device's store again, and waits for what it does by itself.
    func reopen(
        _ index: Int, _ schema: SimulatedSchema? = nil, selection: SimulatedSelection? = nil,
        zone: ZoneID? = nil, migrations: Int? = nil
    ) async throws {
        try devices[index].reopen(
            schema, selection: selection, zone: zone, migrations: migrations)
        await BackgroundSchemaWork(devices[index].store).wait()
    }

    func restartCrashed() async throws {
        for index in devices.indices
        where devices[index].isCrashed && !devices.exchanging.contains(index) {
            try await restart(index)
        }
    }

    // MARK: Trouble

    func crashInEdit(_ index: Int, after commits: Int) async throws {
        devices[index].crashBeforeCommit(after: commits)
        try await edit(index)
        story.count(.crashBeforeCommit)
    }

    func crashInExchange(_ index: Int, after commits: Int) async throws {
        devices[index].crashBeforeCommit(after: commits)
        try await exchange(index)
        if !devices[index].isCrashed { devices[index].store.setCommitFault(nil) }
        story.count(.crashBeforeCommit)
    }

    func jumpClock(_ index: Int, to skew: Int64) throws {
        try checks.passClock(index)
        devices[index].home.clock.jump(to: skew)
        // By the new time, receipts may have ended.
        devices[index].home.ledger.forget()
        story.note("\(devices[index].name)'s clock jumps to \(skew)")
        story.count(skew >= SimulationScript.farMilliseconds ? .clockFarAhead : .clockJump)
    }

    func goOffline(_ index: Int, steps: Int) {
        devices[index].offlineUntil = story.step + steps
        story.note("\(devices[index].name) is offline for long")
        story.count(.longOffline)
    }

    /// Has the device's connection meet a fault.
    func inject(_ fault: InjectedFault, _ index: Int) {
        // A store belongs to the user that it first met; only then can another one be in the way.
        guard fault.kind != .accountSwitch || devices[index].home.isBound else { return }
        devices[index].service.inject(fault.scripted)
        story.note("\(devices[index].name) will meet \(fault.kind.rawValue)")
    }

    // MARK: What is expected

    /// Ends the leniency towards a device that began anew, once a round ended well.
    func endReset(_ index: Int) throws {
        guard devices[index].home.isReset else { return }
        try checks.check(index)
        devices[index].home.isReset = false
    }

    /// Whether a device's disk is full, or about to be.
    func isFullDisk(_ index: Int) -> Bool { devices[index].home.disk.isFilling }

    /// Whether an error is what a full disk gives.
    func isFullDisk(_ error: any Error, _ index: Int) -> Bool {
        guard isFullDisk(index) else { return false }
        return (error as? StoreError)?.code == .full || (error as? SyncError)?.code == .storeFull
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

extension SyncError {
    /// Whether the store failed, for whatever reason.
    var isOfStore: Bool { code == .store || code == .storeFull }
}
