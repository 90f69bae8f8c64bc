/// How often each key failed, within a time from its first failure.
///
/// A bounded number of keys is remembered. When they are too many, the ones whose time has ended are
/// forgotten, then the ones with the fewest failures: failures of many keys do not reset the count of a
/// key that failed often.
struct FailureCounts<Key: Hashable & Sendable>: Sendable {
    /// The time in which the failures of a key are counted.
    let windowMilliseconds: Int64
    /// The most keys that are remembered.
    let keysMax: Int
    private var entries: [Key: Entry] = [:]

    private struct Entry {
        /// The time of the first failure.
        var since: Int64
        var count: Int
    }

    init(windowMilliseconds: Int64, keysMax: Int = 10_000) {
        (self.windowMilliseconds, self.keysMax) = (windowMilliseconds, keysMax)
    }

    /// The number of keys that are remembered.
    var keyCount: Int { entries.count }

    /// The failures of a key that still count.
    func count(of key: Key, now: Int64) -> Int {
        guard let entry = entries[key], !hasEnded(entry, now) else { return 0 }
        return entry.count
    }

    /// Counts a failure.
    ///
    /// - Complexity: O(log *n*) amortised: when room is made, it is made for a quarter of the keys.
    mutating func note(_ key: Key, now: Int64) {
        if let entry = entries[key], !hasEnded(entry, now) {
            entries[key]?.count += 1
            return
        }
        if entries.count >= keysMax, entries[key] == nil { makeRoom(now) }
        entries[key] = Entry(since: now, count: 1)
    }

    /// Counts a failure, unless there are so many already.
    ///
    /// - Returns: Whether it was counted.
    mutating func take(_ key: Key, now: Int64, max: Int) -> Bool {
        guard count(of: key, now: now) < max else { return false }
        note(key, now: now)
        return true
    }

    /// Takes back a failure that was counted at a time; nothing happens if that time has ended since.
    mutating func takeBack(_ key: Key, notedAt time: Int64) {
        guard let entry = entries[key], entry.since <= time else { return }
        entries[key] = entry.count > 1 ? Entry(since: entry.since, count: entry.count - 1) : nil
    }

    /// Forgets the failures of a key.
    mutating func forget(_ key: Key) { entries[key] = nil }

    private func hasEnded(_ entry: Entry, _ now: Int64) -> Bool {
        now >= entry.since + windowMilliseconds
    }

    private mutating func makeRoom(_ now: Int64) {
        entries = entries.filter { !hasEnded($0.value, now) }
        let excess = entries.count - keysMax * 3 / 4
        guard excess > 0 else { return }
        let fewest = entries.sorted {
            ($0.value.count, $0.value.since) < ($1.value.count, $1.value.since)
        }.prefix(excess)
        for (key, _) in fewest { entries[key] = nil }
    }
}
