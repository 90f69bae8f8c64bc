import Backstitch
import BackstitchCore
import BackstitchStore
import Foundation
import Testing

/// A process that writes at full durability is killed again and again, at any moment.
///
/// `KILL_ROUNDS` says how often; 25 unless given.
@Suite struct KillTests {
    /// After so many rounds a new store is begun, so that opening one is interrupted too.
    private static let roundsPerStore = 20

    private struct Failure: Error {}

    @Test func `what was acknowledged survives kills, and nothing is there in part`() throws {
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
            try check(path, acknowledged, "round \(round)")
        }
        print("\(rounds) kills, \(total) acknowledged transactions")
        #expect(total > rounds)
    }

    /// Runs the helper until it printed so many lines and for so long after; returns what it
    /// printed until it was killed.
    private func run(
        _ path: String, lines: Int, microseconds: UInt32
    ) throws -> [(Int, Int)] {
        let process = Process()
        let bundle = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        process.executableURL = URL(fileURLWithPath: bundle).deletingLastPathComponent()
            .appendingPathComponent("BackstitchKillHelper")
        process.arguments = [path]
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        var output = Data()
        while output.count(where: { $0 == 10 }) < lines {
            let more = pipe.fileHandleForReading.availableData
            guard !more.isEmpty else { throw Failure() }
            output.append(more)
        }
        usleep(microseconds)
        kill(process.processIdentifier, SIGKILL)
        output.append(pipe.fileHandleForReading.readDataToEndOfFile())
        process.waitUntilExit()
        #expect(process.terminationReason == .uncaughtSignal)
        let whole = output.prefix((output.lastIndex(of: 10) ?? -1) + 1)
        return try String(decoding: whole, as: UTF8.self).split(separator: "\n").map { line in
            let parts = line.split(separator: " ").compactMap { Int($0) }
            return try (#require(parts.first), #require(parts.last))
        }
    }

    private func check(
        _ path: String, _ acknowledged: [Int: Int], _ comment: Comment
    ) throws {
        let store = try Store(at: path, schema: Schema(Item.self))
        defer { store.close() }
        #expect(try store.verify().problems == [], comment)
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
}
