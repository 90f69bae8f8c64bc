import Backstitch
import BackstitchStore
import BackstitchTesting

/// Checks everything once the devices have settled.
struct EndChecks {
    let devices: SimulatedDevices
    let service: ServiceEvents
    let setting: SimulationSetting
    let story: SimulationStory
    let checks: StoreChecks

    /// Checks everything once the devices have settled.
    func run() async throws {
        guard service.cloud.violations.isEmpty else {
            throw story.failure("The service contradicts itself", service.cloud.violations)
        }
        let records = service.cloud.records(in: SimulatedZone.usual)
        var digest: UInt64 = 0
        var written = service.foreignValues
        var accounts: [Int: LogAccount] = [:]
        for index in devices.owners {
            let account = try checks.check(index)
            accounts[index] = account
            guard try await devices[index].store.rebuild().isIdentical else {
                throw story.failure(
                    "The tables of \(devices[index].name) are not what the log says", [])
            }
            let dirty = account.dirty
            guard dirty.isEmpty else {
                throw story.failure(
                    "\(devices[index].name) has unsynced records", dirty.map(\.recordName))
            }
            let mayGoBack = checks.mayGoBack
            let notes = try devices[index].store.read {
                try NoteRules($0.reader, account).leftovers(mayGoBack: mayGoBack)
            }
            guard notes.isEmpty else {
                throw story.failure("\(devices[index].name) has settled and keeps notes", notes)
            }
            try compare(account, records, devices[index].name, devices[index].store)
            guard account.sharedValues.isEmpty else {
                throw story.failure("Records share a unique value", account.sharedValues)
            }
            try checks.checkMigrations(index)
            written.merge(account.written) { $0.union($1) }
            digest = digest &* 31 &+ account.digest
            story.result.operations += account.localOperations
            story.result.conflicts += account.conflicts
            story.result.duplicates += account.duplicates
        }
        for record in records {
            digest = digest &* 31 &+ (UInt64(record.changeTag, radix: 36) ?? 0)
        }
        story.result.digest = digest
        try checkOrigins(records, written)
        try await checkFreshDevice(records)
        if setting.fileService != nil { try await checkFiles(accounts) }
    }

    /// Files need a device with a disk, and time for receipts to end.
    private func checkFiles(_ accounts: [Int: LogAccount]) async throws {
        let place = devices.folder + "/fresh"
        let store = try Store(
            at: place, schema: setting.newestSchema.schema,
            configuration: StoreConfiguration(
                durability: .relaxed, bytesMax: 1 << 26, clock: devices[0].home.clock))
        defer { store.close() }
        let engine = SyncEngine(
            store: store, service: service.cloud.connection(device: "fresh with files"),
            configuration: SyncConfiguration(
                zoneName: SimulatedZone.usual.zoneName, syncOnSave: false))
        _ = try await engine.sync()
        devices.passTime(milliseconds: 3_600_000)
        try await FileChecks(devices: devices, cloud: service.cloud, story: story)
            .checkEnd(fresh: store, accounts)
        withExtendedLifetime(engine) {}
    }

    private func compare(
        _ account: LogAccount, _ records: [ServiceRecord], _ name: String, _ store: Store
    ) throws {
        let catalog = store.catalogSnapshot
        var differences: [String] = []
        var differing: [String] = []
        var here: [String: RecordAccount] = [:]
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
            throw story.failure(
                "\(name) has other records than the service",
                differences + (try checks.trace(differing, store)))
        }
    }

    /// Every value on the service was written by a device or by another client.
    private func checkOrigins(
        _ records: [ServiceRecord], _ written: [String: Set<ServiceValue>]
    ) throws {
        let catalogs = devices.all.map(\.store.catalogSnapshot)
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
                    throw story.failure(
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
            store: store, service: service.cloud.connection(device: "fresh"),
            configuration: SyncConfiguration(
                zoneName: SimulatedZone.usual.zoneName, conflictPolicy: setting.policy,
                conflictResolver: { try SimulatedResolver.decide($0) }, syncOnSave: false))
        _ = try await engine.sync()
        let account = try checks.account(of: store)
        guard account.problems.isEmpty else {
            throw story.failure("The log of a fresh device does not add up", account.problems)
        }
        try compare(account, records, "A fresh device", store)
        guard try store.verify().isConsistent else {
            throw story.failure("The store of a fresh device is not consistent", [])
        }
    }
}
