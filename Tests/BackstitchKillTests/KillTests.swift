import Backstitch
import BackstitchCore
import BackstitchStore
import Foundation
import Testing

/// A process that writes at full durability is killed again and again, at any moment.
///
/// `KILL_ROUNDS` says how often; 25 unless given. `SHARED_SECONDS` says how long several processes
/// share a store; 3 unless given.
@Suite(.serialized) struct KillTests {
    /// After so many rounds a new store is begun, so that opening one is interrupted too.
    private static let roundsPerStore = 20

    private struct Failure: Error {}

    @Test func `what was acknowledged survives kills, and nothing is there in part`() async throws {
        let rounds = ProcessInfo.processInfo.environment["KILL_ROUNDS"].flatMap { Int($0) } ?? 25
        let root = FileManager.default.temporaryDirectory.path + "/kill-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: root) }
        var acknowledged: [Int: Int] = [:]
        var total = 0
        var state: UInt64 = 42
        for round in 0..<rounds {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            if round % Self.roundsPerStore == 0 { acknowledged = [:] }
            let path = root + "/store-\(round / Self.roundsPerStore)"
            // Every fifth kill comes while the store is being opened.
            let lines = round % 5 == 0 ? 0 : Int(state >> 33) % 60
            let microseconds = UInt32(state >> 40) % (round % 5 == 0 ? 40_000 : 2_000)
            for (writer, transaction) in try run(path, lines: lines, microseconds: microseconds) {
                acknowledged[writer] = max(acknowledged[writer] ?? -1, transaction)
                total += 1
            }
            try await check(path, acknowledged, "round \(round)")
        }
        print("\(rounds) kills, \(total) acknowledged transactions")
        #expect(total > rounds)
    }

    @Test func `processes that share a store and are killed lose nothing and see the same`()
        async throws
    {
        let seconds =
            ProcessInfo.processInfo.environment["SHARED_SECONDS"].flatMap { Double($0) } ?? 3
        let root = FileManager.default.temporaryDirectory.path + "/share-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: root) }
        let path = root + "/store"
        var processes: [Helper] = []
        for number in 0..<4 { processes.append(try Helper(path, firstWriter: 2 * number)) }
        var acknowledged: [Int: Int] = [:]
        var kills = 0
        var state: UInt64 = 7
        let end = ContinuousClock.now + .seconds(seconds)
        while ContinuousClock.now < end {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            usleep(UInt32(state >> 40) % 300_000)
            let number = Int(state >> 33) % 4
            for (writer, transaction) in try processes[number].kill() {
                acknowledged[writer] = max(acknowledged[writer] ?? -1, transaction)
            }
            processes[number] = try Helper(path, firstWriter: 2 * number)
            kills += 1
        }
        for process in processes {
            for (writer, transaction) in try process.kill() {
                acknowledged[writer] = max(acknowledged[writer] ?? -1, transaction)
            }
        }
        print("\(kills) kills, \(acknowledged.values.reduce(0) { $0 + $1 + 1 }) acknowledged")
        #expect(kills > 2)
        try await check(path, acknowledged, "shared")
    }

    /// Runs the helper until it printed so many lines and for so long after; returns what it
    /// printed until it was killed.
    private func run(
        _ path: String, lines: Int, microseconds: UInt32
    ) throws -> [(Int, Int)] {
        let helper = try Helper(path)
        while helper.lineCount < lines {
            guard !helper.hasEnded else { throw Failure() }
            usleep(200)
        }
        usleep(microseconds)
        return try helper.kill()
    }

    private func check(
        _ path: String, _ acknowledged: [Int: Int], _ comment: Comment
    ) async throws {
        let store = try Store(
            at: path, schema: Schema(Item.self), configuration: Views.configuration)
        defer { store.close() }
        #expect(try store.verify().problems == [], comment)
        try await checkViews(of: store, comment)
        var sizes: [UInt64: Int] = [:]
        let items = try store.read { transaction -> [Item] in
            try transaction.reader.visitOperations(from: 1) { operation in
                sizes[operation.transaction, default: 0] += 1
                return true
            }
            return try transaction.fetch(Item.self)
        }
        // The first transaction of each writer has three operations, all others five.
        let writers = Dictionary(grouping: items, by: \.writer)
        #expect(sizes.values.count { $0 == 3 } == writers.count, comment)
        #expect(sizes.values.allSatisfy { $0 == 3 || $0 == 5 }, comment)
        #expect(sizes.count == items.count { $0.id.description.hasSuffix("c") }, comment)
        for (writer, items) in writers {
            let last = items.map(\.transaction).max() ?? -1
            #expect(last >= acknowledged[writer] ?? -1, comment)
            var expected: [String: Int] = ["\(writer)-\(last)-b": 0]
            for transaction in 0...last {
                expected["\(writer)-\(transaction)-a"] = transaction == last ? 0 : transaction + 1
                expected["\(writer)-\(transaction)-c"] = 0
            }
            let found = items.map { ($0.id.description, $0.revision) }
            #expect(Dictionary(uniqueKeysWithValues: found) == expected, comment)
        }
        #expect(Set(acknowledged.keys).isSubset(of: writers.keys), comment)
    }

    /// Checks that the views have what the records have, and that they still do once both are ready.
    private func checkViews(of store: Store, _ comment: Comment) async throws {
        try await store.prepareProjections()
        #expect(try store.projections().map(\.state) == [.ready, .ready], comment)
        try store.read { transaction in
            let expected = try transaction.groups(
                Query<Item>(), by: GroupKeys(\.writer), .count(), .sum(\.revision),
                .sum(\.transaction))
            let items = try transaction.view(of: Views.items).totals()
            let late = try transaction.view(of: Views.late).totals()
            #expect(items.map(\.group) == expected.map(\.key), comment)
            #expect(items.map(\.count) == expected.map(\.values.0), comment)
            #expect(items.map(\.sum) == expected.map(\.values.1), comment)
            #expect(late.map(\.sum) == expected.map(\.values.2), comment)
        }
        #expect(try store.verify().problems == [], comment)
    }
}
