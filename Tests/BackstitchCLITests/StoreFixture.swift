import Backstitch
import BackstitchTesting
import BackstitchCore
import Foundation
import LMDB
import Threading

@Entity("Note") struct StoredNote {
    var id = ID()
    @Attribute(.indexed) var title: String
    var stars: Int
    var body: Data?
}

/// A folder for one test, removed when the test ends, with a store in it where asked for.
final class StoreFixture {
    let root: String
    var path: String { root + "/store" }
    var dataPath: String { path + "/data.mdb" }

    init() throws {
        root = FileManager.default.temporaryDirectory.path + "/cli-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        try? FileManager.default.removeItem(atPath: root)
    }

    func open() throws -> Store {
        try Store(
            at: path, schema: StoreSchema(StoredNote.self),
            configuration: StoreConfiguration(
                author: "test", bytesMax: 1 << 30,
                clock: ManualClock(milliseconds: 1_700_000_000_123)))
    }

    /// Writes notes `n0`, `n1`, … in one transaction each, and closes the store.
    func fill(_ count: Int = 3, bodyBytes: Int = 0) throws {
        let store = try open()
        defer { store.close() }
        for number in 0..<count { try store.save("n\(number)", "Note \(number)", bodyBytes) }
    }

    /// Changes the files of the store below everything that checks.
    func damage(
        _ change: @escaping @Sendable (Access, [String: Database]) throws -> Void
    ) throws {
        let names = ["log", "tables", "meta"]
        var options = EnvironmentOptions(databases: names)
        options.family = DatabaseFamily(prefix: "rows.", countMax: 5_000)
        let environment = try Environment.open(at: path, options: options)
        defer { environment.close() }
        var databases: [String: Database] = [:]
        for name in names { databases[name] = try environment.database(name) }
        let found = databases
        try environment.writer.submitAndWait {
            try environment.write { try change($0.access, found) }
        }
    }

    /// Removes the lock file, as in a copy of a store.
    func removeLock() throws {
        try FileManager.default.removeItem(atPath: path + "/lock.mdb")
    }

    /// Every file and folder below the fixture: its mode, and its bytes.
    func snapshot() throws -> [String: String] {
        var result: [String: String] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: root) {
            let item = root + "/" + name
            let mode = try FileManager.default.attributesOfItem(atPath: item)[.posixPermissions]
            let bytes = FileManager.default.contents(atPath: item) ?? Data()
            result[name] = "\(mode ?? 0) \(bytes.base64EncodedString())"
        }
        return result
    }
}

extension Store {
    /// Saves a note.
    func save(_ name: String, _ title: String, _ bodyBytes: Int = 0) throws {
        try write { transaction in
            _ = try transaction.save(
                StoredNote(
                    id: StoredNote.ID(key: RecordKey(RecordName(name))), title: title, stars: 1,
                    body: bodyBytes > 0 ? Data(count: bodyBytes) : nil))
        }
    }
}

extension Access {
    func change(
        _ key: [UInt8], in database: Database, _ edit: (inout [UInt8]) -> Void
    ) throws {
        try key.withUnsafeBytes { key in
            guard let stored = try get(key, in: database) else { throw CocoaError(.fileNoSuchFile) }
            var bytes = Array(stored)
            edit(&bytes)
            try bytes.withUnsafeBytes { try put(key, $0, in: database) }
        }
    }
}
