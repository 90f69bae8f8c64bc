import Backstitch
import BackstitchCore
import Foundation

@testable import BackstitchStore

/// Writes the store that is kept of each format: whatever the format has, in a few records.
enum FormatStore {
    static let clock = ManualClock()

    static func write(to directory: String) async throws {
        let store = try Store(
            at: directory, schema: .format,
            configuration: StoreConfiguration(clock: clock))
        defer { store.close() }
        try await writeCompacted(store)
        try await store.compact(.keepUnsyncedOnly)
        try await writeRest(store)
    }

    private static func writeCompacted(_ store: Store) async throws {
        try await store.pull("FormatOwner", "o1", ["email": .string("one@example.org")])
        try await store.pull("FormatThing", "synced", ["string": .string("s"), "int": .int64(1)])
        for number in 2...4 {
            try await store.pull(
                "FormatThing", "synced", tag: "\(number)", at: Int64(number),
                ["string": .string("s\(number)"), "owner": .reference(.init(recordName: "o1"))])
        }
        try await store.pull("FormatThing", "buried", ["string": .string("b")])
        try await store.pull("FormatThing", "contested", ["string": .string("base")])
        try await store.write(author: "tests") {
            _ = try $0.save(FormatThing(id: "contested", string: "mine"))
        }
        try await store.pull(
            "FormatThing", "contested", tag: "2", at: 2, ["string": .string("theirs")])
        try await store.withLogWriter { try $0.marks.setOutboxFloor($0.head) }
    }

    private static func writeRest(_ store: Store) async throws {
        let full = try FormatThing.full()
        try await store.write(author: "tests") { transaction in
            try transaction.save(full)
            try transaction.save(FormatThing(id: "plain"))
            try transaction.save(FormatThing(id: "parked", string: "p"))
            _ = try transaction.delete(FormatThing.ID("buried"))
        }
        try await store.pull("FormatThing", "unread", ["status": .string("snoozed")])
        try await store.pull("Newer", "n", ["field": .list([.string("kept")])])
        try await store.withLogWriter { context in
            let key = RecordKey(RecordName("parked"))
            guard let table = context.catalog.table(named: "FormatThing"),
                let row = try context.reader.row(table.number, key)
            else { return }
            try context.marks.park(table.number, key, through: row.lastSequence, reason: "REFUSED")
        }
    }
}
