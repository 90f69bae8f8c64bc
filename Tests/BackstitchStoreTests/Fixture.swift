import Backstitch
import BackstitchCore
import Foundation
import LMDB
import Testing
import Threading

@testable import BackstitchStore

/// A folder for one test, removed when the test ends.
final class TemporaryFolder: Sendable {
    let root: String

    /// - Parameter inMemory: Where syncing costs nothing, if the system has such a folder.
    init(inMemory: Bool = false) throws {
        let memory = "/dev/shm"
        let parent =
            inMemory && FileManager.default.isWritableFile(atPath: memory)
            ? memory : FileManager.default.temporaryDirectory.path
        root = parent + "/store-tests-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: root)
    }

    var store: String { root + "/store" }
    var dataPath: String { store + "/data.mdb" }

    func open(
        _ schema: StoreSchema = .all, configuration: StoreConfiguration = .quick
    ) throws -> Store {
        try Store(at: store, schema: schema, configuration: configuration)
    }

    /// The bytes of the data file.
    func data() throws -> Data { try Data(contentsOf: URL(fileURLWithPath: dataPath)) }

    /// Makes a store with one department, and closes it.
    func fill() throws {
        let store = try open()
        try store.write { try $0.save(Department(id: "d", name: "One")) }
        store.close()
    }

    /// Changes the databases behind the back of the store, which is closed.
    func tamper(_ body: @Sendable (Access, Databases) throws -> Void) throws {
        let environment = try Environment.open(
            at: store, options: .store)
        defer { environment.close() }
        try environment.tamper(body)
    }
}

extension Environment {
    /// Changes the databases on the writer thread.
    func tamper(_ body: @Sendable (Access, Databases) throws -> Void) throws {
        let databases = try Databases(self)
        try writer.submitAndWait { try write { try body($0.access, databases) } }
    }
}

extension Access {
    /// The first entry of a table, by the key that says where it is.
    func firstEntry(
        of table: UInt8, _ databases: Databases
    ) throws -> (key: [UInt8], value: [UInt8])? {
        guard table == TableKey.rows else {
            return try withCursor(in: databases.tables) { cursor in
                let isThere = try [table].withUnsafeBytes { try cursor.seek(atOrAfter: $0) }
                guard isThere, cursor.key.first == table else { return nil }
                return (Array(cursor.key), Array(cursor.value))
            }
        }
        for entity in entitiesWithRows {
            let found = try withCursor(in: rowsForWriting(of: entity)) { cursor in
                try cursor.first() ? (Array(cursor.key), Array(cursor.value)) : nil
            }
            if let found { return (TableKey.rowPrefix(entity) + found.0, found.1) }
        }
        return nil
    }
}

extension StoreConfiguration {
    /// Without waiting for the disk at each commit.
    static var quick: StoreConfiguration { StoreConfiguration(durability: .relaxed) }
}

/// A clock that stands still until it is moved.
final class ManualClock: StoreClock {
    private let time: Locked<Int64>

    init(milliseconds: Int64 = 1_700_000_000_000) { time = Locked(milliseconds) }

    var milliseconds: Int64 { time.withLock { $0 } }
    var now: Date { Date(milliseconds: milliseconds) }
    func set(_ milliseconds: Int64) { time.withLock { $0 = milliseconds } }
    func sleep(for duration: Duration) async throws { try Task.checkCancellation() }
    func random() -> Double { 0.5 }
}

/// Random numbers that are the same for the same seed (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}

/// An error of a test's own.
struct Planned: Error, Equatable {
    var number = 0
}

/// The error of the store that a closure throws; nil if it throws none or another.
func failure(_ body: () throws -> Void) -> StoreError? {
    do {
        try body()
        return nil
    } catch {
        return error as? StoreError
    }
}

extension Store {
    /// Everything in the store, to see that nothing changed.
    func image() throws -> [[UInt8]] {
        try environment.read { transaction in
            var image: [[UInt8]] = []
            for database in transaction.access.all(of: databases) {
                try transaction.access.withCursor(in: database) { cursor in
                    while try cursor.next() {
                        image.append(Array(cursor.key))
                        image.append(Array(cursor.value))
                    }
                }
            }
            return image
        }
    }

    /// The number of operations.
    var head: UInt64 {
        get throws { try read { try $0.lastSequence } }
    }

    /// Checks that the tables follow from the log.
    func expectConsistent(_ location: SourceLocation = #_sourceLocation) async throws {
        #expect(try verify().problems == [], sourceLocation: location)
        #expect(try await rebuild().isIdentical, sourceLocation: location)
    }

    /// The kinds of the operations after a sequence.
    func operations<Result>(
        from first: UInt64 = 1, _ map: (OperationView) throws -> Result
    ) throws -> [Result] {
        try read { transaction in
            var results: [Result] = []
            try transaction.reader.log.visit(from: first) { operation in
                results.append(try map(operation))
                return true
            }
            return results
        }
    }
}

extension Store {
    /// Gives the store a zone beside its own; the first one gets slot 2.
    @discardableResult
    func addZone(
        _ name: String = "list", owner: String? = nil, in database: DatabaseScope = .private
    ) async throws -> RecordID.Zone {
        let slot = try await withLogWriter {
            $0.catalogChanges.addZone(named: name, owner: owner, in: database)
        }
        return RecordID.Zone(slot: try #require(slot))
    }
}

extension EntityID {
    /// The id of a record in the zone with slot 2.
    static func elsewhere(_ name: String) -> EntityID {
        EntityID(key: RecordKey(RecordName(name), zone: 2))
    }
}
