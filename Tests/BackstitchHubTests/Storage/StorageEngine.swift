import Foundation
import PostgreSQLCluster
import Threading

@testable import BackstitchHub
@testable import BackstitchHubCore

/// What a hub's storage is made of.
enum StorageEngine: String, CaseIterable, Sendable {
    case lmdb
    case memory
    case farMemory
    case postgreSQL = "postgresql"

    /// Those that there can be here.
    static var available: [StorageEngine] {
        allCases.filter { $0 != .postgreSQL || PostgreSQLCluster.isInstalled }
    }

    /// Those that hubs are served with.
    static var served: [StorageEngine] { available.filter { $0 == .lmdb || $0 == .postgreSQL } }

    /// Those of which hubs can share one, each with its own.
    static var shareable: [StorageEngine] { available.filter { $0 != .lmdb } }

    /// What hubs of tests have: LMDB, or what `BACKSTITCH_HUB_STORAGE` names.
    static let chosen: StorageEngine =
        ProcessInfo.processInfo.environment["BACKSTITCH_HUB_STORAGE"].flatMap { name in
            guard let engine = StorageEngine(rawValue: name) else {
                fatalError("BACKSTITCH_HUB_STORAGE is none of \(allCases.map(\.rawValue)).")
            }
            return engine
        } ?? .lmdb

    /// Whether nothing is at hand.
    var isFar: Bool { self == .farMemory || self == .postgreSQL }

    /// Two storages with the same data, of which the second is closed first, and what has to be kept for
    /// as long.
    func pair(
        _ limits: HubLimits = HubLimits()
    ) throws -> (any HubStorage, any HubStorage, keeping: AnyObject?) {
        switch self {
        case .lmdb:
            let folder = TemporaryFolder()
            let first = try LMDBHubStorage(at: folder.path)
            return (first, try LMDBHubStorage(at: folder.path), folder)
        case .memory, .farMemory:
            let first = MemoryHubStorage(isFar: self == .farMemory)
            return (first, MemoryHubStorage(sharing: first), nil)
        case .postgreSQL:
            let schema = try TemporarySchema()
            return (try schema.storage(limits), try schema.storage(limits), nil)
        }
    }

    /// - Parameter clock: By which reads wait too long; never, or by the system's, unless given.
    func storage(
        _ limits: HubLimits = HubLimits(), clock: HubClock? = nil
    ) throws -> any HubStorage {
        switch self {
        case .lmdb:
            guard let clock else {
                return try LMDBHubStorage.temporary(readers: WorkPool(limits) { 0 })
            }
            return try LMDBHubStorage.temporary(
                readers: WorkPool(limits, clock: clock.steadyMilliseconds))
        case .memory: return MemoryHubStorage()
        case .farMemory: return MemoryHubStorage(isFar: true)
        case .postgreSQL: return try TemporarySchema().storage(limits, clock: clock ?? .system)
        }
    }

    final class TemporaryFolder: Sendable {
        let path = FileManager.default.temporaryDirectory
            .appendingPathComponent("storage-\(UUID().uuidString)").path

        deinit { try? FileManager.default.removeItem(atPath: path) }
    }
}

extension HubStorage {
    /// Reads while the calling thread waits, wherever the data is.
    func readHere<R: Sendable>(
        _ body: @escaping @Sendable (any HubReading) throws -> R
    ) throws -> R {
        if let result = try readAtHand(RequestWork(), body) { return result }
        let (monitor, result) = (Monitor(), Locked<Result<R, any Error>?>(nil))
        submitRead(.page, RequestWork(), body) { answer in
            return {
                monitor.inside {
                    result.withLock { $0 = answer }
                    monitor.broadcast()
                }
            }
        }
        return try monitor.inside {
            while true {
                if let result = result.withLock({ $0 }) { return try result.get() }
                monitor.wait()
            }
        }
    }
}
