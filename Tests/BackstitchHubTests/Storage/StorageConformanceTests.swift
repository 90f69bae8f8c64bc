import BackstitchTesting
import Dispatch
import Foundation
import Testing

@testable import BackstitchHub
@testable import BackstitchHubCore

/// What a hub's storage promises, whatever it is made of.
@Suite("Storages of a hub") struct StorageConformanceTests {
    enum Engine: CaseIterable {
        case lmdb
        case memory

        func storage() throws -> any HubStorage {
            switch self {
            case .lmdb: try LMDBHubStorage.temporary()
            case .memory: MemoryHubStorage()
            }
        }
    }

    private struct Refused: Error {}

    /// A step of a program.
    private enum Step: Sendable {
        case put([UInt8], [UInt8])
        case delete([UInt8])
        case get([UInt8])
        case scan(prefix: [UInt8], from: [UInt8]?, countMax: Int)
        case scanBackwards(prefix: [UInt8], before: [UInt8]?, countMax: Int)
        case expect([KeyQuery])
    }

    /// What a step saw: entries in the order of the visit.
    private typealias Seen = [[UInt8]]

    private static let partitions = [Partition(number: 1), Partition(number: 0x1000)]

    private static func key(_ bytes: [UInt8]) -> HubKey {
        bytes.withUnsafeBytes { HubKey(bytes: $0) }
    }

    /// A key of the first partition.
    private static let someKey = HubKey(partitions[0], behind: [0x01])

    private static func run(_ steps: [Step], _ transaction: any HubReading) throws -> [Seen] {
        try steps.map { step in
            var seen: Seen = []
            func visit(
                _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, _ most: Int
            ) -> Bool {
                seen += [Array(key), Array(value)]
                return seen.count < 2 * most
            }
            switch step {
            case .put(let key, let value):
                try (transaction as? any HubWriting)?.put(Self.key(key), value)
            case .delete(let key): try (transaction as? any HubWriting)?.delete(Self.key(key))
            case .get(let key):
                if let value = try transaction.value(Self.key(key)) { seen = [value] }
            case .scan(let prefix, let start, let most):
                try transaction.scan(Self.key(prefix), from: start.map(Self.key)) {
                    visit($0, $1, most)
                }
            case .scanBackwards(let prefix, let end, let most):
                try transaction.scanBackwards(Self.key(prefix), before: end.map(Self.key)) {
                    visit($0, $1, most)
                }
            case .expect(let queries): transaction.expect { queries }
            }
            return seen
        }
    }

    /// What the steps see by the rules alone.
    private static func model(_ steps: [Step], _ entries: inout [[UInt8]: [UInt8]]) -> [Seen] {
        func pairs(
            _ prefix: [UInt8], _ most: Int, isBackwards: Bool = false,
            _ isIn: ([UInt8]) -> Bool
        ) -> Seen {
            let keys = entries.keys.filter { $0.starts(with: prefix) && isIn($0) }
                .sorted { $0.lexicographicallyPrecedes($1) }
            return (isBackwards ? keys.reversed() : keys).prefix(max(1, most))
                .flatMap { [$0, entries[$0] ?? []] }
        }
        return steps.map { step in
            switch step {
            case .put(let key, let value):
                entries[key] = value
                return []
            case .delete(let key):
                entries[key] = nil
                return []
            case .get(let key): return entries[key].map { [$0] } ?? []
            case .scan(let prefix, let start, let most):
                return pairs(prefix, most) { key in
                    start.map { !key.lexicographicallyPrecedes($0) } ?? true
                }
            case .scanBackwards(let prefix, let end, let most):
                return pairs(prefix, most, isBackwards: true) { key in
                    end.map { key.lexicographicallyPrecedes($0) } ?? true
                }
            case .expect: return []
            }
        }
    }

    /// Random steps over few keys, many of which begin alike.
    private struct Maker {
        var random: SeededGenerator

        mutating func pick<T>(_ values: [T]) -> T {
            values[Int.random(in: 0..<values.count, using: &random)]
        }

        mutating func bytes(_ range: ClosedRange<Int>) -> [UInt8] {
            (0..<Int.random(in: range, using: &random)).map { _ in
                pick([0x00, 0x01, 0x10, 0x7F, 0xFE, 0xFF])
            }
        }

        mutating func key() -> [UInt8] {
            pick(StorageConformanceTests.partitions).bytes + bytes(1...3)
        }

        mutating func step() -> Step {
            let prefix = Array(key().prefix(pick([8, 8, 9, 10])))
            let inside = pick([nil, prefix + bytes(0...2)])
            let most = pick([1, 2, 5, 1_000])
            switch Int.random(in: 0..<9, using: &random) {
            case 0, 1, 2: return .put(key(), bytes(0...40))
            case 3: return .delete(key())
            case 4: return .get(key())
            case 5, 6: return .scan(prefix: prefix, from: inside, countMax: most)
            case 7: return .scanBackwards(prefix: prefix, before: inside, countMax: most)
            default:
                let range = KeyQuery.Range(
                    prefix: StorageConformanceTests.key(prefix),
                    start: inside.map(StorageConformanceTests.key), countMax: most)
                return .expect(
                    pick([
                        [.key(StorageConformanceTests.key(key()))], [.entries(range)],
                        [.named(by: range, under: StorageConformanceTests.key(key()))],
                    ]))
            }
        }

        mutating func steps() -> [Step] {
            (0..<Int.random(in: 1...12, using: &random)).map { _ in step() }
        }
    }

    @Test(arguments: Engine.allCases)
    func `random programs see what the rules say`(engine: Engine) async throws {
        let seeds = ProcessInfo.processInfo.environment["STORAGE_SEEDS"].flatMap(UInt64.init) ?? 25
        for seed in 1...seeds {
            let storage = try engine.storage()
            defer { storage.close() }
            var maker = Maker(random: SeededGenerator(seed: seed))
            var entries: [[UInt8]: [UInt8]] = [:]
            for number in 0..<30 {
                let steps = maker.steps()
                let isRefused = maker.pick([true, false, false, false])
                var after = entries
                let expected = Self.model(steps, &after)
                let seen: [Seen]? = try? await storage.write(
                    to: Partitions(Self.partitions)
                ) { transaction in
                    let seen = try Self.run(steps, transaction)
                    #expect(seen == expected, "seed \(seed), transaction \(number)")
                    if isRefused { throw Refused() }
                    return seen
                }
                #expect((seen == nil) == isRefused, "seed \(seed), transaction \(number)")
                if !isRefused { entries = after }
                let look = Self.partitions.map {
                    Step.scan(prefix: $0.bytes, from: nil, countMax: 10_000)
                }
                let left = try storage.read { try Self.run(look, $0) }
                #expect(left == Self.model(look, &entries), "seed \(seed), after \(number)")
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `writes at once happen one after the other, and those that fail leave no trace`(
        engine: Engine
    ) async throws {
        let storage = try engine.storage()
        defer { storage.close() }
        let key = Self.someKey
        let count = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<200 {
                group.addTask {
                    let result: Void? = try? await storage.write(
                        RequestWork(client: "\(number % 7)"), to: [Self.partitions[0]]
                    ) { transaction in
                        let count = try transaction.value(key)?.first ?? 0
                        try transaction.put(key, [count &+ 1])
                        if number.isMultiple(of: 3) { throw Refused() }
                    }
                    return result != nil
                }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(count == 133)
        #expect(try storage.read { try $0.value(key) } == [UInt8(count)])
    }

    @Test(arguments: Engine.allCases)
    func `a reader keeps its snapshot while others write`(engine: Engine) async throws {
        let storage = try engine.storage()
        defer { storage.close() }
        let key = Self.someKey
        try await storage.write(to: [Self.partitions[0]]) { try $0.put(key, [1]) }
        let (isReading, mayGoOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        async let reader = Self.onAnotherThread {
            try storage.read { transaction in
                let before = try transaction.value(key)
                isReading.signal()
                mayGoOn.wait()
                return [before, try transaction.value(key)]
            }
        }
        try await Self.onAnotherThread { isReading.wait() }
        try await storage.write(to: [Self.partitions[0]]) { try $0.put(key, [2]) }
        mayGoOn.signal()
        #expect(try await reader == [[1], [1]])
        #expect(try storage.read { try $0.value(key) } == [2])
    }

    private static func onAnotherThread<R: Sendable>(
        _ body: @escaping @Sendable () throws -> R
    ) async throws -> R {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(with: Result { try body() }) }
        }
    }

    @Test(arguments: Engine.allCases)
    func `a storage that ends refuses what comes`(engine: Engine) async throws {
        let storage = try engine.storage()
        defer { storage.close() }
        storage.refuseWrites()
        await #expect(throws: WorkGivenUp.self) {
            try await storage.write(to: [Self.partitions[0]]) { try $0.put(Self.someKey, []) }
        }
        #expect(try storage.read { try $0.value(Self.someKey) } == nil)
    }

    // MARK: Partitions

    /// Fills two partitions, so that each has the neighbours of the other's keys.
    private static func fill(_ storage: any HubStorage) async throws {
        try await storage.write(to: Partitions(partitions)) { transaction in
            for (number, partition) in partitions.enumerated() {
                for byte in UInt8.min...9 {
                    try transaction.put(
                        HubKey(partition, behind: [byte, 0xFF]),
                        [UInt8](repeating: byte, count: number))
                }
            }
        }
    }

    private static func entries(
        _ storage: any HubStorage, _ partition: Partition
    ) throws -> [[UInt8]] {
        try storage.read { transaction in
            var entries: [[UInt8]] = []
            try transaction.scan(HubKey(partition), from: nil) { key, value in
                entries.append(Array(key.dropFirst(Partition.byteCount)) + Array(value))
                return true
            }
            return entries
        }
    }

    @Test(arguments: Engine.allCases)
    func `a partition is measured by itself`(engine: Engine) async throws {
        let storage = try engine.storage()
        defer { storage.close() }
        try await Self.fill(storage)
        let sizes = try storage.read { transaction in
            try (Self.partitions + [Partition(number: 2)]).map { try transaction.size(of: $0) }
        }
        #expect(sizes.map(\.entries) == [10, 10, 0])
        #expect(sizes.map(\.bytes) == [100, 110, 0])
    }

    @Test(arguments: Engine.allCases, Engine.allCases)
    func `a partition is copied to another number, here or elsewhere`(
        engine: Engine, other: Engine
    ) async throws {
        let (storage, elsewhere) = (try engine.storage(), try other.storage())
        defer {
            storage.close()
            elsewhere.close()
        }
        try await Self.fill(storage)
        let (from, to) = (Self.partitions[1], Partition(number: 2))
        try await storage.write(to: [to]) { try $0.copy(from, to: $0, as: to) }
        try await elsewhere.write(to: [to]) { target in
            try storage.read { try $0.copy(from, to: target, as: to) }
        }
        let expected = try Self.entries(storage, from)
        #expect(expected.count == 10)
        #expect(try Self.entries(storage, to) == expected)
        #expect(try Self.entries(elsewhere, to) == expected)
        #expect(try Self.entries(storage, Self.partitions[0]).count == 10)
    }

    @Test(arguments: Engine.allCases)
    func `a partition is erased bit by bit, and no other`(engine: Engine) async throws {
        let storage = try engine.storage()
        defer { storage.close() }
        try await Self.fill(storage)
        let erased = Self.partitions[0]
        var isGone: [Bool] = []
        while isGone.last != true, isGone.count < 9 {
            isGone.append(
                try await storage.write(to: [erased]) { try $0.erase(erased, countMax: 4) })
        }
        #expect(isGone == [false, false, true])
        #expect(try Self.entries(storage, erased).isEmpty)
        #expect(try Self.entries(storage, Self.partitions[1]).count == 10)
    }

    @Test func `partitions are taken in ascending order, each once`() {
        let partitions: Partitions = [
            Partition(number: 7), .global, Partition(number: 7), Partition(number: 3),
        ]
        #expect(partitions.ascending.map(\.number) == [0, 3, 7])
    }

    @Test func `a write to a partition that was not named stops the program: LMDB`() async {
        await #expect(processExitsWith: .failure) {
            let storage = try LMDBHubStorage.temporary()
            try await storage.write(to: [.global, Partition(number: 2)]) {
                try $0.put(HubKey(Partition(number: 1), .zone), [])
            }
        }
    }

    @Test func `a write to a partition that was not named stops the program: memory`() async {
        await #expect(processExitsWith: .failure) {
            let storage = MemoryHubStorage()
            try await storage.write(to: [.global]) {
                try $0.delete(HubKey(Partition(number: 1), .zone))
            }
        }
    }

    @Test func `the text of a partition is one alone`() {
        for number in [0, 1, 10, 255, UInt64.max] {
            let partition = Partition(number: number)
            #expect(Partition(text: partition.text) == partition)
        }
        for text in ["", "00", "0a", "A", "+1", "-1", " 1", "g", "10000000000000000", "1 "] {
            #expect(Partition(text: text) == nil, "\(text)")
        }
    }
}

extension Partition {
    /// Its number as keys have it.
    fileprivate var bytes: [UInt8] { HubKey(self).bytes }
}
