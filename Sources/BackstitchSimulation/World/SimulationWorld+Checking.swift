import Backstitch
import BackstitchStore
import BackstitchTesting
import Threading

extension SimulationWorld {
    /// Ends all trouble, and lets the devices exchange until nothing changes any more.
    func settle() async throws {
        note("all faults end")
        try await deliverReplies(all: true)
        for index in devices.indices {
            devices[index].service.beforeRequest = nil
            devices[index].service.beforeReply = nil
            devices[index].service.endFaults()
            devices[index].store.setCommitFault(nil)
            devices[index].offlineUntil = 0
        }
        cloud.performLateRequests()
        for index in devices.indices where devices[index].selection != .all {
            try await reopen(index, selection: .all)
        }
        try await moveBack()
        var retries = 0
        for round in 1...Self.settlingRoundsMax {
            step += 1
            var isChanged = false
            for index in devices.indices {
                clock.advance(milliseconds: 60_000)
                isChanged = try await exchangeOnce(index) || isChanged
            }
            if !isChanged {
                try checkNothingWaits()
                let parked = try await release(round: retries)
                if parked == 0 { return }
                retries += 1
            }
            if round == Self.settlingRoundsMax {
                throw failure("The devices don't settle", try unsettled())
            }
        }
    }

    /// Once nothing changes any more, only parked records are unsynced: they never keep others.
    private func checkNothingWaits() throws {
        for device in devices where try device.engine.pending().pendingRecords > 0 {
            throw failure("\(device.name) leaves records waiting", try unsettled())
        }
    }

    static var settlingRoundsMax: Int { 60 }

    private func unsettled() throws -> [String] {
        var lines: [String] = []
        for device in devices {
            for entry in try account(of: device).dirty.sorted(by: {
                $0.recordName < $1.recordName
            }) {
                lines.append("\(device.name): \(entry.recordName) waits")
                lines += try trace([entry.recordName], device.store)
            }
        }
        return lines + (cloud.requests.last { $0.kind == .modify }.map { ["\($0)"] } ?? [])
    }

    private func exchangeOnce(_ index: Int) async throws -> Bool {
        result.rounds += 1
        do {
            let report = try await devices[index].engine.sync()
            try endReset(index)
            note("\(SimulatedDevice.name(index)) exchanged: \(report.summary)")
            return report.pulledRecords + report.pushedRecords + report.conflicts
                + report.parkedRecords > 0 || !report.changes.isEmpty
        } catch let error as SyncError {
            note("\(SimulatedDevice.name(index)) exchanged: \(error)")
            if error.code == .suspended { try await resume(index) }
            if error.isOfStore {
                throw failure("A store failed in an exchange", ["\(error)"])
            }
            // What it has is exchanged by another process.
            return error.code != .standby
        }
    }

    /// Tries parked records again, and gives up those that stay parked.
    private func release(round: Int) async throws -> Int {
        var count = 0
        for index in devices.indices {
            let name = SimulatedDevice.name(index)
            for record in try devices[index].engine.parked() {
                count += 1
                if round % 2 == 0 {
                    note("\(name) retries \(record.record.name): \(record.reason)")
                    try await devices[index].engine.retryParked([record])
                } else {
                    note("\(name) discards \(record.record.name): \(record.reason)")
                    try await devices[index].engine.discardParked([record])
                }
            }
        }
        return count
    }

    // MARK: Checks

    /// Checks one store as it stands.
    @discardableResult
    func check(_ index: Int) throws -> LogAccount {
        let device = devices[index]
        let report = try Self.verify(device.store)
        guard report.isConsistent else {
            throw failure("The store of \(device.name) is not consistent", report.problems)
        }
        guard device.connection.violations.isEmpty else {
            throw failure("A feed is read backwards", device.connection.violations)
        }
        guard device.watch.violations.isEmpty else {
            throw failure("The engines of \(device.name) meet", device.watch.violations)
        }
        let account = try checkedAccount(of: device)
        let counts = try device.engine.pending()
        let pending = account.dirty.filter { !$0.isParked }
        let counted = counts.pendingRecords + counts.heldBackRecords + counts.unexaminedRecords
        guard counted == pending.count else {
            throw failure(
                "\(device.name) counts \(counts.pendingRecords) pending records and "
                    + "\(counts.heldBackRecords) held back",
                pending.map { "\($0.recordName) waits" } + ["the log has \(pending.count)"])
        }
        let parked = account.entries.values.filter(\.isParked).count
        guard counts.parkedRecords == parked else {
            throw failure(
                "\(device.name) counts \(counts.parkedRecords) parked records",
                ["the log has \(parked)"])
        }
        guard counts.conflicts == account.conflicts else {
            throw failure(
                "The journal of \(device.name) has \(counts.conflicts) entries",
                ["the log has \(account.conflicts)"])
        }
        // The log only grows: the next account goes on from here.
        devices[home(of: index)].account = account
        return account
    }

    /// The account of a device's log, which adds up.
    func checkedAccount(of device: SimulatedDevice) throws -> LogAccount {
        let account = try account(of: device)
        guard account.problems.isEmpty else {
            throw failure(
                "The log of \(device.name) does not add up",
                try account.problems
                    + trace(Array(account.doubtful.prefix(2)), device.store))
        }
        return account
    }

    /// Temporary places that nobody verifies in now; to make one costs more than a small store.
    private static let places = Locked<[VerificationPlace]>([])

    private static func verify(_ store: Store) throws -> VerificationReport {
        let known = places.withLock { $0.popLast() }
        let place = try known ?? VerificationPlace(StoreConfiguration())
        defer { places.withLock { $0.append(place) } }
        return try store.verify(in: place)
    }

    /// The operations of records, to explain a failure.
    private func trace(_ recordNames: [String], _ store: Store) throws -> [String] {
        try store.read { transaction in
            try recordNames.flatMap { try LogTrace.lines(of: $0, transaction.reader) }
        }
    }

    func account(of device: SimulatedDevice) throws -> LogAccount {
        var expectation = LogAccount.Expectation()
        let home = devices[home(of: device.index)]
        let (cloud, name) = (cloud, home.name)
        expectation.deletePolicy = setting.deletePolicy(of: home.index)
        expectation.mayErase = home.hasErased || home.isReset
        expectation.mayRevert = false
        if !home.hasPreferredLocal {
            expectation.policy = setting.policy(of: home.index)
            expectation.isOwn = { cloud.writer(tagged: $0) == name }
            expectation.isFirst = { cloud.isFirst(tagged: $0) }
        }
        return try account(of: device.store, after: home.account, expectation)
    }

    private func account(
        of store: Store, after earlier: LogAccount? = nil,
        _ expectation: LogAccount.Expectation = LogAccount.Expectation()
    ) throws -> LogAccount {
        let cloud = cloud
        let mayGoBack = wasRestored || setting.faults.contains(.staleRead)
        return try store.read { transaction in
            try LogAccount(
                transaction.reader, after: earlier, mayGoBack: mayGoBack, expectation: expectation
            ) { cloud.version(tagged: $0) }
        }
    }

    /// Checks everything once the devices have settled.
    func checkEnd() async throws {
        let records = cloud.records(in: Self.zone)
        var digest: UInt64 = 0
        var written = foreignValues
        for index in devices.indices where home(of: index) == index {
            let account = try check(index)
            guard try await devices[index].store.rebuild().isIdentical else {
                throw failure("The tables of \(devices[index].name) are not what the log says", [])
            }
            let dirty = account.dirty
            guard dirty.isEmpty else {
                throw failure(
                    "\(devices[index].name) has unsynced records", dirty.map(\.recordName))
            }
            try compare(account, records, devices[index].name, devices[index].store)
            guard account.sharedValues.isEmpty else {
                throw failure("Records share a unique value", account.sharedValues)
            }
            written.merge(account.written) { $0.union($1) }
            digest = digest &* 31 &+ account.digest
            result.operations += account.localOperations
            result.conflicts += account.conflicts
            result.duplicates += account.duplicates
        }
        for record in records {
            digest = digest &* 31 &+ (UInt64(record.changeTag, radix: 36) ?? 0)
        }
        result.digest = digest
        try checkOrigins(records, written)
        try await checkFreshDevice(records)
    }

    private func compare(
        _ account: LogAccount, _ records: [ServiceRecord], _ name: String, _ store: Store
    ) throws {
        let catalog = store.catalogSnapshot
        var differences: [String] = []
        var differing: [String] = []
        var here: [String: LogAccount.Entry] = [:]
        for entry in account.entries.values where entry.fields != nil || entry.isEvicted {
            here[entry.recordName] = entry
        }
        for record in records {
            let table = catalog.table(named: record.recordType)
            // What was taken off the device, or hidden by something that is to stay there.
            if let entry = here[record.recordName], entry.isEvicted || entry.staysHere {
                here[record.recordName] = nil
                continue
            }
            guard let entry = here.removeValue(forKey: record.recordName),
                let fields = entry.fields, let table, entry.entity == table.number
            else {
                differences.append("\(record.recordType) \(record.recordName) is missing")
                differing.append(record.recordName)
                continue
            }
            if let difference = WireForm.difference(
                WireForm.fields(fields, table), WireForm.fields(record, table),
                without: Set(entry.kept.compactMap { table.attribute($0)?.name }))
            {
                differences.append("\(record.recordName): \(difference)")
                differing.append(record.recordName)
            } else if entry.changeTag != record.changeTag {
                differences.append(
                    "\(record.recordName) has the tag \(entry.changeTag), on the service "
                        + record.changeTag)
            }
        }
        // What was made to stay on the device is nowhere else.
        let missing = here.values.filter { !$0.staysHere }
        for entry in missing.sorted(by: { $0.recordName < $1.recordName }) {
            differences.append("\(entry.recordName) is not on the service")
            differing.append(entry.recordName)
        }
        guard differences.isEmpty else {
            throw failure(
                "\(name) has other records than the service",
                differences + (try trace(differing, store)))
        }
    }

    /// Every value on the service was written by a device or by somebody else.
    private func checkOrigins(
        _ records: [ServiceRecord], _ written: [String: Set<ServiceValue>]
    ) throws {
        let catalogs = devices.map(\.store.catalogSnapshot)
        for record in records {
            let tables = catalogs.map { $0.table(named: record.recordType) }
            for (name, value) in record.fields where value != .null {
                let place = "\(record.recordName).\(name)"
                let known = written[place] ?? []
                // A type is known to those alone whose schema ever declared it.
                let isKnown =
                    known.contains(value)
                    || tables.contains { table in
                        let attribute = table?.attribute(named: name)
                        let canonical = WireForm.canonical(value, attribute)
                        return known.contains { WireForm.canonical($0, attribute) == canonical }
                    }
                guard isKnown else {
                    throw failure(
                        "A value on the service was written by nobody",
                        ["\(place)=\(value)"] + known.map { "written: \($0)" }.sorted())
                }
            }
        }
    }

    /// A device that starts with nothing gets the same records.
    private func checkFreshDevice(_ records: [ServiceRecord]) async throws {
        let store = try Store.inMemory(schema: setting.newestSchema.schema)
        defer { store.close() }
        let engine = SyncEngine(
            store: store, service: cloud.connection(device: "fresh"),
            configuration: SyncConfiguration(
                zoneName: Self.zone.zoneName, conflictPolicy: setting.policy,
                conflictResolver: { try SimulatedResolver.decide($0) }, syncOnSave: false))
        _ = try await engine.sync()
        let account = try account(of: store)
        guard account.problems.isEmpty else {
            throw failure("The log of a fresh device does not add up", account.problems)
        }
        try compare(account, records, "A fresh device", store)
        guard try Self.verify(store).isConsistent else {
            throw failure("The store of a fresh device is not consistent", [])
        }
    }
}
