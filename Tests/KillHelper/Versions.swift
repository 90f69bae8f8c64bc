import Backstitch
import BackstitchStore
import Foundation

/// A program of one of three versions, which opens and closes a store and uses it as it is told, a line at a time.
///
/// It is told through a pipe with the path of the store, `-tell-` and the number of the version as its name, and prints
/// one line for each that it was told: the answer, or `error` and a code.
enum Versions {
    /// Answers until nobody tells it anything any more.
    ///
    /// - Parameter isNumbered: Whether its schema says which version it is.
    static func serve(_ path: String, version: Int, isNumbered: Bool) throws {
        let number = isNumbered ? version : 0
        switch version {
        case 1:
            try Program<FirstVersion.Entry>(path, number).serve("\(path)-tell-\(version)")
        case 2:
            try Program<SecondVersion.Entry>(path, number).serve("\(path)-tell-\(version)")
        default:
            try Program<ThirdVersion.Entry>(path, number, ThirdVersion.migrations)
                .serve("\(path)-tell-\(version)")
        }
    }
}

/// What each version has of an entry, by names of its own.
protocol VersionedEntry: Entity {
    init(id: EntityID<Self>, title: String, rank: Int)
    var heading: String { get }
    static var inOrder: Query<Self> { get }
    static func titled(_ title: String) -> Query<Self>
    /// Nil where the version has no ranks.
    static func ranked(_ rank: Int) -> Query<Self>?
}

enum FirstVersion {
    @Entity("Entry") struct Entry {
        var id = ID()
        var title: String
    }
}

extension FirstVersion.Entry: VersionedEntry {
    init(id: EntityID<Self>, title: String, rank: Int) { self.init(id: id, title: title) }

    var heading: String { title }
    static var inOrder: Query<Self> { Query<Self>().sorted(by: \.title) }
    static func titled(_ title: String) -> Query<Self> { Query<Self>().where(\.title, is: title) }
    static func ranked(_ rank: Int) -> Query<Self>? { nil }
}

/// With a title that is unique, and ranks.
enum SecondVersion {
    @Entity("Entry") struct Entry {
        var id = ID()
        @Attribute(.unique) var title: String
        @Attribute(.indexed) var rank = 0
    }
}

extension SecondVersion.Entry: VersionedEntry {
    var heading: String { title }
    static var inOrder: Query<Self> { Query<Self>().sorted(by: \.title) }
    static func titled(_ title: String) -> Query<Self> { Query<Self>().where(\.title, is: title) }
    static func ranked(_ rank: Int) -> Query<Self>? { Query<Self>().where(\.rank, is: rank) }
}

/// With another name for the title, a note, and a data migration that writes it.
enum ThirdVersion {
    @Entity("Entry") struct Entry {
        var id = ID()
        @Attribute(.unique, originalName: "title") var name: String
        @Attribute(.indexed) var rank = 0
        var note: String?
    }

    static let migrations = [
        DataMigration("1: notes", each: Entry.self, inPartsOf: 4) { transaction, entry in
            var entry = entry
            entry.note = "migrated"
            try transaction.save(entry)
        }
    ]
}

extension ThirdVersion.Entry: VersionedEntry {
    init(id: EntityID<Self>, title: String, rank: Int) {
        self.init(id: id, name: title, rank: rank)
    }

    var heading: String { name }
    static var inOrder: Query<Self> { Query<Self>().sorted(by: \.name) }
    static func titled(_ title: String) -> Query<Self> { Query<Self>().where(\.name, is: title) }
    static func ranked(_ rank: Int) -> Query<Self>? { Query<Self>().where(\.rank, is: rank) }
}

private final class Program<Entry: VersionedEntry> {
    private let path: String
    private let number: Int
    private let migrations: [DataMigration]
    private var store: Store?

    init(_ path: String, _ number: Int, _ migrations: [DataMigration] = []) {
        (self.path, self.number, self.migrations) = (path, number, migrations)
    }

    func serve(_ pipe: String) throws {
        guard let input = FileHandle(forReadingAtPath: pipe) else { throw POSIXError(.ENOENT) }
        var told = Data()
        while case let more = input.availableData, !more.isEmpty {
            told.append(more)
            while let end = told.firstIndex(of: 10) {
                let line = String(decoding: told[..<end], as: UTF8.self)
                told = Data(told[(end + 1)...])
                KillHelper.acknowledge(answer(line.split(separator: " ").map(String.init)) + "\n")
            }
        }
    }

    private func answer(_ words: [String]) -> String {
        do {
            return try perform(words)
        } catch let error as StoreError {
            return "error \(error.code)"
        } catch {
            return "error \(error)".replacingOccurrences(of: "\n", with: " ")
        }
    }

    private func perform(_ words: [String]) throws -> String {
        let word = words.count > 1 ? words[1] : ""
        switch words.first {
        case "open":
            store = try Store(
                at: path, schema: StoreSchema(Entry.self, version: number),
                configuration: StoreConfiguration(
                    durability: .relaxed, dataMigrations: migrations))
            return "opened"
        case "close":
            store?.close()
            store = nil
            return "closed"
        case "save":
            let entry = Entry(id: .init(word), title: words[2], rank: Int(words[3]) ?? 0)
            try open.write { _ = try $0.save(entry) }
            return "saved"
        case "delete":
            let id = EntityID<Entry>(word)
            try open.write { _ = try $0.delete(id) }
            return "deleted"
        case "all":
            return try open.read { try $0.fetch(Entry.inOrder) }
                .map { "\($0.id)=\($0.heading)" }.joined(separator: " ")
        case "titled":
            return try names(of: Entry.titled(word))
        case "ranked":
            guard let query = Entry.ranked(Int(word) ?? 0) else { return "none" }
            return try names(of: query)
        default:
            return "error unknown"
        }
    }

    private var open: Store {
        get throws {
            guard let store else { throw POSIXError(.EBADF) }
            return store
        }
    }

    private func names(of query: Query<Entry>) throws -> String {
        try open.read { try $0.fetch(query) }.map(\.id.description).sorted()
            .joined(separator: " ")
    }
}
