/// A transaction over a storage that is a round trip away.
///
/// It fetches the announced queries in one round trip (``expect(_:)``), and keeps writes until its end, when
/// the storage sends them in one piece. Reads see the writes. A read that was not announced is fetched at
/// once, and counted.
///
/// One thread at a time works with it.
package final class BufferedTransaction: HubWriting {
    package typealias Entry = (key: HubKey, value: [UInt8])

    /// What a range found.
    package struct Found {
        /// The entries of the range in their order.
        package var entries: [Entry]
        /// The entries that those of the range name, in any order.
        package var named: [Entry] = []

        package init(entries: [Entry] = [], named: [Entry] = []) {
            (self.entries, self.named) = (entries, named)
        }
    }

    /// What the queries of a round trip found.
    package struct Fetched {
        /// The entries of keys, in any order. Keys are many, so that they have no list each.
        package var keys: [Entry] = []
        /// What ranges found, by their places among the queries; nothing of those that are missing here.
        package var ranges: [Int: Found] = [:]

        package init() {}
    }

    /// A part of the storage of which all entries are known.
    private struct Part {
        let start: HubKey
        /// The first key after it.
        let end: HubKey
        /// The keys that it has, ascending.
        let keys: [HubKey]

        func holds(_ key: HubKey) -> Bool { start <= key && key < end }

        /// Both of two that overlap.
        func joined(with other: Part) -> Part {
            Part(
                start: min(start, other.start), end: max(end, other.end),
                keys: keys.merged(with: other.keys[...]))
        }
    }

    /// That of whose turn it is, of those who share the transaction.
    package private(set) var work: RequestWork
    package let isFar = true
    /// What to send: the value of each key, or nil if it is removed.
    package private(set) var writes: [HubKey: [UInt8]?] = [:]
    /// How often something was fetched.
    package private(set) var roundTrips = 0
    /// The keys, and starts of ranges, that were read without being announced.
    package private(set) var misses: [HubKey] = []
    private let partitions: Partitions
    private let currentRun: () throws -> UInt64
    private let fetch: ([KeyQuery]) throws -> Fetched
    /// The keys that ``writes`` sets, ascending.
    package private(set) var writtenKeys: [HubKey] = []
    /// What the closure that runs replaced in ``writes``, in its order: nil where there was nothing.
    private var replaced: [(key: HubKey, write: [UInt8]??)] = []
    private var known: [HubKey: [UInt8]?] = [:]
    /// Ascending; none overlaps another one.
    private var parts: [Part] = []
    private var told: Set<KeyQuery> = []
    /// What kept the last round trip from its end, for the read that needs it.
    private var failure: (any Error)?

    /// - Parameters:
    ///   - partitions: Where it may write.
    ///   - fetch: Answers queries in one round trip, each with what it finds.
    ///   - run: Tells the run that it belongs to; one that only reads is not asked.
    package init(
        _ work: RequestWork, writingTo partitions: Partitions = [],
        fetch: @escaping ([KeyQuery]) throws -> Fetched,
        run: @escaping () throws -> UInt64 = { 0 }
    ) {
        (self.work, self.partitions, self.fetch) = (work, partitions, fetch)
        currentRun = run
    }

    package var run: UInt64 { get throws { try currentRun() } }

    /// Runs one of several closures that share the transaction. What one that throws wrote is forgotten.
    package func run<R>(
        for work: RequestWork, _ body: (any HubWriting) throws -> R
    ) rethrows -> R {
        self.work = work
        replaced = []
        do {
            return try body(self)
        } catch {
            for (key, write) in replaced.reversed() { writes[key] = write }
            if !replaced.isEmpty {
                writtenKeys = writes.filter { $0.value != nil }.keys.sorted()
            }
            throw error
        }
    }

    // MARK: Fetching

    package func expect(_ queries: () throws -> [KeyQuery]) rethrows {
        let new = try queries().filter { query in
            guard !isKnown(query) else { return false }
            // A key that was told is known by now.
            if case .key = query { return true }
            return told.insert(query).inserted
        }
        guard !new.isEmpty else { return }
        do { try learn(new) } catch { failure = error }
    }

    private func isKnown(_ query: KeyQuery) -> Bool {
        switch query {
        case .key(let key): isKnown(key)
        case .entries(let range): knownKeys(of: range) != nil
        case .named(let range, let name, let names):
            knownKeys(of: range)?.allSatisfy { key in
                current(key).map { isKnown(names.naming(name, (key, $0), in: range)) } ?? true
            } ?? false
        }
    }

    /// The keys of a range; nil if more have to be fetched to know them.
    private func knownKeys(of range: KeyQuery.Range) -> ArraySlice<HubKey>? {
        let (start, end) = (range.prefix, range.prefix.endOfPrefix)
        if range.isReverse {
            let position = range.bound ?? end
            guard let part = part(endingAtOrAfter: position) else { return nil }
            let keys = part.keys[..<part.keys.firstIndex(atOrAfter: position)].drop { $0 < start }
            guard part.start <= start || keys.count >= range.countMax else { return nil }
            return keys.suffix(range.countMax)
        }
        let position = range.bound ?? start
        guard let part = part(holding: position) else { return nil }
        let keys = part.keys[part.keys.firstIndex(atOrAfter: position)...].prefix { $0 < end }
        guard end <= part.end || keys.count >= range.countMax else { return nil }
        return keys.prefix(range.countMax)
    }

    private func isKnown(_ key: HubKey) -> Bool {
        writes[key] != nil || known[key] != nil || part(holding: key) != nil
    }

    /// How many parts begin at or before a key, or before it.
    private func partCount(_ isBefore: (Part) -> Bool) -> Int {
        var (low, high) = (0, parts.count)
        while low < high {
            let middle = (low + high) / 2
            if isBefore(parts[middle]) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The part that a key lies in.
    private func part(holding key: HubKey) -> Part? {
        let part = parts[..<partCount { $0.start <= key }].last
        return part.flatMap { $0.holds(key) ? $0 : nil }
    }

    /// The part in which lies what is right before a key.
    private func part(endingAtOrAfter key: HubKey) -> Part? {
        let part = parts[..<partCount { $0.start < key }].last
        return part.flatMap { key <= $0.end ? $0 : nil }
    }

    private func add(_ part: Part) {
        guard part.start < part.end else { return }
        let first = partCount { $0.end <= part.start }
        let last = partCount { $0.start < part.end }
        let joined = parts[first..<last].reduce(part) { $0.joined(with: $1) }
        parts.replaceSubrange(first..<last, with: [joined])
    }

    private func learn(_ queries: [KeyQuery]) throws {
        roundTrips += 1
        let fetched = try fetch(queries)
        known.reserveCapacity(known.count + queries.count)
        note(fetched.keys)
        for (place, query) in queries.enumerated() {
            switch query {
            case .key(let key): noteMissing(key)
            case .entries(let range): _ = note(fetched.ranges[place] ?? Found(), of: range)
            case .named(let range, let name, let names):
                for entry in note(fetched.ranges[place] ?? Found(), of: range) {
                    noteMissing(names.naming(name, entry, in: range))
                }
            }
        }
    }

    private func note(_ entries: [Entry]) {
        for entry in entries { known[entry.key] = .some(entry.value) }
    }

    private func note(_ found: Found, of range: KeyQuery.Range) -> [Entry] {
        note(found.entries)
        note(found.named)
        add(part(range, found.entries))
        return found.entries
    }

    /// Notes of a key that was asked for that it is not there, unless it is.
    private func noteMissing(_ key: HubKey) {
        if known[key] == nil { known[key] = .some(nil) }
    }

    /// What of the storage is known by the entries of a range: as far as they go, if they are as many
    /// as were asked for.
    private func part(_ range: KeyQuery.Range, _ entries: [Entry]) -> Part {
        let isCut = entries.count >= range.countMax
        let last = entries.last?.key
        if range.isReverse {
            return Part(
                start: isCut ? last ?? range.prefix : range.prefix,
                end: range.bound ?? range.prefix.endOfPrefix, keys: entries.reversed().map(\.key))
        }
        return Part(
            start: range.bound ?? range.prefix,
            end: isCut ? last?.next ?? range.prefix : range.prefix.endOfPrefix,
            keys: entries.map(\.key))
    }

    /// Whether the storage has a key before what was written here; nil if that was not read.
    package func isStored(_ key: HubKey) -> Bool? {
        if let value = known[key] { return value != nil }
        return part(holding: key) == nil ? nil : false
    }

    /// Fetches a read that was not announced.
    private func miss(_ key: HubKey, _ query: KeyQuery) throws {
        if let failure {
            self.failure = nil
            throw failure
        }
        misses.append(key)
        try learn([query])
    }

    // MARK: Reading

    private func current(_ key: HubKey) -> [UInt8]? {
        if let written = writes[key] { return written }
        return known[key] ?? nil
    }

    package func withValue<R>(
        _ key: HubKey, _ body: (UnsafeRawBufferPointer) throws -> R
    ) throws -> R? {
        if !isKnown(key) { try miss(key, .key(key)) }
        let value = current(key)
        try work.countKey(bytes: value?.count ?? 0)
        return try unsafe value?.withUnsafeBytes(body)
    }

    package func scan(
        _ prefix: HubKey, from start: HubKey?,
        _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        let end = prefix.endOfPrefix
        var position = start ?? prefix
        while position < end {
            guard let part = part(holding: position) else {
                let rest = KeyQuery.Range(
                    prefix: prefix, bound: position, countMax: KeyQuery.entriesPerPart)
                try miss(position, .entries(rest))
                continue
            }
            let stop = min(end, part.end)
            for key in keys(of: part, from: position, to: stop) {
                guard try unsafe visit(key, body) else { return }
            }
            position = stop
        }
    }

    package func scanBackwards(
        _ prefix: HubKey, before end: HubKey?,
        _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        var position = min(end ?? prefix.endOfPrefix, prefix.endOfPrefix)
        while prefix < position {
            guard let part = part(endingAtOrAfter: position) else {
                let rest = KeyQuery.Range(
                    prefix: prefix, bound: position, countMax: KeyQuery.entriesPerPart,
                    isReverse: true)
                try miss(position, .entries(rest))
                continue
            }
            let stop = max(prefix, part.start)
            for key in keys(of: part, from: stop, to: position).reversed() {
                guard try unsafe visit(key, body) else { return }
            }
            position = stop
        }
    }

    /// The keys of a part between two, with what was written, ascending.
    private func keys(of part: Part, from start: HubKey, to end: HubKey) -> [HubKey] {
        let stored = part.keys[
            part.keys.firstIndex(atOrAfter: start)..<part.keys.firstIndex(atOrAfter: end)]
        let written = writtenKeys[
            writtenKeys.firstIndex(atOrAfter: start)..<writtenKeys.firstIndex(atOrAfter: end)]
        return Array(stored).merged(with: written)
    }

    private func visit(
        _ key: HubKey, _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool
    ) throws -> Bool {
        guard let value = current(key) else { return true }
        try work.countKey(bytes: value.count)
        return try unsafe key.bytes.withUnsafeBytes { key in
            try unsafe value.withUnsafeBytes { try unsafe body(key, $0) }
        }
    }

    // MARK: Writing

    package func put(_ key: HubKey, _ value: [UInt8]) throws {
        partitions.checkWrite(key)
        work.countWrite(bytes: value.count)
        let before = writes.updateValue(.some(value), forKey: key)
        replaced.append((key, before))
        if (before ?? nil) == nil {
            writtenKeys.insert(key, at: writtenKeys.firstIndex(atOrAfter: key))
        }
    }

    package func delete(_ key: HubKey) throws {
        partitions.checkWrite(key)
        work.countWrite()
        let before = writes.updateValue(nil, forKey: key)
        replaced.append((key, before))
        if (before ?? nil) != nil {
            writtenKeys.remove(at: writtenKeys.firstIndex(atOrAfter: key))
        }
    }
}

extension [HubKey] {
    /// The keys of two ascending lists, ascending, each once.
    fileprivate func merged(with other: ArraySlice<HubKey>) -> [HubKey] {
        if other.isEmpty { return self }
        if isEmpty { return Array(other) }
        var merged: [HubKey] = []
        merged.reserveCapacity(count + other.count)
        var (own, others) = (self[...], other)
        while let first = own.first, let second = others.first {
            if first <= second { own.removeFirst() }
            if second <= first { others.removeFirst() }
            merged.append(Swift.min(first, second))
        }
        return merged + own + others
    }

    /// The place of the first of ascending keys that is not before one.
    fileprivate func firstIndex(atOrAfter key: HubKey) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle] < key { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

extension HubKey {
    /// The key that an entry of a range names under this prefix.
    package func naming(
        _ name: KeyQuery.Name, _ entry: BufferedTransaction.Entry, in range: KeyQuery.Range
    ) -> HubKey {
        switch name {
        case .value: adding(entry.value)
        case .key: adding(entry.key.bytes.dropFirst(range.prefix.bytes.count))
        }
    }

    /// The key that follows this one.
    fileprivate var next: HubKey { adding([0]) }

    /// The first key after all that start with this one.
    package var endOfPrefix: HubKey {
        var end = bytes
        while end.last == 0xFF { end.removeLast() }
        guard let last = end.popLast() else {
            // After all keys that there can be.
            let filler = [UInt8](repeating: 0xFF, count: Self.byteCountMax + 1)
            return unsafe filler.withUnsafeBytes { unsafe HubKey(bytes: $0) }
        }
        end.append(last + 1)
        return unsafe end.withUnsafeBytes { unsafe HubKey(bytes: $0) }
    }
}
