import Backstitch
import BackstitchCore
import Foundation
import TestBudget
import Testing

@testable import BackstitchStore

@Suite(.budgeted) struct FormatTests {
    static let formats = ["format-1", "format-2"]

    private static let newFormat = ProcessInfo.processInfo.environment["BACKSTITCH_FIXTURE"]
    private static let fixtures = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Fixtures").path

    @Test(.enabled(if: newFormat != nil)) func `write the store of a new format`() async throws {
        let path = Self.fixtures + "/" + (Self.newFormat ?? "")
        #expect(!FileManager.default.fileExists(atPath: path), "It never changes.")
        guard !FileManager.default.fileExists(atPath: path) else { return }
        try await FormatStore.write(to: path)
        // A store that was closed needs neither.
        for name in ["lock.mdb", "journal"] {
            try? FileManager.default.removeItem(atPath: path + "/" + name)
        }
    }

    @Test(arguments: formats) func `a store of a past format opens and has all values`(
        format: String
    ) async throws {
        let folder = try TemporaryFolder()
        try FileManager.default.copyItem(
            atPath: Self.fixtures + "/" + format, toPath: folder.store)
        let store = try folder.open(.format)
        try await check(store)
        store.close()
        let dynamic = try Store.open(existing: folder.store)
        #expect(try dynamic.verify().problems == [])
    }

    @Test func `the store that is written now has all values`() async throws {
        let folder = try TemporaryFolder()
        try await FormatStore.write(to: folder.store)
        try await check(try folder.open(.format))
    }

    private func check(_ store: Store) async throws {
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
            #expect(try LogBounds(transaction.reader).compaction.through > 0)
        }
        let pushes = try store.pushesByName()
        #expect(pushes["buried"] == .delete)
        #expect(pushes.keys.sorted() == ["buried", "full", "plain"])
    }
}
