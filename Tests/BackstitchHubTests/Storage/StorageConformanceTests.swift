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

    private static func key(_ bytes: [UInt8]) -> HubKey {
        bytes.withUnsafeBytes { HubKey(bytes: $0) }
    }

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

        mutating func key() -> [UInt8] { [pick([0x01, 0x10])] + bytes(0...3) }

        mutating func step() -> Step {
            let prefix = Array(key().prefix(pick([1, 1, 2, 3])))
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
                let seen: [Seen]? = try? await storage.write { transaction in
                    let seen = try Self.run(steps, transaction)
                    #expect(seen == expected, "seed \(seed), transaction \(number)")
                    if isRefused { throw Refused() }
                    return seen
                }
                #expect((seen == nil) == isRefused, "seed \(seed), transaction \(number)")
                if !isRefused { entries = after }
                let look = [UInt8]([0x01, 0x10]).map { table in
                    Step.scan(prefix: [table], from: nil, countMax: 10_000)
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
        let key = Self.key([0x01])
        let count = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<200 {
                group.addTask {
                    let result: Void? = try? await storage.write(
                        RequestWork(client: "\(number % 7)")
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
        let key = Self.key([0x01])
        try await storage.write { try $0.put(key, [1]) }
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
        try await storage.write { try $0.put(key, [2]) }
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
            try await storage.write { try $0.put(Self.key([0x01]), []) }
        }
        #expect(try storage.read { try $0.value(Self.key([0x01])) } == nil)
    }
}
