import Backstitch
import BackstitchLog
import BackstitchTesting
import Foundation
import TestBudget
import Testing
import Threading

@testable import BackstitchStore

/// Of no schema here.
@Entity struct Stray {
    var id = ID()
    var name: String
}

/// Steps that a store gets once, when it is opened.
@Suite(.budgeted) struct DataMigrationTests {
    /// Makes every age one more, so that a second time shows, and counts its calls.
    private static func older(
        _ calls: Locked<[String]> = Locked([]), inPartsOf count: Int = 3,
        failsAt name: String? = nil
    ) -> DataMigration {
        DataMigration("older", each: Employee.self, inPartsOf: count) { transaction, employee in
            calls.withLock { $0.append(employee.name) }
            if employee.name == name { throw Planned() }
            var employee = employee
            employee.age = (employee.age ?? 0) + 1
            try transaction.save(employee)
        }
    }

    private static func configuration(_ migrations: DataMigration...) -> StoreConfiguration {
        var configuration = StoreConfiguration.quick
        configuration.dataMigrations = migrations
        return configuration
    }

    /// A store with employees `a`, `b` and so on, of age 0.
    private static func folder(_ count: Int) throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        let store = try folder.open()
        defer { store.close() }
        try store.write { transaction in
            for index in 0..<count {
                let name = String(UnicodeScalar(UInt8(97 + index)))
                try transaction.save(Employee(id: .init(name), name: name, email: name, age: 0))
            }
        }
        return folder
    }

    private static func ages(_ store: Store) throws -> [Int?] {
        try store.read { try $0.fetch(Query<Employee>().sorted(by: \.name)).map(\.age) }
    }

    @Test func `a migration is made once, and openings that find nothing to do write nothing`()
        async throws
    {
        let folder = try Self.folder(7)
        let runs = Locked(0)
        let named = DataMigration("all of one name") { transaction in
            runs.withLock { $0 += 1 }
            try transaction.update(Query<Employee>(), set: \.email, to: "same")
        }
        var heads: [UInt64] = []
        for _ in 0..<3 {
            let store = try folder.open(configuration: Self.configuration(named, Self.older()))
            #expect(try Self.ages(store) == Array(repeating: 1, count: 7))
            heads.append(try store.read { try $0.lastSequence })
            try await store.expectConsistent()
            store.close()
        }
        #expect(runs.withLock { $0 } == 1)
        #expect(heads == [21, 21, 21])
        // Another handle on the open store does not make it again either.
        let first = try folder.open(configuration: Self.configuration(named, Self.older()))
        let second = try folder.open(configuration: Self.configuration(named, Self.older()))
        #expect(try Self.ages(second) == Array(repeating: 1, count: 7))
        first.close()
        second.close()
    }

    @Test func `its edits are in the history, with what they are for`() throws {
        let folder = try Self.folder(2)
        let store = try folder.open(configuration: Self.configuration(Self.older()))
        let entries = try store.read { try $0.history(of: Employee.ID("a")) }
        #expect(Set(entries.map(\.context)) == ["", "Data migration 'older'"])
        let record = try #require(try store.migrations.records().first)
        #expect(record.name == "older" && record.recordCount == 2 && record.date != nil)
    }

    @Test func `a migration in one transaction that throws leaves nothing, and says so`()
        async throws
    {
        let folder = try Self.folder(3)
        let broken = DataMigration("broken") { transaction in
            try transaction.update(Query<Employee>(), set: \.age, to: 99)
            throw Planned()
        }
        let later = Locked(0)
        let next = DataMigration("next") { _ in later.withLock { $0 += 1 } }
        let error = #expect(throws: StoreError.self) {
            try folder.open(configuration: Self.configuration(Self.older(), broken, next))
        }
        #expect(error?.code == .migrationFailed && error?.cause is Planned)
        #expect(error?.message.contains("'broken'") == true)
        #expect(later.withLock { $0 } == 0)
        // What was before it is done, and the store opens without it.
        let store = try folder.open(configuration: Self.configuration(Self.older(), next))
        #expect(try Self.ages(store) == [1, 1, 1])
        #expect(try store.migrations.records().map(\.name) == ["next", "older"])
        try await store.expectConsistent()
        store.close()
    }

    @Test func `a migration in parts goes on after the last part that was whole`() throws {
        let folder = try Self.folder(8)
        let calls = Locked<[String]>([])
        #expect(throws: StoreError.self) {
            try folder.open(configuration: Self.configuration(Self.older(calls, failsAt: "e")))
        }
        let between = try folder.open()
        #expect(try Self.ages(between) == [1, 1, 1, 0, 0, 0, 0, 0])
        #expect(try between.migrations.records().map(\.date) == [nil])
        #expect(try between.migrations.records().map(\.recordCount) == [3])
        // What a program writes in between, before and behind the place.
        try between.write { transaction in
            try transaction.save(Employee(id: "aa", name: "aa", email: "aa", age: 10))
            try transaction.delete(Employee.ID("h"))
            try transaction.delete(Employee.ID("d"))
        }
        between.close()
        let store = try folder.open(configuration: Self.configuration(Self.older(calls)))
        // The longer name has a greater key than the last one of the beginning.
        #expect(try Self.ages(store) == [1, 10, 1, 1, 1, 1, 1])
        #expect(calls.withLock { $0 } == ["a", "b", "c", "d", "e", "e", "f", "g"])
        #expect(try store.migrations.records().map(\.recordCount) == [6])
    }

    @Test func `records that a migration makes are not visited, so that it ends`() throws {
        let folder = try Self.folder(4)
        let double = DataMigration("double", each: Employee.self, inPartsOf: 1) {
            transaction, employee in
            try transaction.save(Employee(name: employee.name + "2", email: "new", age: 5))
            if employee.name == "b" { try transaction.delete(Employee.ID("c")) }
            #expect(!employee.name.hasSuffix("2"))
        }
        let store = try folder.open(configuration: Self.configuration(double))
        #expect(try Self.ages(store).count == 6)
    }

    @Test func `two stores that are opened at once make a migration once`() async throws {
        for round in 0..<8 {
            let folder = try Self.folder(9)
            let configuration = Self.configuration(
                Self.older(inPartsOf: 1 + round % 4),
                DataMigration("count") { transaction in
                    var node =
                        try transaction.find(Department.self, "n")
                        ?? Department(id: "n", name: "", budget: 0)
                    node.budget = (node.budget ?? 0) + 1
                    try transaction.save(node)
                })
            let stores = try await withThrowingTaskGroup(of: Store.self) { group in
                for _ in 0..<4 { group.addTask { try folder.open(configuration: configuration) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(try Self.ages(stores[0]) == Array(repeating: 1, count: 9))
            #expect(try stores[0].read { try $0.find(Department.self, "n")?.budget } == 1)
            for store in stores { store.close() }
        }
    }

    @Test func `a migration is repeated on demand, from its beginning`() throws {
        let folder = try Self.folder(3)
        let once = DataMigration("once") { transaction in
            try transaction.update(Query<Employee>()) { $0.email += "!" }
        }
        let store = try folder.open(configuration: Self.configuration(Self.older(), once))
        try store.migrations.repeatMigration(named: "older")
        try store.migrations.repeatMigration(named: "once")
        #expect(try Self.ages(store) == [2, 2, 2])
        #expect(
            try store.read { try $0.fetch(Query<Employee>()).map(\.email) } == [
                "a!!", "b!!", "c!!",
            ])
        #expect(try store.migrations.records().allSatisfy { $0.date != nil })
        let error = #expect(throws: StoreError.self) {
            try store.migrations.repeatMigration(named: "other")
        }
        #expect(error?.code == .notFound)
    }

    @Test func `declarations that can't be right are refused before anything is opened`() throws {
        let folder = try TemporaryFolder()
        let bad = Self.configuration(
            DataMigration("") { _ in },
            DataMigration(String(repeating: "é", count: 101)) { _ in },
            DataMigration("twice") { _ in }, DataMigration("twice") { _ in },
            Self.older(inPartsOf: 0),
            DataMigration("foreign", each: Stray.self) { _, _ in })
        let error = #expect(throws: StoreError.self) { try folder.open(configuration: bad) }
        #expect(error?.code == .invalidSchema)
        let message = error?.message ?? ""
        for part in [
            "one has 0", "one has 202", "Two data migrations are called 'twice'",
            "'older' has 0 records", "wants the entity 'Stray'",
        ] { #expect(message.contains(part), "\(part)") }
        #expect(!FileManager.default.fileExists(atPath: folder.dataPath))
    }

    @Test func `a write that is too large for one transaction says what to do instead`() throws {
        let folder = try Self.folder(5)
        var configuration = Self.configuration(
            DataMigration("large") { try $0.update(Query<Employee>(), set: \.age, to: 7) })
        configuration.operationsPerWriteMax = 4
        let error = #expect(throws: StoreError.self) {
            try folder.open(configuration: configuration)
        }
        #expect((error?.cause as? StoreError)?.code == .tooLarge)
        configuration.dataMigrations = [Self.older(inPartsOf: 4)]
        let store = try folder.open(configuration: configuration)
        #expect(try Self.ages(store) == [1, 1, 1, 1, 1])
    }

    @Test func `what it remembers can't be read if it is damaged or newer`() throws {
        for (bytes, code) in [
            ([UInt8](repeating: 0, count: 3), StoreError.Code.damaged),
            ([UInt8](repeating: 9, count: 30), .newerFormat),
            ([1, 0] + [UInt8](repeating: 0, count: 16), .damaged),
        ] {
            let folder = try Self.folder(1)
            try folder.tamper { access, databases in
                try access.putMeta(MetaName.dataMigration("older"), bytes, databases)
            }
            let error = #expect(throws: StoreError.self) {
                try folder.open(configuration: Self.configuration(Self.older()))
            }
            #expect(error?.code == code)
        }
    }

    @Test func `the stored form of how far it came reads back`() {
        let keys = [RecordKey("a"), RecordKey(UUID().uuidString), nil]
        for last in keys {
            let state = DataMigrationState(
                .underWay(last: last, end: RecordKey("ende")), milliseconds: -5,
                recordCount: 1 << 40)
            #expect(DataMigrationState(state.bytes) == state)
            #expect(DataMigrationState(state.bytes.dropLast(1)) == nil || last == nil)
        }
        let done = DataMigrationState(.done, milliseconds: 1, recordCount: 0)
        #expect(DataMigrationState(done.bytes) == done)
        #expect(DataMigrationState([]) == nil && DataMigrationState([1, 2]) == nil)
    }

    @Test func `the monitor is told`() throws {
        let folder = try Self.folder(5)
        let events = Locked<[MonitorEvent]>([])
        var configuration = Self.configuration(Self.older())
        configuration.monitor = { event in events.withLock { $0.append(event) } }
        try folder.open(configuration: configuration).close()
        let told = events.withLock { $0 }.filter { $0.name == "store.dataMigration" }
        #expect(told.map(\.counts) == [["records": 5]])
    }

    @Test func `devices that migrate in any order don't conflict, and old ones go on`()
        async throws
    {
        let cloud = SimulatedCloud()
        let migrations = [
            Self.older(),
            DataMigration("a department for all") { transaction in
                try transaction.save(Department(id: "all", name: "All"))
            },
        ]
        /// A device, which synchronises with what it has.
        func device(_ folder: TemporaryFolder, _ name: String, isNew: Bool) async throws
            -> SyncReport
        {
            var configuration = StoreConfiguration.quick
            configuration.dataMigrations = isNew ? migrations : []
            let store = try folder.open(configuration: configuration)
            defer { store.close() }
            let engine = SyncEngine(
                store: store, service: cloud.connection(device: name),
                configuration: SyncConfiguration(zoneName: "Notes", syncOnSave: false))
            return try await engine.sync()
        }
        let folders = try (0..<3).map { try Self.folder($0 == 0 ? 4 : 0) }
        for (index, folder) in folders.enumerated() {
            _ = try await device(folder, "\(index)", isNew: false)
        }
        // Both migrate before they hear of each other; the last one never does.
        _ = try folders[0].open(configuration: Self.configuration(migrations[0], migrations[1]))
            .close()
        let conflicting = try await device(folders[1], "1", isNew: true)
        #expect(conflicting.pushedRecords == 5)
        #expect(try await device(folders[0], "0", isNew: true).conflicts == 0)
        #expect(try await device(folders[2], "2", isNew: false).pulledRecords == 5)
        for folder in folders {
            let store = try folder.open()
            #expect(try Self.ages(store) == [1, 1, 1, 1])
            #expect(try store.read { try $0.exists(Department.ID("all")) })
            try await store.expectConsistent()
            store.close()
        }
    }
}
