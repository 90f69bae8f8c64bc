import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchViews
import Foundation
import SmallDisk
import TestBudget
import Testing
import Waiting

/// A process that writes at full durability is killed again and again, at any moment.
///
/// `KILL_ROUNDS` says how often; 12 unless given. `SHARED_KILLS` says how many of several processes that
/// share a store are killed; 10 unless given. `VIEW_ROUNDS` says how many write beside a store with views; 4
/// unless given. `FULL_DISK_KILLS` says how many are killed on each disk that is full now and then; 6 unless
/// given.
///
/// Each process makes so many transactions at most, so that a store is as large on a busy machine as on any.
@Suite(.budgeted, .serialized) struct KillTests {
    @Test func `what was acknowledged survives kills, and nothing is there in part`() async throws {
        let rounds = Load.count("KILL_ROUNDS", else: 12)
        // After so many rounds a new store is begun, so that opening one is interrupted too.
        let roundsPerStore = min(20, max(1, rounds / 2))
        let root = FileManager.default.temporaryDirectory.path + "/kill-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: root) }
        var acknowledged: [Int: Int] = [:]
        var total = 0
        var state: UInt64 = 42
        for round in 0..<rounds {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            if round % roundsPerStore == 0 { acknowledged = [:] }
            let path = root + "/store-\(round / roundsPerStore)"
            // Every fifth kill comes while the store is being opened.
            let lines = round % 5 == 0 ? 0 : Int(state >> 33) % 60
            let microseconds = UInt32(state >> 40) % (round % 5 == 0 ? 40_000 : 2_000)
            let helper = try Helper(path, mode: "alone", most: 40)
            try await helper.waitForLines(lines)
            for (writer, transaction) in try helper.kill(afterMicroseconds: microseconds) {
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
        let kills = Load.count("SHARED_KILLS", else: 10)
        let root = FileManager.default.temporaryDirectory.path + "/share-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: root) }
        let path = root + "/store"
        func start(_ number: Int) throws -> Helper {
            try Helper(path, firstWriter: 2 * number, most: 100)
        }
        var processes = try (0..<4).map(start)
        var acknowledged: [Int: Int] = [:]
        var state: UInt64 = 7
        for _ in 0..<kills {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let number = Int(state >> 33) % 4
            // Some kills come while a process opens the store.
            let lines = max(0, Int(state >> 35) % 32 - 8)
            let microseconds = UInt32(state >> 40) % (lines == 0 ? 60_000 : 10_000)
            try await processes[number].waitForLines(lines)
            for (writer, transaction) in try processes[number].kill(afterMicroseconds: microseconds)
            {
                acknowledged[writer] = max(acknowledged[writer] ?? -1, transaction)
            }
            processes[number] = try start(number)
        }
        for process in processes {
            for (writer, transaction) in try process.kill() {
                acknowledged[writer] = max(acknowledged[writer] ?? -1, transaction)
            }
        }
        let total = acknowledged.values.reduce(0) { $0 + $1 + 1 }
        print("\(kills) kills, \(total) acknowledged")
        #expect(total > kills)
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
        for round in 0..<Load.count("VIEW_ROUNDS", else: 4) {
            let helper = try Helper(path, firstWriter: 4 * (round % 2), mode: "plain", most: 40)
            for reads in 1...50 {
                // The helper has written one more before each read, and writes beside it up to its bound.
                try await helper.waitForLines(reads)
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
        let rounds = Load.count("KILL_ROUNDS", else: 12)
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
                let lines = random(below: 48)
                let most = max(1, lines) + random(below: 8)
                let helpers = try [0, 1].map {
                    try Helper(path, firstWriter: $0, mode: "migrate", most: most)
                }
                func areDone(_ helper: Helper) throws -> Bool {
                    try helper.acknowledged.contains { $0 == (0, 0) }
                }
                try await eventually {
                    for helper in helpers where helper.hasEnded { throw helper.ended }
                    return try helpers.contains { try $0.lineCount >= lines || areDone($0) }
                }
                // Without an item to wait for, the kill comes while a store is opened.
                let microseconds = random(below: lines == 0 ? 60_000 : 3_000)
                for (number, helper) in helpers.enumerated() {
                    _ = try helper.kill(afterMicroseconds: number == 0 ? UInt32(microseconds) : 0)
                    if try areDone(helper) { isDone = true }
                }
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
        let wanted = Load.count("FULL_DISK_KILLS", else: 6)
        let disk = try SmallDisk(kind)
        let path = disk.path + "/store"
        func start(_ number: Int) throws -> Helper {
            try Helper(path, firstWriter: 2 * number, most: 200)
        }
        var processes = try (0..<2).map(start)
        for process in processes { try await process.waitForWriters(2) }
        var acknowledged: [Int: Int] = [:]
        func kill(_ number: Int, afterMicroseconds: Int = 0) throws {
            let microseconds = UInt32(afterMicroseconds)
            for (writer, transaction) in try processes[number].kill(afterMicroseconds: microseconds)
            {
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
            let number = random(below: 2)
            try kill(number, afterMicroseconds: random(below: 100_000))
            guard round % 6 == 5 else {
                // A store opens on a full disk too.
                processes[number] = try start(number)
                continue
            }
            try kill(1 - number)
            disk.give()
            try await check(path, acknowledged, "\(kind), round \(round)")
            processes = try (0..<2).map(start)
            for process in processes { try await process.waitForLines(1) }
        }
        for number in 0..<2 { try kill(number) }
        disk.give()
        print("\(kind): \(wanted) kills, \(acknowledged.values.reduce(0, +)) acknowledged")
        try await check(path, acknowledged, "\(kind)")
        #expect(acknowledged.count == 4)
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
    func checkViews(of store: Store, _ comment: Comment) async throws {
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
