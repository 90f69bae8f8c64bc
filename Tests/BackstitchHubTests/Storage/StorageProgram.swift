import BackstitchTesting
import Testing

@testable import BackstitchHubCore

/// Random transactions, and what they see by the rules alone: what any storage of a hub can be put to.
/// The seed makes the program, so that a failure can be seen again.
enum StorageProgram {
    private struct Refused: Error {}

    /// A step of a transaction.
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

    static let partitions = [Partition(number: 1), Partition(number: 0x1000)]

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

        mutating func key(_ partitions: [Partition]) -> [UInt8] {
            HubKey(pick(partitions)).bytes + bytes(1...3)
        }

        mutating func query(_ partitions: [Partition]) -> KeyQuery {
            let prefix = Array(key(partitions).prefix(pick([8, 9, 10])))
            let bound = pick([nil, prefix + bytes(0...2)]).map(StorageProgram.key)
            let range = KeyQuery.Range(
                prefix: StorageProgram.key(prefix), bound: bound, countMax: pick([1, 2, 5, 1_000]),
                isReverse: pick([false, true]))
            let key = StorageProgram.key(key(partitions))
            return pick([
                .key(key), .entries(range), .named(by: range, .value, under: key),
                .named(by: range, .key, under: key),
            ])
        }

        mutating func step(_ partitions: [Partition]) -> Step {
            let prefix = Array(key(partitions).prefix(pick([8, 8, 9, 10])))
            let inside = pick([nil, prefix + bytes(0...2)])
            let most = pick([1, 2, 5, 1_000])
            switch Int.random(in: 0..<10, using: &random) {
            case 0, 1, 2: return .put(key(partitions), bytes(0...40))
            case 3: return .delete(key(partitions))
            case 4: return .get(key(partitions))
            case 5, 6: return .scan(prefix: prefix, from: inside, countMax: most)
            case 7, 8: return .scanBackwards(prefix: prefix, before: inside, countMax: most)
            default:
                return .expect((0..<pick([1, 1, 3])).map { _ in query(partitions) })
            }
        }

        mutating func steps(_ partitions: [Partition] = partitions) -> [Step] {
            (0..<Int.random(in: 1...12, using: &random)).map { _ in step(partitions) }
        }
    }

    /// All that partitions have.
    private static func contents(
        of storage: any HubStorage, _ partitions: [Partition] = partitions
    ) async throws -> [[UInt8]: [UInt8]] {
        try await storage.read { transaction in
            var entries: [[UInt8]: [UInt8]] = [:]
            for partition in partitions {
                try transaction.scan(HubKey(partition), from: nil) { key, value in
                    entries[Array(key)] = Array(value)
                    return true
                }
            }
            return entries
        }
    }

    // MARK: One by one

    /// Transactions of one writer, some of which fail: each sees what those before it left, and what it
    /// wrote itself.
    static func checkOneByOne(
        seed: UInt64, _ make: () async throws -> any HubStorage
    ) async throws {
        let storage = try await make()
        defer { storage.close() }
        var maker = Maker(random: SeededGenerator(seed: seed))
        var entries: [[UInt8]: [UInt8]] = [:]
        for number in 0..<30 {
            let (told, steps) = (maker.query(partitions), maker.steps())
            let isRefused = maker.pick([true, false, false, false])
            var after = entries
            let expected = model(steps, &after)
            let seen: [Seen]? = try? await storage.write(
                to: Partitions(partitions), expecting: { [told] }
            ) { transaction in
                let seen = try run(steps, transaction)
                #expect(seen == expected, "seed \(seed), transaction \(number)")
                if isRefused { throw Refused() }
                return seen
            }
            #expect((seen == nil) == isRefused, "seed \(seed), transaction \(number)")
            if !isRefused { entries = after }
            let reads = maker.steps().filter { if case .put = $0 { false } else { true } }
                .filter { if case .delete = $0 { false } else { true } }
            let read = try await storage.read { try run(reads, $0) }
            #expect(read == model(reads, &after) || isRefused, "seed \(seed), read \(number)")
            #expect(try await contents(of: storage) == entries, "seed \(seed), after \(number)")
        }
    }

    // MARK: At once

    /// A transaction of one of several writers.
    private struct Job: Sendable {
        var name: UInt8
        var partitions: [Partition]
        var steps: [Step]
        var isRefused: Bool
        /// What the steps saw; nil before they ran, and if they were refused.
        var seen: [Seen]?
    }

    /// Behind all keys of the steps: which transactions wrote to a partition, in their order.
    private static func order(_ partition: Partition) -> HubKey {
        HubKey(partition, behind: [0xFF, 0xFF, 0xFF, 0xFF])
    }

    /// Transactions of several writers, each of one or both partitions: there is an order of them in which
    /// each sees what it saw.
    static func checkAtOnce(
        seed: UInt64, _ make: () async throws -> any HubStorage
    ) async throws {
        let storage = try await make()
        defer { storage.close() }
        var maker = Maker(random: SeededGenerator(seed: seed &+ 1_000_000))
        let lists = (0..<UInt8(4)).map { writer in
            (0..<UInt8(8)).map { number in
                let partitions = maker.pick([[partitions[0]], [partitions[1]], partitions])
                return Job(
                    name: writer * 8 + number, partitions: partitions,
                    steps: maker.steps(partitions), isRefused: maker.pick([true, false, false]))
            }
        }
        let jobs = await withTaskGroup(of: [Job].self) { group in
            for list in lists {
                group.addTask {
                    var done: [Job] = []
                    for job in list { done.append(await run(job, storage)) }
                    return done
                }
            }
            return await group.reduce(into: [UInt8: Job]()) { jobs, list in
                for job in list { jobs[job.name] = job }
            }
        }
        for job in jobs.values {
            #expect((job.seen == nil) == job.isRefused, "seed \(seed), job \(job.name)")
        }
        var left = try await contents(of: storage)
        let orders = partitions.map { left.removeValue(forKey: order($0).bytes) ?? [] }
        let merged = try #require(merge(orders, jobs), "seed \(seed): no order of both partitions")
        #expect(Set(merged) == Set(jobs.values.filter { !$0.isRefused }.map(\.name)))
        var entries: [[UInt8]: [UInt8]] = [:]
        for name in merged {
            guard let job = jobs[name] else { continue }
            #expect(model(job.steps, &entries) == job.seen, "seed \(seed), job \(name)")
        }
        #expect(left == entries, "seed \(seed)")
    }

    private static func run(_ job: Job, _ storage: any HubStorage) async -> Job {
        let seen: [Seen]? = try? await storage.write(
            RequestWork(client: "\(job.name % 3)"), to: Partitions(job.partitions),
            expecting: { job.partitions.map { .key(order($0)) } }
        ) { transaction in
            // Scans must not see the order, which lies behind all they look at.
            let seen = try run(job.steps, Hidden(transaction))
            for partition in job.partitions {
                let names = try transaction.value(order(partition)) ?? []
                try transaction.put(order(partition), names + [job.name])
            }
            if job.isRefused { throw Refused() }
            return seen
        }
        var job = job
        job.seen = seen
        return job
    }

    /// One order that agrees with those of the partitions; nil if there is none.
    private static func merge(_ orders: [[UInt8]], _ jobs: [UInt8: Job]) -> [UInt8]? {
        var (rest, merged) = (orders.map { ArraySlice($0) }, [UInt8]())
        while rest.contains(where: { !$0.isEmpty }) {
            let next = rest.compactMap(\.first).first { name in
                jobs[name]?.partitions.allSatisfy { partition in
                    partitions.firstIndex(of: partition).map { rest[$0].first == name } ?? false
                } ?? false
            }
            guard let next else { return nil }
            merged.append(next)
            for index in rest.indices where rest[index].first == next { rest[index].removeFirst() }
        }
        return merged
    }

    /// A transaction without the entries that tell the order.
    private struct Hidden: HubWriting {
        let base: any HubWriting

        init(_ base: any HubWriting) { self.base = base }

        var work: RequestWork { base.work }
        var isFar: Bool { base.isFar }
        var run: UInt64 { get throws { try base.run } }

        func expect(_ queries: () throws -> [KeyQuery]) rethrows { try base.expect(queries) }

        func withValue<R>(
            _ key: HubKey, _ body: (UnsafeRawBufferPointer) throws -> R
        ) throws -> R? { try base.withValue(key, body) }

        func scan(
            _ prefix: HubKey, from start: HubKey?,
            _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool
        ) throws {
            try base.scan(prefix, from: start) { try Self.isOrder($0) || body($0, $1) }
        }

        func scanBackwards(
            _ prefix: HubKey, before end: HubKey?,
            _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool
        ) throws {
            try base.scanBackwards(prefix, before: end) { try Self.isOrder($0) || body($0, $1) }
        }

        private static func isOrder(_ key: UnsafeRawBufferPointer) -> Bool {
            partitions.contains { key.elementsEqual(order($0).bytes) }
        }

        func put(_ key: HubKey, _ value: [UInt8]) throws { try base.put(key, value) }
        func delete(_ key: HubKey) throws { try base.delete(key) }
    }
}
