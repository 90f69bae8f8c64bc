import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchTesting
import Foundation
import TestBudget
import Testing
import WriterHistory

extension KillTests {
    /// Two to four processes with commits of all kinds share a store, each at a durability of its own, and
    /// each is killed or closes the store, in an order that a seed draws. What a process knows of the
    /// others' commits may be old when it closes. Some begin again while others are still there.
    ///
    /// `SHARED_CLOSES` says how many close; 8 unless given. Each seed has a store of its own.
    @Test func `processes of either durability end in any order, and lose nothing`() async throws {
        let wanted = Load.count("SHARED_CLOSES", else: 8)
        let root = FileManager.default.temporaryDirectory.path + "/close-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: root) }
        var (closes, seed) = (0, UInt64(0))
        while closes < wanted {
            let path = "\(root)/\(seed)"
            closes += try await endInAnyOrder(MixedProcesses(path: path, seed: seed))
            try FileManager.default.removeItem(atPath: path)
            seed += 1
        }
        print("\(closes) closes, seeds 0..<\(seed)")
    }

    /// - Returns: How many processes closed the store.
    private func endInAnyOrder(_ processes: MixedProcesses) async throws -> Int {
        var processes = processes
        var random = SeededGenerator(seed: processes.seed)
        var closes = 0
        for round in 0..<3 {
            for number in 0..<Int.random(in: 2...4, using: &random) {
                try processes.start(number, most: [2, 24], &random)
            }
            var restarts = Int.random(in: 0...2, using: &random)
            while !processes.running.isEmpty {
                let process = processes.takeAny(&random)
                try await process.helper.waitForLines(Int.random(in: 1...4, using: &random))
                // Records are applied after half a second without a commit.
                let bound = [1_000, 50_000, 800_000][Int.random(in: 0..<3, using: &random)]
                let microseconds = UInt32.random(in: 0..<UInt32(bound), using: &random)
                if Int.random(in: 0..<3, using: &random) == 0 {
                    processes.promise(try process.helper.kill(afterMicroseconds: microseconds))
                } else {
                    processes.promise(try process.helper.close(afterMicroseconds: microseconds))
                    closes += 1
                }
                if restarts > 0, Bool.random(using: &random) {
                    restarts -= 1
                    try processes.start(process.number, most: [2, 24], &random)
                }
            }
            // Some rounds begin with the store as the last process left it.
            if round == 2 || Bool.random(using: &random) {
                try await check(processes, "seed \(processes.seed), round \(round)")
            }
        }
        return closes
    }

    /// Expects that all that was promised is there, and each commit as a whole.
    func check(_ processes: MixedProcesses, _ comment: Comment) async throws {
        let store = try Store(
            at: processes.path, schema: StoreSchema(Item.self), configuration: Views.configuration)
        defer { store.close() }
        #expect(try store.verify().problems == [], comment)
        try await checkViews(of: store, comment)
        let items = try store.read { try $0.fetch(Item.self) }
        let writers = Dictionary(grouping: items, by: \.writer)
        for (writer, items) in writers {
            let records = items.map { item in
                (
                    item.id.description,
                    WriterHistory.Record(transaction: item.transaction, text: item.text)
                )
            }
            var history = WriterHistory(seed: processes.seed, writer: writer)
            let isWhole = history.advance(to: Dictionary(uniqueKeysWithValues: records))
            #expect(isWhole, comment)
            #expect(history.count > processes.promised[writer] ?? -1, comment)
        }
        #expect(Set(processes.promised.keys).isSubset(of: writers.keys), comment)
    }
}

/// Processes with commits of all kinds that share a store, and what they promised.
struct MixedProcesses {
    struct Process {
        let number: Int
        let durability: StoreConfiguration.Durability
        let helper: Helper
    }

    var path: String
    /// What the commits are drawn from.
    let seed: UInt64
    /// The last commit of each writer that has to be there.
    private(set) var promised: [Int: Int] = [:]
    private(set) var running: [Process] = []

    init(path: String, seed: UInt64) {
        self.path = path
        self.seed = seed
    }

    /// Starts one at a durability by chance.
    ///
    /// - Parameter most: How many commits each of its writers may make at most: one of these.
    mutating func start(_ number: Int, most: [Int], _ random: inout SeededGenerator) throws {
        let durability: StoreConfiguration.Durability =
            Bool.random(using: &random) ? .full : .relaxed
        let most = most[Int.random(in: most.indices, using: &random)]
        let helper = try Helper(
            path, firstWriter: 2 * number, mode: durability.rawValue, most: most, seed: seed)
        running.append(Process(number: number, durability: durability, helper: helper))
    }

    /// Takes one out that is to end, whichever it is.
    mutating func takeAny(_ random: inout SeededGenerator) -> Process {
        running.remove(at: Int.random(in: running.indices, using: &random))
    }

    /// Notes commits that have to be there from now on.
    mutating func promise(_ acknowledged: [(writer: Int, transaction: Int)]) {
        for (writer, transaction) in acknowledged {
            promised[writer] = max(promised[writer] ?? -1, transaction)
        }
    }
}
