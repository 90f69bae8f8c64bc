import Foundation
import Threading

@testable import LMDB

/// A folder for one test, removed when the test ends.
final class Fixture: Sendable {
    let root: String

    /// - Parameter inMemory: Where syncing costs nothing, if the system has such a folder.
    init(inMemory: Bool = false) throws {
        let memory = "/dev/shm"
        let parent =
            inMemory && FileManager.default.isWritableFile(atPath: memory)
            ? memory : FileManager.default.temporaryDirectory.path
        root = parent + "/lmdb-tests-" + UUID().uuidString
        try FileManager.default.createDirectory(
            atPath: root, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: root)
    }

    var store: String { root + "/store" }
    var dataPath: String { store + "/data.mdb" }

    static func options(_ change: (inout EnvironmentOptions) -> Void = { _ in })
        -> EnvironmentOptions
    {
        var options = EnvironmentOptions(databases: ["one", "two"])
        options.mapBytes = 1 << 30
        change(&options)
        return options
    }

    func open(
        _ change: (inout EnvironmentOptions) -> Void = { _ in }
    ) throws -> Environment {
        try Environment.open(at: store, options: Self.options(change))
    }
}

extension Environment {
    /// Writes on the writer thread and waits.
    func save<R: Sendable>(_ body: @Sendable (Access) throws -> R) throws -> R {
        try writer.submitAndWait { try write { transaction in try body(transaction.access) } }
    }

    /// Sets keys of database `one` on the writer thread, as a write that is said to free space or not.
    func save(_ entries: [String: String], frees: Bool = false) throws {
        let database = try database("one")
        try writer.submitAndWait {
            try write { transaction in
                if frees { transaction.mayTakeReserve() }
                for (key, value) in entries {
                    try transaction.access.put(key, value, in: database)
                }
            }
        }
    }

    /// The entries of database `one`.
    func entries() throws -> [String: String] {
        let database = try database("one")
        return try read { transaction in try transaction.access.entries(in: database) }
    }
}

extension Access {
    func put(_ key: String, _ value: String, in database: Database) throws(LMDBError) {
        try put(Array(key.utf8), Array(value.utf8), in: database)
    }

    func put(_ key: [UInt8], _ value: [UInt8], in database: Database) throws(LMDBError) {
        try key.withBytes { key throws(LMDBError) in
            try value.withBytes { value throws(LMDBError) in try put(key, value, in: database) }
        }
    }

    func append(_ key: [UInt8], _ value: [UInt8], in database: Database) throws(LMDBError) {
        try key.withBytes { key throws(LMDBError) in
            try value.withBytes { value throws(LMDBError) in
                try append(key, value, in: database)
            }
        }
    }

    func get(_ key: String, in database: Database) throws(LMDBError) -> String? {
        try get(Array(key.utf8), in: database).map { String(decoding: $0, as: UTF8.self) }
    }

    func get(_ key: [UInt8], in database: Database) throws(LMDBError) -> [UInt8]? {
        try key.withBytes { key throws(LMDBError) in
            try get(key, in: database).map { Array($0) }
        }
    }

    func delete(_ key: [UInt8], in database: Database) throws(LMDBError) -> Bool {
        try key.withBytes { key throws(LMDBError) in try delete(key, in: database) }
    }

    func entries(in database: Database) throws -> [String: String] {
        var entries: [String: String] = [:]
        try withCursor(in: database) { cursor in
            while try cursor.next() {
                entries[String(decoding: cursor.key, as: UTF8.self)] = String(
                    decoding: cursor.value, as: UTF8.self)
            }
        }
        return entries
    }
}

extension [UInt8] {
    /// The bytes as LMDB takes them, with typed errors.
    func withBytes<R>(
        _ body: (UnsafeRawBufferPointer) throws(LMDBError) -> R
    ) throws(LMDBError) -> R {
        let result = withUnsafeBytes { bytes -> Result<R, LMDBError> in
            Result { () throws(LMDBError) in try body(bytes) }
        }
        return try result.get()
    }
}

/// The code of the error that a closure throws; `nil` if it throws none or another.
func code(_ body: () throws -> Void) -> LMDBError.Code? {
    do {
        try body()
        return nil
    } catch {
        return (error as? LMDBError)?.code
    }
}

/// A value that tests hand from one thread to another; they order the accesses.
final class Box<Value>: @unchecked Sendable {  // The tests wait for the writing thread.
    var value: Value

    init(_ value: Value) {
        self.value = value
    }
}

/// The code of the error that an asynchronous closure throws.
func outcome(_ body: () async throws -> Void) async -> LMDBError.Code? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? LMDBError)?.code
    }
}
