import Backstitch
import BackstitchCore
import BackstitchLog
import Foundation
import LMDB
import TestBudget
import Testing

@testable import BackstitchStore

@Suite(.budgeted) struct FormatTests {
    static let formats = ["format-1"]

    private static let newFormat = ProcessInfo.processInfo.environment["BACKSTITCH_FIXTURE"]
    private static let fixtures = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Fixtures").path

    @Test(.enabled(if: newFormat != nil)) func `write the store of a new format`() async throws {
        let path = Self.fixtures + "/" + (Self.newFormat ?? "")
        #expect(!FileManager.default.fileExists(atPath: path), "It never changes.")
        guard !FileManager.default.fileExists(atPath: path) else { return }
        try await FormatStore.write(to: path)
    }

    @Test(arguments: formats) func `a store of a past format opens and has all values`(
        format: String
    ) async throws {
        let folder = try TemporaryFolder()
        try FileManager.default.copyItem(
            atPath: Self.fixtures + "/" + format, toPath: folder.store)
        try await check(folder)
        let dynamic = try Store.open(existing: folder.store)
        #expect(try dynamic.verify().problems == [])
    }

    @Test func `the store that is written now has all values`() async throws {
        let folder = try TemporaryFolder()
        try await FormatStore.write(to: folder.store)
        try await check(folder)
    }

    private func check(_ folder: TemporaryFolder) async throws {
        let found = try EnvironmentFiles(at: folder.store).inspect(
            names: Databases.names, family: Databases.rows
        ) { _ in }
        #expect(found.isSound && found.hasWaitingRecords)
        let store = try FormatStore.open(folder.store, [FormatStore.migration])
        defer { store.close() }
        #expect(store.catalog.formatVersion == 1)
        try await checkRest(store)
        try await store.prepareIndexes()
        try await store.expectConsistent()
        try store.read { transaction in
            #expect(try transaction.find(FormatThing.self, "full") == FormatThing.full())
            #expect(try transaction.find(FormatThing.self, "plain") == FormatThing(id: "plain"))
            let synced = FormatThing(id: "synced", string: "s4", owner: "o1")
            #expect(try transaction.find(FormatThing.self, "synced") == synced)
            #expect(try transaction.find(FormatThing.self, "contested")?.string == "theirs")
            let owner = try #require(try transaction.find(FormatOwner.self, "o1"))
            #expect(try transaction.fetch(owner.things).map(\.id) == ["full", "synced"])
            let closed = FormatStatus.closed
            let query = Query<FormatThing>().where(#Predicate { $0.status == closed })
            #expect(try transaction.fetch(query).map(\.id) == ["full"])
            let states: [(String, DynamicRecord.State)] = [
                ("full", .dirty), ("synced", .synced), ("parked", .parked), ("unread", .unreadable),
            ]
            for (name, state) in states {
                #expect(
                    try transaction.record(name, of: "FormatThing")?.state == state,
                    "\(name)")
            }
            let newer = try transaction.record("n", of: "Newer")
            #expect(newer?.values == ["field": .list([.string("kept")])])
            #expect(try transaction.conflicts(limit: 9).count == 1)
            #expect(try LogHorizon(transaction.reader).compaction.through > 0)
        }
        let pushes = try store.pushesByName()
        #expect(pushes["buried"] == .delete)
        let residents = (0..<12).map { "r\($0)" }
        #expect(pushes.keys.sorted() == ["buried", "file", "full", "plain"] + residents.sorted())
    }

    /// Indexes of an entity, a data migration, a file and the commits of the journal.
    private func checkRest(_ store: Store) async throws {
        #expect(try store.migrations.records().map(\.recordCount) == [12])
        let file = try store.read { transaction in
            let anna = Query<Resident>().where(\.name, is: "ANNA", comparing: .insensitive)
            #expect(
                try transaction.fetch(anna).map(\.id) == ["r0", "r1", "r4", "r5", "r8", "r9"])
            #expect(try transaction.fetch(Query<Resident>()).allSatisfy { $0.note == "!" })
            for name in FormatStore.lateNames {
                let late = try transaction.find(FormatThing.self, FormatThing.ID(name))
                #expect(late != nil, "\(name)")
            }
            return try transaction.find(FormatFile.self, "file")?.file
        }
        let reader = try await store.assets.open(#require(file))
        let bytes = try reader.read(at: 0, count: Int(reader.byteCount))
        #expect(String(decoding: bytes, as: UTF8.self) == FormatStore.content)
    }
}
