import Threading

@testable import BackstitchHubCore

/// A hub's storage in memory, as plain as can be, which counts what one that is far away would cost.
///
/// A transaction reads a snapshot. What it writes lies over it until the end, as it would before it is
/// sent in one piece.
final class MemoryHubStorage: HubStorage {
    /// What the transactions since the last look would have cost.
    struct Meter: Hashable {
        /// Round trips for what transactions told that they were going to read.
        var roundTrips = 0
        /// Keys and ranges that nobody told of, each of which is a round trip.
        var misses: [HubKey] = []
        /// The most keys that one of them wrote.
        var writesMax = 0
    }

    private struct State {
        var entries = SortedEntries()
        var isRefusing = false
        var meter = Meter()
    }

    private let state = Locked(State())
    private let writer = SerialThread(checkWaiting: {})

    /// A storage with entries.
    init(_ entries: [[UInt8]: [UInt8]] = [:]) {
        state.withLock { state in
            for (key, value) in entries { state.entries[key] = value }
        }
    }

    /// All entries.
    var entries: [[UInt8]: [UInt8]] { state.withLock { $0.entries.values } }

    /// What transactions cost since the last look.
    func takeMeter() -> Meter {
        state.withLock { state in
            defer { state.meter = Meter() }
            return state.meter
        }
    }

    func read<R>(_ work: RequestWork, _ body: (any HubReading) throws -> R) throws -> R {
        let transaction = MemoryTransaction(state.withLock { $0.entries }, work)
        defer { note(transaction) }
        return try body(transaction)
    }

    func write<R: Sendable>(
        _ work: RequestWork, to partitions: Partitions,
        _ body: @escaping @Sendable (any HubWriting) throws -> R
    ) async throws -> R {
        try await withCheckedThrowingContinuation { continuation in
            guard !state.withLock({ $0.isRefusing }) else {
                return continuation.resume(throwing: WorkGivenUp())
            }
            writer.submit { [self] in
                continuation.resume(with: Result { try writeNow(work, partitions, body) })
            }
        }
    }

    private func writeNow<R>(
        _ work: RequestWork, _ partitions: Partitions, _ body: (any HubWriting) throws -> R
    ) throws -> R {
        guard !state.withLock({ $0.isRefusing }) else { throw WorkGivenUp() }
        try work.check()
        work.unlimit()
        let transaction = MemoryTransaction(state.withLock { $0.entries }, work, partitions)
        defer { note(transaction) }
        let result = try body(transaction)
        // The writer alone changes the entries.
        state.withLock { state in
            for (key, value) in transaction.overlay.all { state.entries[key] = value }
        }
        return result
    }

    private func note(_ transaction: MemoryTransaction) {
        state.withLock { state in
            state.meter.roundTrips += transaction.meter.roundTrips
            state.meter.misses += transaction.meter.misses
            state.meter.writesMax = max(state.meter.writesMax, transaction.overlay.all.count)
        }
    }

    func refuseWrites() { state.withLock { $0.isRefusing = true } }

    func close() { writer.stop(lastJob: {}) }
}

/// Entries in the order of their keys.
private struct SortedEntries {
    private(set) var keys: [[UInt8]] = []
    private(set) var values: [[UInt8]: [UInt8]] = [:]

    subscript(key: [UInt8]) -> [UInt8]? {
        get { values[key] }
        set {
            let index = firstIndex(atOrAfter: key)
            let isThere = index < keys.count && keys[index] == key
            if newValue != nil, !isThere { keys.insert(key, at: index) }
            if newValue == nil, isThere { keys.remove(at: index) }
            values[key] = newValue
        }
    }

    func firstIndex(atOrAfter key: [UInt8]) -> Int {
        var (low, high) = (0, keys.count)
        while low < high {
            let middle = (low + high) / 2
            if keys[middle].lexicographicallyPrecedes(key) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return low
    }

    /// The keys that start with a prefix.
    func keys(under prefix: [UInt8]) -> ArraySlice<[UInt8]> {
        keys[firstIndex(atOrAfter: prefix)...].prefix { $0.starts(with: prefix) }
    }
}

/// Writes that were not sent yet: the value of each key, or nil if it is removed.
private struct Overlay {
    private(set) var all: [[UInt8]: [UInt8]?] = [:]

    subscript(key: [UInt8]) -> [UInt8]?? { all[key] }

    mutating func set(_ key: [UInt8], _ value: [UInt8]?) { all[key] = .some(value) }

    /// The keys under a prefix, with those of a snapshot, as they are with the writes.
    func keys(under prefix: [UInt8], over entries: SortedEntries) -> [[UInt8]] {
        var keys = entries.keys(under: prefix).filter { all[$0] == nil }
        let written = all.filter { $0.value != nil && $0.key.starts(with: prefix) }.keys
        if !written.isEmpty {
            keys = (keys + written).sorted { $0.lexicographicallyPrecedes($1) }
        }
        return keys
    }
}

private final class MemoryTransaction: HubWriting {
    let work: RequestWork
    private(set) var meter = MemoryHubStorage.Meter()
    private(set) var overlay = Overlay()
    private let entries: SortedEntries
    /// The keys that were fetched, whether there is something or not.
    private var fetched: Set<[UInt8]> = []
    /// By prefix: where what was fetched begins and ends; nil if it ends with the prefix.
    private var ranges: [[UInt8]: (start: [UInt8], end: [UInt8]?)] = [:]

    /// Where it may write.
    private let partitions: Partitions

    init(_ entries: SortedEntries, _ work: RequestWork, _ partitions: Partitions = []) {
        (self.entries, self.work, self.partitions) = (entries, work, partitions)
    }

    // MARK: What was told

    func expect(_ queries: () throws -> [KeyQuery]) rethrows {
        let queries = try queries()
        guard !queries.isEmpty else { return }
        meter.roundTrips += 1
        for query in queries {
            switch query {
            case .key(let key): fetched.insert(key.bytes)
            case .entries(let range): _ = fetch(range)
            case .named(let range, let names):
                for key in fetch(range) { fetched.insert(names.bytes + (entries[key] ?? [])) }
            }
        }
    }

    private func fetch(_ range: KeyQuery.Range) -> ArraySlice<[UInt8]> {
        let start = range.start?.bytes ?? range.prefix.bytes
        let keys = entries.keys(under: range.prefix.bytes)
            .drop { $0.lexicographicallyPrecedes(start) }
        let first = keys.prefix(range.countMax)
        ranges[range.prefix.bytes] = (start, first.count < keys.count ? first.last : nil)
        fetched.formUnion(first)
        return first
    }

    private func look(at key: [UInt8]) {
        guard overlay[key] == nil, fetched.insert(key).inserted else { return }
        meter.misses.append(key.key)
    }

    // MARK: Reading

    func withValue<R>(
        _ key: HubKey, _ body: (UnsafeRawBufferPointer) throws -> R
    ) throws -> R? {
        look(at: key.bytes)
        let value = overlay[key.bytes] ?? entries[key.bytes]
        try work.countKey(bytes: value?.count ?? 0)
        return try value?.withUnsafeBytes(body)
    }

    func scan(
        _ prefix: HubKey, from start: HubKey?,
        _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        let start = start?.bytes ?? prefix.bytes
        let known = ranges[prefix.bytes].flatMap {
            start.lexicographicallyPrecedes($0.start) ? nil : $0
        }
        if known == nil { meter.misses.append(prefix) }
        var end = known?.end
        for key in overlay.keys(under: prefix.bytes, over: entries)
        where !key.lexicographicallyPrecedes(start) {
            // All that is left is fetched with the first entry that nobody told of.
            if let last = end, last.lexicographicallyPrecedes(key) {
                meter.misses.append(key.key)
                end = nil
            }
            guard try visit(key, body) else { return }
        }
    }

    func scanBackwards(
        _ prefix: HubKey, before end: HubKey?,
        _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        meter.misses.append(prefix)
        for key in overlay.keys(under: prefix.bytes, over: entries).reversed() {
            if let end, !key.lexicographicallyPrecedes(end.bytes) { continue }
            guard try visit(key, body) else { return }
        }
    }

    private func visit(
        _ key: [UInt8], _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool
    ) throws -> Bool {
        guard let value = overlay[key] ?? entries[key] else { return true }
        try work.countKey(bytes: value.count)
        return try key.withUnsafeBytes { key in
            try value.withUnsafeBytes { try body(key, $0) }
        }
    }

    // MARK: Writing

    func put(_ key: HubKey, _ value: [UInt8]) throws {
        partitions.checkWrite(key)
        work.countWrite(bytes: value.count)
        overlay.set(key.bytes, value)
    }

    func delete(_ key: HubKey) throws {
        partitions.checkWrite(key)
        work.countWrite()
        overlay.set(key.bytes, nil)
    }
}

extension [UInt8] {
    /// The bytes as a key.
    fileprivate var key: HubKey { withUnsafeBytes { HubKey(bytes: $0) } }
}
