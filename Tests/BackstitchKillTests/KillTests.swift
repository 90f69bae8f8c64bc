import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchViews
import Foundation
import SmallDisk
import Testing

/// A process that writes at full durability is killed again and again, at any moment.
///
/// `KILL_ROUNDS` says how often; 25 unless given. `SHARED_SECONDS` says how long several processes
/// share a store; 3 unless given. `FULL_DISK_KILLS` says how many are killed on each disk that is full
/// now and then; 12 unless given.
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

    @Test func `views are of the moment of the records while processes without them write`()
        async throws
    {
        let root = FileManager.default.temporaryDirectory.path + "/views-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: root) }
        let path = root + "/store"
        let store = try Store(
            at: path, schema: StoreSchema(Item.self), configuration: Views.configuration)
        defer { store.close() }
        var acknowledged: [Int: Int] = [:]
        for round in 0..<3 {
            let helper = try Helper(path, firstWriter: 4 * (round % 2), mode: "plain")
            var reads = 0
            // Reads go on until the helper has written for a while.
            while reads < 150 || helper.lineCount < 40 {
                guard !helper.hasEnded else { throw Failure() }
                reads += 1
                do {
                    try Self.checkViews(of: store)
                } catch let error as StoreError where error.code == .projectionNotReady {
                    // The helper wrote more than a read takes in by itself, which is bounded.
                    try await store.prepareProjections()
                }
                guard reads % 10 == 0 else { continue }
                do {
                    try await store.write { transaction in
                        let count = try transaction.view(of: Views.items).totals().map(\.count)
                            .reduce(0, +)
                        let records = try transaction.count(Query<Item>())
                        #expect(count == records)
                    }
                } catch let error as StoreError where error.code == .projectionNotReady {
                    // What a write takes in by itself is bounded too.
                    try await store.prepareProjections()
                }
            }
            for (writer, transaction) in try helper.kill() {
                acknowledged[writer] = max(acknowledged[writer] ?? -1, transaction)
            }
        }
        try await checkViews(of: store, "after the last process")
        store.close()
        try await check(path, acknowledged, "views")
    }

    /// Compares a view with the records of the same moment.
    private static func checkViews(of store: Store) throws {
        try store.read { transaction in
            let expected = try transaction.groups(
                Query<Item>(), by: GroupKeys(\.writer), .count(), .sum(\.revision))
            let view = try transaction.view(of: Views.items)
            let found = try view.totals()
            #expect(found.map(\.group) == expected.map(\.key))
            #expect(found.map(\.count) == expected.map(\.values.0))
            #expect(found.map(\.sum) == expected.map(\.values.1))
            #expect(try view.checkpoint == transaction.lastSequence)
        }
    }

    @Test func `data migrations whose processes are killed are made once and whole`() async throws {
        let rounds = ProcessInfo.processInfo.environment["KILL_ROUNDS"].flatMap { Int($0) } ?? 25
        let root = FileManager.default.temporaryDirectory.path + "/migrate-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: root) }
        var state: UInt64 = 5
        func random(below bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        var kills = 0
        for number in 0..<max(1, rounds / 8) {
            let path = "\(root)/\(number)"
            let count = 40 + random(below: 80)
            let before = try Store(at: path, schema: StoreSchema(Item.self))
            try await before.write { transaction in
                for item in 0..<count {
                    try transaction.insert(
                        Item(id: .init("0-\(item)-a"), writer: 0, transaction: item, revision: 0))
                }
            }
            before.close()
            var isDone = false
            while !isDone {
                // Two at once; each is killed, also after it was done.
                let helpers = try [0, 1].map {
                    try Helper(path, firstWriter: $0, mode: "migrate")
                }
                usleep(UInt32(20_000 + random(below: 150_000)))
                for helper in helpers where try !helper.kill().isEmpty { isDone = true }
                kills += 2
            }
            let store = try Store(at: path, schema: StoreSchema(Item.self))
            defer { store.close() }
            let items = try store.read { try $0.fetch(Query<Item>()) }
            let (made, old) = (items.filter { $0.writer == 1 }, items.filter { $0.writer == 0 })
            #expect(old.count == count && old.allSatisfy { $0.revision == 1 }, "\(path)")
            #expect(made.map(\.revision) == [1], "\(path)")
            #expect(try store.migrations.records().allSatisfy { $0.date != nil })
            #expect(try store.migrations.records().map(\.recordCount) == [count, 0])
            #expect(try store.verify().problems == [], "\(path)")
        }
        print("\(kills) kills in data migrations")
        #expect(kills >= 2 * max(1, rounds / 8))
    }

    @Test(
        .enabled(if: !SmallDisk.kinds.isEmpty, "nothing can be mounted here"),
        arguments: SmallDisk.kinds)
    func `processes that are killed on a disk that is full now and then lose nothing`(
        kind: SmallDisk.Kind
    ) async throws {
        let wanted =
            ProcessInfo.processInfo.environment["FULL_DISK_KILLS"].flatMap { Int($0) } ?? 12
        let disk = try SmallDisk(kind)
        let path = disk.path + "/store"
        var processes = try [0, 2].map { try Helper(path, firstWriter: $0) }
        while processes.contains(where: { $0.lineCount < 10 }) { usleep(1_000) }
        var acknowledged: [Int: Int] = [:]
        func kill(_ number: Int) throws {
            for (writer, transaction) in try processes[number].kill() {
                acknowledged[writer] = max(acknowledged[writer] ?? -1, transaction)
            }
        }
        var state: UInt64 = 11
        func random(below bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        for round in 0..<wanted {
            // Space runs out and comes back, a little or all of it.
            for _ in 0..<random(below: 4) {
                try disk.take()
                usleep(UInt32(random(below: 30_000)))
                disk.give(allBut: max(0, try disk.taken - random(below: 100) << 10))
                usleep(UInt32(random(below: 30_000)))
            }
            try disk.take()
            usleep(UInt32(random(below: 100_000)))
            let number = random(below: 2)
            try kill(number)
            guard round % 6 == 5 else {
                // A store opens on a full disk too.
                processes[number] = try Helper(path, firstWriter: 2 * number)
                continue
            }
            try kill(1 - number)
            disk.give()
            try await check(path, acknowledged, "\(kind), round \(round)")
            processes = try [0, 2].map { try Helper(path, firstWriter: $0) }
            while processes.contains(where: { $0.lineCount < 1 }) { usleep(1_000) }
        }
        for number in 0..<2 { try kill(number) }
        disk.give()
        print("\(kind): \(wanted) kills, \(acknowledged.values.reduce(0, +)) acknowledged")
        try await check(path, acknowledged, "\(kind)")
        #expect(acknowledged.count == 4)
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

    func check(
        _ path: String, _ acknowledged: [Int: Int], _ comment: Comment
    ) async throws {
        let store = try Store(
            at: path, schema: StoreSchema(Item.self), configuration: Views.configuration)
        defer { store.close() }
        #expect(try store.verify().problems == [], comment)
        try await checkViews(of: store, comment)
        var sizes: [UInt64: Int] = [:]
        let items = try store.read { transaction -> [Item] in
            try transaction.reader.log.visit(from: 1) { operation in
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
