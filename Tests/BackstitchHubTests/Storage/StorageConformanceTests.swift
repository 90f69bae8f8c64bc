import BackstitchTesting
import Dispatch
import Foundation
import TestBudget
import Testing
import Threading
import Waiting

@testable import BackstitchHub
@testable import BackstitchHubCore

/// What a hub's storage promises, whatever it is made of.
@Suite("Storages of a hub", .budgeted) struct StorageConformanceTests {
    private struct Refused: Error {}

    private static let partitions = StorageProgram.partitions
    /// A key of the first partition.
    private static let someKey = HubKey(partitions[0], behind: [0x01])

    @Test(arguments: StorageEngine.available)
    func `random programs see what the rules say`(engine: StorageEngine) async throws {
        for seed in 1...UInt64(Load.count("STORAGE_SEEDS", else: 2)) {
            try await StorageProgram.checkOneByOne(seed: seed) { try engine.storage() }
            try await StorageProgram.checkAtOnce(seed: seed) { try engine.storage() }
        }
    }

    @Test(arguments: StorageEngine.available)
    func `writes at once happen one after the other, and those that fail leave no trace`(
        engine: StorageEngine
    ) async throws {
        let storage = try engine.storage()
        defer { storage.close() }
        let key = Self.someKey
        let count = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<200 {
                group.addTask {
                    let result: Void? = try? await storage.write(
                        RequestWork(client: "\(number % 7)"), to: [Self.partitions[0]],
                        expecting: { [] }
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
        #expect(try await storage.read { try $0.value(key) } == [UInt8(count)])
    }

    @Test(arguments: StorageEngine.available)
    func `a reader keeps its snapshot while others write`(engine: StorageEngine) async throws {
        let storage = try engine.storage()
        defer { storage.close() }
        let key = Self.someKey
        try await storage.write(to: [Self.partitions[0]]) { try $0.put(key, [1]) }
        let (isReading, mayGoOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        async let reader = storage.read { transaction in
            let before = try transaction.value(key)
            isReading.signal()
            mayGoOn.wait()
            return [before, try transaction.value(key)]
        }
        try await Self.onAnotherThread { isReading.wait() }
        try await storage.write(to: [Self.partitions[0]]) { try $0.put(key, [2]) }
        mayGoOn.signal()
        #expect(try await reader == [[1], [1]])
        #expect(try await storage.read { try $0.value(key) } == [2])
    }

    private static func onAnotherThread<R: Sendable>(
        _ body: @escaping @Sendable () throws -> R
    ) async throws -> R {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(with: Result { try body() }) }
        }
    }

    @Test(arguments: StorageEngine.available)
    func `all that a storage commits is of one run, and another storage's is of another`(
        engine: StorageEngine
    ) async throws {
        let (storage, other, keeping) = try engine.pair()
        defer {
            other.close()
            storage.close()
            withExtendedLifetime(keeping) {}
        }
        var runs: [UInt64] = []
        for storage in [storage, other, storage, other] {
            runs.append(
                try await storage.write(to: [Self.partitions[0]]) { transaction in
                    try transaction.put(Self.someKey, [1])
                    return try transaction.run
                })
        }
        #expect(runs[0] == runs[2] && runs[1] == runs[3] && runs[0] != runs[1])
        #expect(!runs.contains(0))
    }

    @Test(arguments: StorageEngine.available)
    func `a storage that ends refuses what comes`(engine: StorageEngine) async throws {
        let storage = try engine.storage()
        defer { storage.close() }
        storage.refuseWork()
        await #expect(throws: WorkCancelled.self) {
            try await storage.write(to: [Self.partitions[0]]) { try $0.put(Self.someKey, []) }
        }
        await #expect(throws: WorkCancelled.self) {
            try await storage.read { try $0.value(Self.someKey) }
        }
    }

    @Test(arguments: StorageEngine.available)
    func `a read is answered on a thread of the storage, also with a failure`(
        engine: StorageEngine
    ) async throws {
        let storage = try engine.storage()
        defer { storage.close() }
        try await storage.write(to: [Self.partitions[0]]) { try $0.put(Self.someKey, [7]) }
        for fails in [false, true] {
            let result: Result<[UInt8]?, any Error> = await withCheckedContinuation {
                continuation in
                storage.submitRead(.scan, RequestWork()) { transaction in
                    if fails { throw Refused() }
                    return try transaction.value(Self.someKey)
                } answer: { result in
                    return { continuation.resume(returning: result) }
                }
            }
            #expect(fails ? (try? result.get()) == nil : try result.get() == [7])
        }
        let atHand = try storage.readAtHand(RequestWork()) { try $0.value(Self.someKey) }
        #expect(atHand == (engine.isFar ? nil : [7]))
        #expect(throws: Refused.self) {
            _ = try storage.readAtHand(RequestWork()) { _ in throw Refused() }
            if engine.isFar { throw Refused() }
        }
    }

    @Test(arguments: StorageEngine.available)
    func `what others change is told, and what is written here is not`(
        engine: StorageEngine
    ) async throws {
        let (first, second, kept) = try engine.pair()
        defer {
            second.close()
            first.close()
            withExtendedLifetime(kept) {}
        }
        let told = Locked((count: 0, partitions: Set<Partition>()))
        first.wakeUp {
            Self.partitions
        } _: { changed in
            told.withLock { told in
                told.count += 1
                for partition in Self.partitions where changed.contains(partition) {
                    told.partitions.insert(partition)
                }
            }
        }
        // It has begun to look when it has told of something.
        var number: UInt8 = 0
        try await eventually {
            number &+= 1
            try await second.write(to: [.global]) { [number] transaction in
                try transaction.put(HubKey(.global, behind: [0x01]), [number])
            }
            return told.withLock { $0.count } > 0
        }
        // LMDB, which tells of everything at once, has told of what others wrote when it writes itself.
        try await first.write(to: [Self.partitions[0]]) { try $0.put(Self.someKey, [0xFF]) }
        told.withLock { $0 = (0, []) }
        for number in 0..<30 {
            try await first.write(to: [Self.partitions[0]]) { transaction in
                try transaction.put(Self.someKey, [UInt8(number)])
            }
            // Storages look by a clock. Without a look between the writes a fault is missed, and no more.
            try await Task.sleep(for: .milliseconds(10))
        }
        #expect(told.withLock { $0.partitions } == [])
        try await second.write(to: [Self.partitions[1]]) { transaction in
            try transaction.put(HubKey(Self.partitions[1], behind: [0x01]), [1])
        }
        try await eventually { told.withLock { $0.partitions.contains(Self.partitions[1]) } }
        let isExact = engine != .lmdb
        #expect(told.withLock { $0.partitions.count } == (isExact ? 1 : 2))
        // What is seen then is what the other one wrote.
        let seen = try await first.read { transaction in
            try transaction.value(HubKey(Self.partitions[1], behind: [0x01]))
        }
        #expect(seen == [1])
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
    ) async throws -> [[UInt8]] {
        try await storage.read { transaction in
            var entries: [[UInt8]] = []
            try transaction.scan(HubKey(partition), from: nil) { key, value in
                entries.append(Array(key.dropFirst(Partition.byteCount)) + Array(value))
                return true
            }
            return entries
        }
    }

    @Test(arguments: StorageEngine.available)
    func `a partition is measured by itself`(engine: StorageEngine) async throws {
        let storage = try engine.storage()
        defer { storage.close() }
        try await Self.fill(storage)
        let sizes = try await storage.read { transaction in
            try (Self.partitions + [Partition(number: 2)]).map { try transaction.size(of: $0) }
        }
        #expect(sizes.map(\.entries) == [10, 10, 0])
        #expect(sizes.map(\.bytes) == [100, 110, 0])
    }

    @Test(arguments: StorageEngine.available, StorageEngine.available)
    func `a partition is copied to another number bit by bit, here or elsewhere`(
        engine: StorageEngine, other: StorageEngine
    ) async throws {
        let (storage, elsewhere) = (try engine.storage(), try other.storage())
        defer {
            storage.close()
            elsewhere.close()
        }
        try await Self.fill(storage)
        let (from, to) = (Self.partitions[1], Partition(number: 2))
        var (next, parts) = (HubKey?.none, 0)
        repeat {
            next = try await storage.write(to: [to]) { [next] in
                try $0.copy(from, to: $0, as: to, from: next, countMax: 4)
            }
            parts += 1
        } while next != nil && parts < 9
        #expect(parts == 3)
        let copied = try await storage.read { transaction in
            var entries: [(HubKey, [UInt8])] = []
            try transaction.scan(HubKey(from), from: nil) { key, value in
                let behind = key.dropFirst(Partition.byteCount)
                entries.append((HubKey(to, behind: behind), Array(value)))
                return true
            }
            return entries
        }
        try await elsewhere.write(to: [to]) { target in
            for (key, value) in copied { try target.put(key, value) }
        }
        let expected = try await Self.entries(storage, from)
        #expect(expected.count == 10)
        #expect(try await Self.entries(storage, to) == expected)
        #expect(try await Self.entries(elsewhere, to) == expected)
        #expect(try await Self.entries(storage, Self.partitions[0]).count == 10)
    }

    @Test(arguments: StorageEngine.available)
    func `a partition is erased bit by bit, and no other`(engine: StorageEngine) async throws {
        let storage = try engine.storage()
        defer { storage.close() }
        try await Self.fill(storage)
        let erased = Self.partitions[0]
        var gone: [Int] = []
        while gone.last != 0, gone.count < 9 {
            gone.append(
                try await storage.write(to: [erased]) { try $0.erase(erased, countMax: 4) })
        }
        #expect(gone == [4, 4, 2, 0])
        #expect(try await Self.entries(storage, erased).isEmpty)
        #expect(try await Self.entries(storage, Self.partitions[1]).count == 10)
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
