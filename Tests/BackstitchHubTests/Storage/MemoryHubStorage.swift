import Threading

@testable import BackstitchHubCore

/// A hub's storage in memory, as plain as can be; or one that is far away, with as many round trips as
/// it would take. Several hubs can share the entries, each with a storage of its own.
final class MemoryHubStorage: SnapshotStorage {
    /// What the transactions since the last look would have cost.
    struct Meter: Hashable {
        /// Round trips for what transactions read, without the one that writes.
        var roundTrips = 0
        /// Keys and ranges that nobody told of, each of which is a round trip.
        var misses: [HubKey] = []
        /// The most keys that one of them wrote.
        var writesMax = 0
    }

    /// What the storages share.
    private struct Shared {
        var entries = SortedEntries()
        /// What is called when another one changed something, by the numbers of the storages.
        var wakers: [Int: @Sendable (ChangedPartitions) -> Void] = [:]
        var count = 0
    }

    private struct State {
        var isRefusing = false
        var meter = Meter()
        var missCount = 0
        var lastReader: RequestWork?
    }

    private let shared: Locked<Shared>
    private let state = Locked(State())
    private let writer: SerialThread
    private let number: Int
    private let run = UInt64.random(in: 1...UInt64.max)
    let readers = WorkPool(HubLimits())
    /// Whether nothing is at hand.
    private let isFar: Bool

    /// A storage with entries.
    init(_ entries: [[UInt8]: [UInt8]] = [:], isFar: Bool = false) {
        self.isFar = isFar
        (shared, writer, number) = (Locked(Shared()), SerialThread(checkWaiting: {}), 0)
        shared.withLock { shared in
            for (key, value) in entries {
                shared.entries[key.withUnsafeBytes { HubKey(bytes: $0) }] = value
            }
        }
    }

    /// A storage of another hub with the same entries. The first one is closed last.
    init(sharing other: MemoryHubStorage) {
        (isFar, shared, writer) = (other.isFar, other.shared, other.writer)
        number = shared.withLock { shared in
            shared.count += 1
            return shared.count
        }
    }

    /// All entries.
    var entries: [[UInt8]: [UInt8]] {
        shared.withLock { shared in
            Dictionary(uniqueKeysWithValues: shared.entries.values.map { ($0.key.bytes, $0.value) })
        }
    }

    func wakeUp(
        watching: @escaping @Sendable () -> [Partition],
        _ wake: @escaping @Sendable (ChangedPartitions) -> Void
    ) {
        shared.withLock { $0.wakers[number] = wake }
    }

    /// What transactions cost since the last look.
    func takeMeter() -> Meter {
        state.withLock { state in
            defer { state.meter = Meter() }
            return state.meter
        }
    }

    var missCount: Int { state.withLock { $0.missCount } }

    /// What read last.
    var lastReader: RequestWork? { state.withLock { $0.lastReader } }

    func readAtHand<R>(
        _ work: RequestWork, _ body: (any HubReading) throws -> R
    ) throws -> R? {
        isFar ? nil : try snapshot(work, body)
    }

    func snapshot<R>(
        _ work: RequestWork, _ body: (any HubReading) throws -> R
    ) throws -> R {
        let transaction = transaction(work, [])
        defer { note(transaction) }
        state.withLock { $0.lastReader = work }
        return try body(transaction)
    }

    private func transaction(
        _ work: RequestWork, _ partitions: Partitions
    ) -> BufferedTransaction {
        let entries = shared.withLock { $0.entries }
        return BufferedTransaction(
            work, writingTo: partitions, fetch: { entries.find($0) }, run: { [run] in run })
    }

    func write<R: Sendable>(
        _ work: RequestWork, to partitions: Partitions,
        expecting queries: @escaping @Sendable () -> [KeyQuery],
        _ body: @escaping @Sendable (any HubWriting) throws -> R
    ) async throws -> R {
        try await withCheckedThrowingContinuation { continuation in
            guard !state.withLock({ $0.isRefusing }) else {
                return continuation.resume(throwing: WorkCancelled())
            }
            writer.submit { [self] in
                continuation.resume(with: Result { try writeNow(work, partitions, queries, body) })
            }
        }
    }

    private func writeNow<R>(
        _ work: RequestWork, _ partitions: Partitions, _ queries: () -> [KeyQuery],
        _ body: (any HubWriting) throws -> R
    ) throws -> R {
        guard !state.withLock({ $0.isRefusing }) else { throw WorkCancelled() }
        try work.check()
        work.unlimit()
        let transaction = transaction(work, partitions)
        defer { note(transaction) }
        transaction.expect(queries)
        let result = try body(transaction)
        // The writer alone changes the entries.
        let wakers = shared.withLock { shared in
            for (key, value) in transaction.writes { shared.entries[key] = value }
            return shared.wakers.filter { $0.key != number }.values
        }
        if !transaction.writes.isEmpty {
            for wake in wakers { wake(.some(Set(partitions.ascending))) }
        }
        return result
    }

    private func note(_ transaction: BufferedTransaction) {
        state.withLock { state in
            state.meter.roundTrips += transaction.roundTrips
            state.meter.misses += transaction.misses
            state.meter.writesMax = max(state.meter.writesMax, transaction.writes.count)
            state.missCount += transaction.misses.count
        }
    }

    func refuseWork() {
        state.withLock { $0.isRefusing = true }
        readers.stop()
    }

    func close() {
        readers.stop()
        _ = shared.withLock { $0.wakers.removeValue(forKey: number) }
        if number == 0 { writer.stop(lastJob: {}) }
    }
}

/// Entries in the order of their keys.
private struct SortedEntries {
    private(set) var keys: [HubKey] = []
    private(set) var values: [HubKey: [UInt8]] = [:]

    subscript(key: HubKey) -> [UInt8]? {
        get { values[key] }
        set {
            let index = firstIndex(atOrAfter: key)
            let isThere = index < keys.count && keys[index] == key
            if newValue != nil, !isThere { keys.insert(key, at: index) }
            if newValue == nil, isThere { keys.remove(at: index) }
            values[key] = newValue
        }
    }

    private func firstIndex(atOrAfter key: HubKey) -> Int {
        var (low, high) = (0, keys.count)
        while low < high {
            let middle = (low + high) / 2
            if keys[middle] < key { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// What queries find, by the rules alone.
    func find(_ queries: [KeyQuery]) -> BufferedTransaction.Fetched {
        var fetched = BufferedTransaction.Fetched()
        for (place, query) in queries.enumerated() {
            switch query {
            case .key(let key): fetched.keys += entries([key])
            case .entries(let range):
                fetched.ranges[place] = BufferedTransaction.Found(entries: find(range))
            case .named(let range, let name, let names):
                fetched.ranges[place] = BufferedTransaction.Found(
                    entries: find(range),
                    named: entries(find(range).map { names.naming(name, $0, in: range) }))
            }
        }
        return fetched
    }

    private func entries(_ keys: some Sequence<HubKey>) -> [BufferedTransaction.Entry] {
        keys.compactMap { key in values[key].map { (key, $0) } }
    }

    private func find(_ range: KeyQuery.Range) -> [BufferedTransaction.Entry] {
        let all = keys[firstIndex(atOrAfter: range.prefix)...]
            .prefix { $0.bytes.starts(with: range.prefix.bytes) }
        guard range.isReverse else {
            let rest = all.drop { key in range.bound.map { key < $0 } ?? false }
            return entries(rest.prefix(range.countMax))
        }
        let rest = all.prefix { key in range.bound.map { key < $0 } ?? true }
        return entries(rest.reversed().prefix(range.countMax))
    }
}
