import BackstitchHub
import BackstitchTesting
import Foundation
import PostgreSQLCluster
import TestBudget
import Testing
import Threading
import Waiting

@testable import BackstitchHubCore
@testable import BackstitchHubPostgreSQL

/// What is acknowledged is there once, whatever happens to connections and to the server.
@Suite(
    "Faults of a database", .budgeted, .serialized,
    .enabled(if: PostgreSQLCluster.isInstalled, "PostgreSQL is missing: Tests/prepare.sh --all"))
struct PostgreSQLFaultTests {
    /// How many rounds; `DATABASE_FAULTS` has others.
    private static let rounds = Load.count("DATABASE_FAULTS", else: 12)

    private static let partition = Partition(number: 1)
    private static let counter = HubKey(partition, .zone)
    private static let names = HubKey(partition, .record)

    /// What became of a write, as its caller was told.
    private enum Told {
        case done
        case refused
        case unknown
    }

    /// Counts, and leaves a name: a write that acts twice counts twice.
    private static func add(_ name: UInt32, to storage: PostgreSQLHubStorage) async -> Told {
        do {
            try await storage.write(
                to: [partition], expecting: { [.key(counter), .key(names.adding(name))] }
            ) { transaction in
                try transaction.put(counter, bytes(number(transaction) + 1))
                try transaction.put(names.adding(name), [])
            }
            return .done
        } catch let error as PostgreSQLError where error.kind == .unknownOutcome {
            return .unknown
        } catch {
            return .refused
        }
    }

    private static func number(_ transaction: any HubReading) throws -> UInt64 {
        (try transaction.value(counter) ?? []).reduce(0) { $0 << 8 | UInt64($1) }
    }

    private static func bytes(_ number: UInt64) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }

    /// Checks that what is there is what writers were told.
    private static func check(
        _ told: [UInt32: Told], _ storage: PostgreSQLHubStorage,
        _ location: SourceLocation = #_sourceLocation
    ) async throws {
        let (count, found) = try await storage.read { transaction in
            var found: Set<UInt32> = []
            try transaction.scan(names, from: nil) { key, _ in
                found.insert(key.dropFirst(names.bytes.count).reduce(0) { $0 << 8 | UInt32($1) })
                return true
            }
            return (try number(transaction), found)
        }
        #expect(count == UInt64(found.count), "nothing happens twice", sourceLocation: location)
        for (name, told) in told {
            switch told {
            case .done: #expect(found.contains(name), "\(name)", sourceLocation: location)
            case .refused: #expect(!found.contains(name), "\(name)", sourceLocation: location)
            case .unknown: break
            }
        }
    }

    @Test(arguments: CuttingProxy.Cut.allCases)
    func `a write whose connection is cut around its commit happens once`(
        cut: CuttingProxy.Cut
    ) async throws {
        let schema = try TemporarySchema()
        let proxy = try CuttingProxy(to: PostgreSQLCluster.shared.get().folder)
        defer { proxy.stop() }
        let address = try PostgreSQLAddress(
            schema.address.text.replacing(
                "host=\(try PostgreSQLCluster.shared.get().folder)", with: "host=\(proxy.folder)"))
        let storage = try PostgreSQLHubStorage(address, clock: .system, limits: HubLimits())
        defer { storage.close() }
        // Those that wait for the server to end the session take half a minute each.
        let rounds = cut == .silently ? 1 : cut == .late ? 3 : Self.rounds
        var told: [UInt32: Told] = [:]
        for name in 0..<UInt32(rounds) {
            proxy.cutNext(cut)
            told[name] = await Self.add(name, to: storage)
            #expect(proxy.isIdle && told[name] == .done, "\(name)")
        }
        try await Self.check(told, storage)
    }

    @Test func `sessions and the server are killed while two hubs write, and nothing is lost`()
        async throws
    {
        let cluster = try PostgreSQLCluster()
        let schema = try TemporarySchema(in: cluster)
        let storages = [try schema.storage(), try schema.storage()]
        defer { for storage in storages { storage.close() } }
        // Each writer may begin so many writes a round, and as many behind the last one as there were rounds.
        let writesPerRound = 20
        let begun = Locked(0)
        let told = Locked<[UInt32: Told]>([:])
        let writers = (0..<UInt32(6)).map { writer in
            Task {
                for number in 0..<(writesPerRound + 1) * Self.rounds {
                    try await eventually { begun.withLock { $0 } > number }
                    let name = writer << 24 | UInt32(number)
                    let result = await Self.add(name, to: storages[Int(writer % 2)])
                    told.withLock { $0[name] = result }
                }
            }
        }
        defer { for writer in writers { writer.cancel() } }
        var generator = SeededGenerator(seed: 7)
        for round in 0..<Self.rounds {
            // The fault comes while some of them are under way.
            let most = writers.count * writesPerRound
            let before = told.withLock { $0.count }
            let wanted = min(
                before + Int.random(in: 1...most / 2, using: &generator), (round + 1) * most)
            begun.withLock { $0 += writesPerRound }
            try await eventually { told.withLock { $0.count } >= wanted }
            if round % 8 == 7 {
                cluster.kill()
                try await cluster.wait()
            } else if round % 8 == 3 {
                cluster.killSession()
                try await cluster.wait()
            } else {
                try? schema.endSessions()
            }
        }
        try await cluster.wait()
        begun.withLock { $0 += Self.rounds }
        for writer in writers { try await writer.value }
        let results = told.withLock { $0 }
        let done = results.values.count { $0 == .done }
        #expect(done > Self.rounds, "\(results.count)")
        try await Self.check(results, storages[0])
    }
}
