import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchTesting

/// Checks a device's store and log at any moment of a run.
struct StoreChecks {
    let devices: SimulatedDevices
    let service: ServiceEvents
    let setting: SimulationSetting
    let story: SimulationStory

    /// Checks one store as it stands.
    @discardableResult
    func check(_ index: Int) throws -> LogAccount {
        let device = devices[index]
        let report = try device.store.verify()
        guard report.isConsistent else {
            throw story.failure("The store of \(device.name) is not consistent", report.problems)
        }
        guard device.connection.violations.isEmpty else {
            throw story.failure("A feed is read backwards", device.connection.violations)
        }
        guard device.home.watch.violations.isEmpty else {
            throw story.failure("The engines of \(device.name) meet", device.home.watch.violations)
        }
        let account = try checkedAccount(of: device)
        let counts = try device.engine.pending()
        let notes = try device.store.read { try NoteRules($0.reader, account).problems() }
        guard notes.isEmpty else {
            throw story.failure("\(device.name) has notes without a reason", notes)
        }
        let pending = account.dirty.filter { !$0.isParked }
        let counted = counts.pendingRecords + counts.heldBackRecords + counts.unexaminedRecords
        guard counted == pending.count else {
            throw story.failure(
                "\(device.name) counts \(counts.pendingRecords) pending records and "
                    + "\(counts.heldBackRecords) held back",
                pending.map { "\($0.recordName) waits" } + ["the log has \(pending.count)"])
        }
        let parked = account.entries.values.filter(\.isParked).count
        guard counts.parkedRecords == parked else {
            throw story.failure(
                "\(device.name) counts \(counts.parkedRecords) parked records",
                ["the log has \(parked)"])
        }
        guard counts.conflicts == account.conflicts else {
            throw story.failure(
                "The journal of \(device.name) has \(counts.conflicts) entries",
                ["the log has \(account.conflicts)"])
        }
        try FileChecks(devices: devices, cloud: service.cloud, story: story).check(index)
        // The log only grows: the next account goes on from here.
        device.home.account = account
        return account
    }

    /// The account of a device's log, which adds up.
    func checkedAccount(of device: SimulatedDevice) throws -> LogAccount {
        let account = try account(of: device)
        guard account.problems.isEmpty else {
            throw story.failure(
                "The log of \(device.name) does not add up",
                try account.problems
                    + trace(Array(account.doubtful.prefix(2)), device.store))
        }
        return account
    }

    /// The operations of records, to explain a failure.
    func trace(_ recordNames: [String], _ store: Store) throws -> [String] {
        try store.read { transaction in
            try recordNames.flatMap { try LogTrace.lines(of: $0, transaction.reader) }
        }
    }

    private func account(of device: SimulatedDevice) throws -> LogAccount {
        let (home, cloud) = (device.home, service.cloud)
        let name = home.name
        var expectation = LogAccount.Expectation()
        expectation.deletePolicy = setting.deletePolicy(of: home.index)
        expectation.mayErase = home.hasErased || home.isReset
        expectation.mayRevert = false
        if !mayLose { expectation.wasEnded = { cloud.wasEnded(tagged: $0) } }
        expectation.mayUndo = setting.events.contains(.undo) && setting.fileService != nil
        if !home.hasPreferredLocal {
            expectation.policy = setting.policy(of: home.index)
            expectation.isOwn = { cloud.writer(tagged: $0) == name }
            expectation.isFirst = { cloud.isFirst(tagged: $0) }
        }
        return try account(of: device.store, after: home.account, expectation)
    }

    /// Whether a device may take records for ended that nobody ended: because the service was put back to a
    /// backup and says so, because it answers from old states, or says of a record that it is unknown whose
    /// commit it is about to lose.
    private var mayLose: Bool {
        service.wasRestored || setting.faults.contains(.staleRead)
            || service.wasRolledBack && setting.faults.contains(.errorUnknownItem)
    }

    /// Whether the service was put back to an older state, or answers from old ones.
    var mayGoBack: Bool {
        service.wasRestored || service.wasRolledBack || setting.faults.contains(.staleRead)
    }

    /// The account of a log.
    func account(
        of store: Store, after earlier: LogAccount? = nil,
        _ expectation: LogAccount.Expectation = LogAccount.Expectation()
    ) throws -> LogAccount {
        let (cloud, mayGoBack) = (service.cloud, self.mayGoBack)
        return try store.read { transaction in
            try LogAccount(
                transaction.reader, after: earlier, mayGoBack: mayGoBack, expectation: expectation
            ) { cloud.version(tagged: $0) }
        }
    }

    /// What waits on the devices, and why.
    func unsettled() throws -> [String] {
        var lines: [String] = []
        for device in devices.all {
            for entry in try account(of: device).dirty.sorted(by: {
                $0.recordName < $1.recordName
            }) {
                lines.append("\(device.name): \(entry.recordName) waits")
                lines += try trace([entry.recordName], device.store)
            }
        }
        return lines + (service.cloud.requests.last { $0.kind == .modify }.map { ["\($0)"] } ?? [])
    }

    // MARK: Clocks

    /// - Throws: a failure if a store saw a data migration twice, or one in part.
    func checkMigrations(_ index: Int) throws {
        let problems = devices[index].home.migrations.problems
        guard problems.isEmpty else {
            throw story.failure("A data migration was not made once and whole", problems)
        }
    }

    /// Checks that what a device wrote last is not dated more than a minute ahead of its clock,
    /// whatever the clock was before.
    func checkClock(_ index: Int) throws {
        guard !devices[index].isCrashed else { return }
        let home = devices[index].home
        let wall = home.clock.milliseconds
        let last = try lastOperation(of: index)
        guard last.sequence > home.datedThrough else { return }
        home.datedThrough = last.sequence
        let milliseconds = LogicalClock.milliseconds(of: last.clock)
        guard milliseconds <= wall + 60_000 else {
            throw story.failure(
                "\(devices[index].name) dates what it writes ahead of its clock",
                ["operation \(last.sequence) is \(milliseconds - wall) ms ahead"])
        }
    }

    /// Lets go what a device wrote before its clock jumps.
    func passClock(_ index: Int) throws {
        guard !devices[index].isCrashed else { return }
        devices[index].home.datedThrough = try lastOperation(of: index).sequence
    }

    private func lastOperation(of index: Int) throws -> (sequence: UInt64, clock: UInt64) {
        try devices[index].store.read { transaction in
            let head = try transaction.reader.log.head
            return (head, try transaction.reader.log.withOperation(head, \.clock) ?? 0)
        }
    }
}
