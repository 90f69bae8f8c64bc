import Backstitch
import BackstitchCore
import Foundation

@testable import BackstitchStore

@Entity("FormatFile") struct FormatFile: Equatable {
    var id = ID()
    var file: Asset?
}

/// Writes the store that is kept of each format: whatever the format has, in a few records.
enum FormatStore {
    static let clock = ManualClock()
    static let schema = StoreSchema(
        FormatOwner.self, FormatThing.self, FormatFile.self, Resident.self)
    static let content = "the content of a file"
    /// The records that are only in the journal.
    static let lateNames = (0..<9).map { "late\($0)" }
    static let migration = DataMigration("1: a note", each: Resident.self) {
        transaction, resident in
        var resident = resident
        resident.note += "!"
        try transaction.save(resident)
    }

    static func open(_ directory: String, _ migrations: [DataMigration] = []) throws -> Store {
        try Store(
            at: directory, schema: schema,
            configuration: StoreConfiguration(dataMigrations: migrations, clock: clock))
    }

    /// Leaves the store in a folder as a kill does, with its last commits in the journal alone.
    static func write(to directory: String) async throws {
        let made = directory + "-open"
        let store = try open(made)
        try await writeCompacted(store)
        try await store.compact(.keepUnsyncedOnly)
        try await writeRest(store)
        try await writeResidents(store)
        store.close()
        let again = try open(made, [migration])
        try await again.prepareIndexes()
        for name in lateNames {
            try await again.write(isLocalOnly: true) { transaction in
                try transaction.save(FormatThing(id: FormatThing.ID(name)))
            }
        }
        let files = FileManager.default
        try files.copyItem(atPath: made, toPath: directory)
        again.close()
        try files.removeItem(atPath: made)
        try files.removeItem(atPath: directory + "/lock.mdb")
        try cutZeros(directory + "/journal")
    }

    /// Takes the zeros at its end away from a journal, which is read as if they were there.
    private static func cutZeros(_ path: String) throws {
        let url = URL(fileURLWithPath: path)
        let bytes = try Data(contentsOf: url)
        let used = (bytes.lastIndex { $0 != 0 } ?? 0) + 1
        try bytes.prefix((used + 4_095) / 4_096 * 4_096).write(to: url)
    }

    private static func writeResidents(_ store: Store) async throws {
        let asset = try await store.assets.add(contentType: "text/plain", fileName: "a.txt") {
            try $0.write(Array(content.utf8))
        }
        try await store.write { transaction in
            try transaction.save(FormatFile(id: "file", file: asset))
            for number in 0..<12 {
                let resident = Resident(
                    id: Resident.ID("r\(number)"),
                    name: ["Ånna", "anna", "ANNE", "Bo"][number % 4],
                    city: number % 2 == 0 ? "Köln" : nil,
                    born: Date(timeIntervalSince1970: Double(number * 86_400)))
                try transaction.save(resident)
            }
        }
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
