import BackstitchStudio
import Foundation
import Glibc
import Terminal
import Threading

/// A question to a store that its user has given a name.
struct SavedSearch: Codable, Equatable {
    /// The most bytes of each part.
    private static let textBytesMax = 4_096

    let name: String
    let entity: String
    let condition: String?
    let sort: String?
    let columns: String?

    init(_ call: StudioCall) throws(StudioError) {
        name = try call.required("name")
        entity = try call.required("entity")
        (condition, sort) = (call.text("where"), call.text("sort"))
        columns = call.text("columns")
        for text in [name, entity, condition, sort, columns] {
            guard text?.utf8.count ?? 0 <= Self.textBytesMax else {
                throw StudioError(400, "Each part has at most \(Self.textBytesMax) bytes.")
            }
        }
    }
}

/// The questions to a store that its user keeps, in a file of the user's own: the store is not changed, and
/// a browser forgets what it has of an address whose port is another one each time.
///
/// Several processes may use the file; of two that save at once one counts.
final class SavedSearches: Sendable {
    /// The most that are kept for a store.
    static let countMax = 100
    private static let fileBytesMax = 4 << 20
    private static let name = "backstitch/studio"

    /// Nil if the user has no folder.
    private let folder: String?
    private let file: String
    /// How often the file was written; held while that is done.
    private let writes = Locked(0)

    /// - Parameter store: What tells the store from others.
    init(of store: String) {
        let environment = ProcessInfo.processInfo.environment
        let state =
            environment["XDG_STATE_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
            ?? environment["HOME"].flatMap { $0.hasPrefix("/") ? $0 + "/.local/state" : nil }
        folder = state.map { "\($0)/\(Self.name)" }
        file = store + ".json"
    }

    /// All of them, by entity and name. What is no such file counts as none.
    func all() throws -> [SavedSearch] {
        guard let folder, let data = FileManager.default.contents(atPath: "\(folder)/\(file)"),
            data.count <= Self.fileBytesMax
        else { return [] }
        return (try? JSONDecoder().decode([SavedSearch].self, from: data)) ?? []
    }

    /// Keeps one, in the place of another one of its name and entity.
    ///
    /// - Throws: ``StudioError`` if there are too many, or if there is no place for them.
    func save(_ search: SavedSearch) throws -> [SavedSearch] {
        try change { searches in
            searches.removeAll { $0.name == search.name && $0.entity == search.entity }
            guard searches.count < Self.countMax else {
                throw StudioError(
                    409, "There are \(Self.countMax) saved searches. Remove one that is not used.")
            }
            searches.append(search)
        }
    }

    /// Forgets one.
    func remove(name: String, entity: String) throws -> [SavedSearch] {
        try change { $0.removeAll { $0.name == name && $0.entity == entity } }
    }

    private func change(_ body: (inout [SavedSearch]) throws -> Void) throws -> [SavedSearch] {
        try writes.withLock { writes in
            writes += 1
            var searches = try all()
            try body(&searches)
            searches.sort { ($0.entity, $0.name) < ($1.entity, $1.name) }
            try write(searches)
            return searches
        }
    }

    /// Replaces the file as a whole; only the user may read it.
    private func write(_ searches: [SavedSearch]) throws {
        guard let folder else {
            throw StudioError(409, "There is no place for saved searches: HOME is not set.")
        }
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
            let draft = "\(folder)/\(file).\(getpid())"
            let data = Data(try JSON.line(searches).utf8)
            guard
                FileManager.default.createFile(
                    atPath: draft, contents: data, attributes: [.posixPermissions: 0o600]),
                unsafe rename(draft, "\(folder)/\(file)") == 0
            else {
                let reason = unsafe String(cString: strerror(errno))
                unsafe unlink(draft)
                throw StudioError(409, "Searches can't be kept in \(folder): \(reason).")
            }
        } catch let error as CocoaError {
            throw StudioError(
                409, "Searches can't be kept in \(folder): \(error.localizedDescription)")
        }
    }
}
