import Foundation
import PostgreSQLCluster
import Waiting

@testable import BackstitchHub
@testable import BackstitchHubCore
@testable import BackstitchHubPostgreSQL

/// The data of a hub, which can be put back to older states.
protocol RollbackData: AnyObject {
    /// Whether the hub that serves the data can go on while they are put back.
    var hubsGoOn: Bool { get }
    /// How many copies there are.
    var copyCount: Int { get }
    /// The storage of another hub.
    func storage() throws -> any HubStorage
    /// Keeps a copy of the data as they are now.
    func copy() async throws
    /// Puts the data back to a copy. No other hub than one that goes on works with them.
    func putBack(to copy: Int) throws
}

/// Data in memory.
final class CopiedEntries: RollbackData {
    let hubsGoOn = false
    private var current = MemoryHubStorage()
    private var copies: [[[UInt8]: [UInt8]]] = []

    var copyCount: Int { copies.count }

    func storage() -> any HubStorage { current }

    func copy() { copies.append(current.entries) }

    func putBack(to copy: Int) { current = MemoryHubStorage(copies[copy]) }
}

/// A folder. A copy is what it holds between two commits, as a backup has it.
final class CopiedFolder: RollbackData {
    let hubsGoOn = false
    private(set) var copyCount = 0
    private let folder = StorageEngine.TemporaryFolder()
    /// The storage of the hub that serves the data.
    private var current: LMDBHubStorage?

    init() throws {
        try FileManager.default.createDirectory(
            atPath: folder.path, withIntermediateDirectories: true)
    }

    private var path: String { folder.path + "/hub" }

    private func copyPath(_ copy: Int) -> String { folder.path + "/copy-\(copy)" }

    func storage() throws -> any HubStorage {
        let storage = try LMDBHubStorage(at: path)
        current = storage
        return storage
    }

    func copy() throws {
        try current?.copy(to: copyPath(copyCount)) { _ in }
        copyCount += 1
    }

    func putBack(to copy: Int) throws {
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.copyItem(atPath: copyPath(copy), toPath: path)
    }
}

/// A database. Its copies are databases of the same server.
final class CopiedDatabase: RollbackData {
    let hubsGoOn = true
    private(set) var copyCount = 0
    private let cluster: PostgreSQLCluster
    private let name: String
    private let address: PostgreSQLAddress

    init() throws {
        let cluster = try PostgreSQLCluster.shared.get()
        let name = "d" + UUID().uuidString.replacing("-", with: "").lowercased()
        address = try PostgreSQLAddress("host=\(cluster.folder) dbname=\(name) user=postgres")
        (self.cluster, self.name) = (cluster, name)
        _ = try cluster.ask("CREATE DATABASE \(name)")
        _ = try PostgreSQLHubStorage.migrate(address, clock: .system)
    }

    deinit {
        for database in [name] + (0..<copyCount).map({ copyName($0) }) {
            _ = try? cluster.ask("DROP DATABASE \(database) WITH (FORCE)")
        }
    }

    private func copyName(_ copy: Int) -> String { "\(name)_\(copy)" }

    func storage() throws -> any HubStorage {
        try PostgreSQLHubStorage(address, clock: .system, limits: .patient)
    }

    func copy() async throws {
        // The server copies no database that has sessions. The hub connects again by itself.
        _ = try cluster.ask("ALTER DATABASE \(name) ALLOW_CONNECTIONS false")
        try await eventually(pausing: .milliseconds(10)) {
            try cluster.ask(
                """
                SELECT count(pg_terminate_backend(pid)) = 0 FROM pg_stat_activity
                WHERE datname = '\(name)'
                """) == "t"
        }
        _ = try cluster.ask("CREATE DATABASE \(copyName(copyCount)) TEMPLATE \(name)")
        _ = try cluster.ask("ALTER DATABASE \(name) ALLOW_CONNECTIONS true")
        copyCount += 1
    }

    func putBack(to copy: Int) throws {
        _ = try cluster.ask("DROP DATABASE \(name) WITH (FORCE)")
        _ = try cluster.ask("CREATE DATABASE \(name) TEMPLATE \(copyName(copy))")
    }
}
