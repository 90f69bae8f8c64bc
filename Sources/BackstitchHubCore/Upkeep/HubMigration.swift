import CloudKitWire

/// Brings a hub's rows from format 1, which had no partitions, into format 2.
///
/// They are read page by page and written to an empty storage, so that no hub is too large for the
/// memory. What is left out: entries of deleted zones that were still to be removed, addresses for
/// uploads that nobody used, and files that nothing refers to. All of it ends within the hour anyway, but
/// for the first, which nobody can see.
package struct HubMigration {
    /// The most entries, and bytes of values, that are written at once.
    private static let (pageEntries, pageBytes) = (1_000, 4 << 20)

    /// Rows of format 1 that nobody changes.
    private let source: any HubStorage
    /// An empty storage.
    private let target: any HubStorage
    /// Puts a file of format 1 where format 2 has it; false if it is not there.
    private let adopt: (HubFile) throws -> Bool
    /// Told how far it is; what it throws ends the migration.
    private let progress: (MigrationProgress) throws -> Void
    private var report = MigrationReport()
    /// How many entries of each table of format 1 were taken, and how many were there.
    private var (taken, there): ([UInt8: Int], [UInt8: Int]) = ([:], [:])

    package init(
        from source: any HubStorage, to target: any HubStorage,
        adopt: @escaping (HubFile) throws -> Bool,
        progress: @escaping (MigrationProgress) throws -> Void
    ) {
        (self.source, self.target) = (source, target)
        (self.adopt, self.progress) = (adopt, progress)
    }

    /// Migrates everything, and counts it afterwards.
    ///
    /// - Throws: A failure if entries are of no database, or are missing in the end; what was made is
    ///   then to be thrown away.
    package mutating func run() async throws -> MigrationReport {
        try count()
        let state = try await migrateState()
        for table in [HubKey.Table.realm, .apiToken, .user, .webToken, .serverKey, .pushToken]
            + [.userPushToken, .ledger, .ledgerTime, .signature]
        {
            try await copy(HubKey(format1: table), to: .global)
        }
        try await migrateSessionEnds()
        try await migrateDatabases(state)
        try await migrateUploads()
        try check()
        try progress(.init(stage: .checked, entries: report.entries, of: report.entries))
        return report
    }

    // MARK: Pages

    private typealias Entry = (key: HubKey, value: [UInt8])

    /// Entries of format 1 under a prefix, page by page.
    private func page(_ prefix: HubKey, after last: HubKey?) throws -> [Entry] {
        var (page, bytes) = ([Entry](), 0)
        try source.readNow { transaction in
            try unsafe transaction.scan(prefix, from: last) { key, value in
                let key = unsafe HubKey(bytes: key)
                guard key != last else { return true }
                unsafe page.append((key, Array(value)))
                bytes += value.count
                return page.count < Self.pageEntries && bytes < Self.pageBytes
            }
        }
        return page
    }

    /// Gives a closure all entries of format 1 under a prefix, page by page.
    private mutating func forEachPage(
        of prefix: HubKey, _ body: (inout Self, [Entry]) async throws -> Void
    ) async throws {
        var last: HubKey?
        while case let page = try self.page(prefix, after: last), !page.isEmpty {
            try await body(&self, page)
            last = page.last?.key
        }
    }

    /// Copies what is under a prefix.
    ///
    /// - Parameter dropped: How many bytes behind the table's are left out: the number of the database.
    private mutating func copy(
        _ prefix: HubKey, to partition: Partition, dropping dropped: Int = 0
    ) async throws {
        try await forEachPage(of: prefix) { migration, page in
            try await migration.write(
                page.map { entry in
                    let bytes = entry.key.bytes
                    return (
                        HubKey(partition, behind: bytes.prefix(1) + bytes.dropFirst(1 + dropped)),
                        entry.value
                    )
                }, to: partition, from: page)
        }
    }

    /// Writes entries, and counts the entries of format 1 that they were made of.
    private mutating func write(
        _ entries: [Entry], to partition: Partition, from page: [Entry]
    ) async throws {
        try await target.write(to: [partition]) { transaction in
            for entry in entries { try transaction.put(entry.key, entry.value) }
        }
        try note(page)
    }

    private mutating func note(_ page: [Entry]) throws {
        for entry in page { taken[entry.key.bytes[0], default: 0] += 1 }
        report.entries += page.count
        try progress(
            .init(
                stage: .copied, entries: report.entries,
                of: max(report.entries, there.values.reduce(0, +))))
    }

    // MARK: What the hub shares

    private mutating func count() throws {
        var there: [UInt8: Int] = [:]
        try source.readNow { transaction in
            for table in UInt8.min...UInt8.max {
                let prefix = unsafe withUnsafeBytes(of: table) { unsafe HubKey(bytes: $0) }
                try unsafe transaction.scan(prefix, from: nil) { _, _ in
                    there[table, default: 0] += 1
                    return true
                }
            }
        }
        self.there = there
        try progress(.init(stage: .counted, entries: 0, of: there.values.reduce(0, +)))
    }

    /// The state is as it was, so that clients' tokens count on.
    private mutating func migrateState() async throws -> StateRow {
        let entries = try page(HubKey(format1: .state), after: nil)
        guard let state = try entries.first.map({ try StateRow(stored: $0.value) }) else {
            throw HubError(.notFound, "There is no hub of format 1.")
        }
        try await write([(StateRow.key, state.body())], to: .global, from: entries)
        return state
    }

    /// Sessions go when their time is over; entries of all else are made anew.
    private mutating func migrateSessionEnds() async throws {
        let timeBytes = MemoryLayout<UInt64>.size
        try await forEachPage(of: HubKey(format1: .expiry)) { migration, page in
            let ends = page.filter {
                $0.key.bytes.dropFirst(1 + timeBytes).first == HubKey.Table.webToken.rawValue
            }
            try await migration.write(
                ends.map { (HubKey(.global, behind: $0.key.bytes), $0.value) }, to: .global,
                from: page)
        }
    }

    // MARK: Databases

    private mutating func migrateDatabases(_ state: StateRow) async throws {
        try await forEachPage(of: HubKey(format1: .databaseName)) { migration, page in
            for entry in page { try await migration.migrateDatabase(entry, state) }
        }
    }

    private struct OldDatabaseRow: HubRow {
        static let title = DatabaseRow.title

        let number: UInt32
        let sequence: UInt64

        init(json: JSONObject) throws(WireFormatError) {
            number = try json.number32("number")
            sequence = try json.number64("sequence")
        }

        func write(to json: inout JSONWriter) {}
    }

    private mutating func migrateDatabase(_ entry: Entry, _ state: StateRow) async throws {
        let old = try OldDatabaseRow(stored: entry.value)
        let partition = Partition(number: UInt64(old.number))
        let parts = entry.key.bytes.dropFirst(5).split(
            separator: 0, maxSplits: 1, omittingEmptySubsequences: false
        ).map { String(decoding: $0, as: UTF8.self) }
        guard entry.key.bytes.count > 5, parts.count == 2,
            let scope = WireDatabase(rawValue: parts[0])
        else { throw HubError(.damaged, "The hub's data is damaged: a database has no name.") }
        let realm = entry.key.bytes[1..<5].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        let name = DatabaseName(realm: realm, scope: scope, user: parts[1])
        for table in [HubKey.Table.databaseFeed, .subscription] {
            try await copy(
                HubKey(format1: table).adding(old.number), to: partition, dropping: 4)
        }
        var row = DatabaseRow(name, lastZone: state.lastZone)
        row.sequence = old.sequence
        let zones = HubKey(format1: .zone).adding(old.number)
        try await forEachPage(of: zones) { migration, page in
            for entry in page {
                row.bytes += try await migration.migrateZone(entry, to: partition)
            }
        }
        report.databases += 1
        let named = DatabaseNameRow(partition: partition).body()
        try await write([(DatabaseRow.key(partition), row.body())], to: partition, from: [])
        try await write([(name.key, named)], to: .global, from: [entry])
    }

    /// Migrates a zone with its records.
    ///
    /// - Returns: What it takes up.
    private mutating func migrateZone(_ entry: Entry, to partition: Partition) async throws -> Int64
    {
        var zone = try ZoneRow(stored: entry.value)
        zone.bytes = 0
        if !zone.isDeleted {
            for table in [HubKey.Table.feed, .link, .type, .tombstone] {
                try await copy(HubKey(format1: table).adding(zone.number), to: partition)
            }
            let records = HubKey(format1: .record).adding(zone.number)
            try await forEachPage(of: records) { migration, page in
                zone.bytes += try await migration.migrateRecords(
                    page, under: records, to: partition)
            }
        }
        try await write(
            [(ZoneRow.key(partition, zone.zoneName), zone.body())], to: partition, from: [entry])
        return zone.bytes
    }

    /// Migrates records with the files that they hold.
    ///
    /// - Returns: What they take up.
    private mutating func migrateRecords(
        _ page: [Entry], under prefix: HubKey, to partition: Partition
    ) async throws -> Int64 {
        var bytes: Int64 = 0
        var files: [HubFile: Int64] = [:]
        for entry in page {
            let name = String(
                decoding: entry.key.bytes.dropFirst(prefix.bytes.count), as: UTF8.self)
            let record = try unsafe entry.value.withUnsafeBytes {
                try unsafe StoredRecord(recordName: name, stored: $0)
            }
            bytes += try record.spaceBytes()
            guard record.hasAssets, !record.isDeleted else { continue }
            for checksum in try record.fields().assetChecksums {
                if let file = HubFile(partition, checksum) { files[file, default: 0] += 1 }
            }
        }
        for (file, count) in files { try await hold(file, references: count) }
        try await write(
            page.map { (HubKey(partition, behind: $0.key.bytes), $0.value) }, to: partition,
            from: page)
        report.records += page.count
        return bytes
    }

    // MARK: Files

    /// Notes that records of a database hold a file, or that one of its receipts proves it.
    private mutating func hold(_ file: HubFile, references: Int64) async throws {
        let old: AssetRow? = try source.readNow { transaction in
            try transaction.row(HubKey(format1: .asset).adding(file.checksum))
        }
        let key = AssetRow.key(file)
        let isNew = try await target.write(to: [file.partition]) { transaction in
            let known: AssetRow? = try transaction.row(key)
            var row = known ?? AssetRow()
            row.references += references
            row.keepUntil = max(row.keepUntil, old?.keepUntil ?? 0)
            try transaction.put(key, row)
            // Once is enough: it is the same time.
            if known == nil { try transaction.noteExpiry(of: key, at: row.keepUntil) }
            return known == nil
        }
        guard isNew else { return }
        report.files += 1
        if try !adopt(file) { report.missingFiles += 1 }
    }

    /// Migrates the receipts of files that no record holds yet.
    private mutating func migrateUploads() async throws {
        try await forEachPage(of: HubKey(format1: .upload)) { migration, page in
            let rows = try page.map { ($0.key, try UploadRow(stored: $0.value)) }
            let partitions = try migration.partitions(ofZones: Set(rows.map { $0.1.zone }))
            for (key, row) in rows {
                guard let partition = partitions[row.zone],
                    let file = row.checksum.flatMap({ HubFile(partition, $0) })
                else { continue }
                try await migration.hold(file, references: 0)
                let key = HubKey(partition, behind: key.bytes)
                try await migration.target.write(to: [partition]) { try $0.put(row, at: key) }
            }
            try migration.note(page)
        }
    }

    /// The partitions of zones that are there, by the numbers of the zones.
    private func partitions(ofZones numbers: Set<UInt32>) throws -> [UInt32: Partition] {
        var found: [UInt32: Partition] = [:]
        try source.readNow { transaction in
            try unsafe transaction.scan(HubKey(format1: .zone), from: nil) { key, value in
                let zone = try unsafe ZoneRow(stored: Array(value))
                if numbers.contains(zone.number), !zone.isDeleted {
                    let database = unsafe key[1..<5].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
                    found[zone.number] = Partition(number: database)
                }
                return found.count < numbers.count
            }
        }
        return found
    }

    // MARK: Counting

    /// Checks that every entry was taken or is one of those that are left out, and that what was written
    /// can be counted.
    private func check() throws {
        var left: [UInt8: Int] = [:]
        try source.readNow { transaction in
            try unsafe transaction.scan(HubKey(format1: .endedZone), from: nil) { key, _ in
                unsafe left[key[0], default: 0] += 1
                for table in [HubKey.Table.record, .feed, .link, .type, .tombstone] {
                    let prefix = unsafe HubKey(format1: table).adding(key.dropFirst())
                    try unsafe transaction.scan(prefix, from: nil) { _, _ in
                        left[table.rawValue, default: 0] += 1
                        return true
                    }
                }
                return true
            }
        }
        // They follow from the records, and are made anew.
        let followed = [HubKey.Table.asset, .ledgerTotal].map(\.rawValue)
        for (table, count) in there.sorted(by: { $0.key < $1.key })
        where !followed.contains(table)
            && taken[table, default: 0] + left[table, default: 0] != count
        {
            let taken = taken[table, default: 0]
            throw HubError(
                .damaged,
                "The hub's data is damaged: of \(count) entries of table \(table) \(taken) belong to a "
                    + "database. Nothing was changed; run 'backstitch doctor' with the version that "
                    + "wrote them, or restore a backup.")
        }
        try checkTarget()
    }

    /// Counts the rows that have to be as many as before, each by itself.
    private func checkTarget() throws {
        var found: [UInt8: Int] = [:]
        try target.readNow { transaction in
            // Two bytes of a prefix are enough to pass by the row of the format.
            for byte in UInt8.min...UInt8.max {
                let prefix = unsafe withUnsafeBytes(of: byte) { unsafe HubKey(bytes: $0) }
                try unsafe transaction.scan(prefix, from: nil) { key, _ in
                    if let table = unsafe HubKey(bytes: key).table {
                        found[table.rawValue, default: 0] += 1
                    }
                    return true
                }
            }
        }
        let same: [HubKey.Table] =
            [.state, .realm, .apiToken, .user, .webToken, .serverKey, .databaseName, .zone]
            + [.databaseFeed, .record, .feed, .link, .type, .tombstone, .subscription]
            + [.pushToken, .userPushToken, .ledger, .ledgerTime, .signature]
        for table in same where found[table.rawValue] != taken[table.rawValue] {
            throw HubError(
                .inaccessible,
                "Of \(taken[table.rawValue] ?? 0) entries of table \(table.rawValue) "
                    + "\(found[table.rawValue] ?? 0) were written. Nothing was changed; check the disk."
            )
        }
    }
}

/// How far a migration is.
package struct MigrationProgress: Hashable, Sendable {
    package enum Stage: Hashable, Sendable {
        /// The entries of format 1 were counted.
        case counted
        /// Some more are copied.
        case copied
        /// All are copied, and are as many as before.
        case checked
        /// The new data file is in its place.
        case replaced
    }

    package var stage: Stage
    /// Of format 1 that were copied, or are left out.
    package var entries: Int
    /// How many there are.
    package var of: Int

    package init(stage: Stage, entries: Int, of: Int) {
        (self.stage, self.entries, self.of) = (stage, entries, of)
    }
}

/// The result of a migration.
public struct MigrationReport: Hashable, Sendable {
    /// The entries that were read.
    public var entries = 0
    /// The databases of all users and containers.
    public var databases = 0
    /// Records, tombstones included.
    public var records = 0
    /// Files, once for each database whose records hold them.
    public var files = 0
    /// How many of them were missing before.
    public var missingFiles = 0

    /// Of nothing.
    public init() {}
}
