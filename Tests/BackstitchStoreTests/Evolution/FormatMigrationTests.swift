import Backstitch
import BackstitchCore
import BackstitchRepair
import Foundation
import Glibc
import LMDB
import TestBudget
import Testing
import Threading

@testable import BackstitchStore

/// Stores of format 1, brought to the present one.
@Suite(.budgeted) struct FormatMigrationTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try Self.copyPast(to: folder.store)
    }

    /// Copies the kept store of format 1.
    static func copyPast(to path: String) throws {
        let fixtures = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Fixtures").path
        try FileManager.default.copyItem(atPath: fixtures + "/format-1", toPath: path)
    }

    /// The first row among the tables, where stores of format 1 have them.
    private func tamperWithRow(
        _ change: @escaping @Sendable (Access, Databases, [UInt8], [UInt8]) throws -> Void
    ) throws {
        try folder.tamper { access, databases in
            let entry = try access.withCursor(in: databases.tables) { cursor in
                _ = try cursor.first()
                return (Array(cursor.key), Array(cursor.value))
            }
            #expect(entry.0.first == TableKey.rows)
            try change(access, databases, entry.0, entry.1)
        }
    }

    private func put(
        _ key: [UInt8], _ value: [UInt8], _ access: Access, _ database: Database
    ) throws {
        try key.withUnsafeBytes { key in
            try value.withUnsafeBytes { try access.put(key, $0, in: database) }
        }
    }

    @Test func `whoever only reads refuses it with what to do, and leaves it alone`() throws {
        let data = try folder.data()
        for checksPages in [false, true] {
            let error = failure {
                _ = try Store.open(existing: folder.store, checksPages: checksPages)
            }
            #expect(error?.code == .olderFormat)
            #expect(error?.message.contains("format 1") == true)
            #expect(error?.message.contains("backstitch rebuild") == true)
        }
        #expect(try folder.data() == data)
    }

    @Test func `opening for writing moves every row to its tree, and tells how far it is`()
        async throws
    {
        let events = Locked<[MonitorEvent]>([])
        var configuration = StoreConfiguration.quick
        configuration.monitor = { event in events.withLock { $0.append(event) } }
        let store = try folder.open(.format, configuration: configuration)
        #expect(store.catalog.formatVersion == 2)
        let told = events.withLock { $0.filter { $0.name.hasPrefix("store.migrat") } }
        #expect(told.last?.name == "store.migrated")
        #expect(told.last?.counts["from"] == 1 && told.last?.counts["to"] == 2)
        let progress = told.dropLast().map { $0.counts["entries"] ?? 0 }
        #expect(progress.last == told.last?.counts["entries"] && progress == progress.sorted())
        try store.environment.read { transaction in
            let access = transaction.access
            #expect(access.members == store.catalog.entities.count)
            for entity in access.entitiesWithRows {
                let rows = try #require(access.rows(of: entity))
                try access.withCursor(in: rows) { cursor in
                    while try cursor.next() {
                        #expect(cursor.value[0] == RowView.formatVersion)
                        let row = try #require(RowView(cursor.value))
                        #expect(row.isIntact(of: entity, cursor.key))
                    }
                }
            }
            try access.withCursor(in: store.databases.tables) { cursor in
                let isThere = try cursor.first()
                #expect(isThere && cursor.key[0] > TableKey.rows)
            }
        }
        // The catalog, its copy and their checksums are of one kind.
        #expect(try store.verify().problems == [])
        #expect(try await store.rebuild().isIdentical)
        store.close()
        #expect(try StoreRepair(folder.store).diagnosis().remedy == .none)
        // What is read is not migrated again.
        let again = try Store.open(existing: folder.store, configuration: configuration)
        #expect(try again.info().formatVersion == 2)
        #expect(events.withLock { $0.count { $0.name == "store.migrated" } } == 1)
    }

    @Test func `rows with a checksum and without are right`() async throws {
        try tamperWithRow { access, databases, key, value in
            #expect(value[0] == RowView.uncheckedVersion)
            var output = ByteBuffer()
            output.append(RowView.earlierVersion)
            value.dropFirst().withUnsafeBytes { output.append($0) }
            key.withUnsafeBytes { RowView.appendChecksum(at: $0, to: &output) }
            try put(key, Array(output.bytes), access, databases.tables)
        }
        let store = try folder.open(.format)
        #expect(try store.verify().problems == [])
        #expect(try await store.rebuild().isIdentical)
    }

    @Test func `a damaged row is moved as it is, found and mended`() async throws {
        try tamperWithRow { access, databases, key, value in
            var damaged = [RowView.earlierVersion] + value.dropFirst() + [0, 0, 0, 0]
            damaged[damaged.count - 9] ^= 4
            try put(key, damaged, access, databases.tables)
        }
        let store = try Store.open(existing: folder.store, access: .readWrite)
        #expect(try store.verify().problems.count == 1)
        #expect(try await store.rebuild().isIdentical == false)
        #expect(try store.verify().problems == [])
    }

    @Test(arguments: [[1], [1, 0], [1, 0, 9, 0, 1, 1], [1, 0, 0, 0, 1, 1]] as [[UInt8]])
    func `a row of an entity that there is none of keeps the store as it is`(key: [UInt8]) throws {
        try folder.tamper { try put(key, [2, 0], $0, $1.tables) }
        let data = try folder.data()
        let error = failure { _ = try folder.open(.format) }
        #expect(error?.code == .damaged)
        #expect(error?.message.contains("doctor") == true)
        #expect(try folder.data() == data)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.root) == ["store"])
        // A repair makes a store of the present format.
        #expect(try StoreRepair(folder.store).diagnosis().remedy == .rebuild)
        _ = try StoreRepair(folder.store).repair(milliseconds: 1)
        let store = try folder.open(.format)
        #expect(try store.verify().problems == [])
        #expect(store.catalog.formatVersion == 2)
    }

    @Test func `a damaged log is salvaged into a store of the present format`() throws {
        try folder.tamper { access, databases in
            let last = try access.withCursor(in: databases.log) { cursor in
                _ = try cursor.last()
                _ = try cursor.previous()
                return cursor.key.sequence
            }
            try TableKey.withSequence(last) { _ = try access.delete($0, in: databases.log) }
        }
        #expect(try StoreRepair(folder.store).diagnosis().remedy == .salvage)
        _ = try StoreRepair(folder.store).repair(milliseconds: 1)
        let store = try folder.open(.format)
        #expect(try store.verify().problems == [])
        let thing = try store.read { try $0.find(FormatThing.self, "full") }
        #expect(try thing == FormatThing.full())
    }

    @Test func `a doctor finds nothing wrong, and says that it is to be opened`() throws {
        let diagnosis = try StoreRepair(folder.store).diagnosis()
        #expect(diagnosis.isHealthy && diagnosis.remedy == .opening)
        #expect(diagnosis.rows > 0)
        #expect(try StoreRepair(folder.store).repair(milliseconds: 1).diagnosis.remedy == .none)
        #expect(try Store.open(existing: folder.store).catalog.formatVersion == 2)
    }

    @Test func `a store that another process has open is left alone`() async throws {
        let data = try folder.data()
        let other = try Environment.open(at: folder.store, options: .store)
        await #expect(processExitsWith: .success) { [path = folder.store as String] in
            let error = failure { _ = try Store(at: path, schema: .format) }
            #expect(error?.code == .busy)
            #expect(error?.message.contains("older format") == true)
            #expect(error?.message.contains("End that process") == true)
        }
        let databases = try Databases(other)
        let catalog = try other.read { try Catalog.stored($0.access, databases) }
        #expect(catalog?.formatVersion == 1)
        other.close()
        #expect(try folder.data() == data)
        #expect(try folder.open(.format).verify().problems == [])
    }

    @Test func `of stores that open at once, one migrates and all go on`() async throws {
        let path = folder.store
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    await #expect(processExitsWith: .success) { [path = path as String] in
                        let store = try Store(at: path, schema: .format)
                        #expect(try store.verify().problems == [])
                    }
                }
            }
            for _ in 0..<4 {
                group.addTask {
                    do {
                        let store = try Store(at: path, schema: .format, configuration: .quick)
                        #expect(try store.verify().problems == [])
                    } catch {
                        Issue.record(error)
                    }
                }
            }
        }
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder.root).sorted() == ["store"])
    }

    @Test func `a file is written anew where it was migrated first`() throws {
        try Store.rewriteFile(at: folder.store)
        let store = try Store.open(existing: folder.store)
        #expect(try store.verify().problems == [])
    }
}
