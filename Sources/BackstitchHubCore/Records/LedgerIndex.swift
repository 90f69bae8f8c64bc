import Threading

/// How much of the ledger is of each user, so that the oldest answers go if they are too many.
///
/// It is kept in memory: answers of before a restart go when their time is over.
final class LedgerIndex: Sendable {
    private struct Answer {
        var key: HubKey
        var bytes: Int
        /// Milliseconds since 1970.
        var end: Int64
    }

    private struct Owner {
        var answers: [Answer] = []
        var first = 0
        var bytes = 0
    }

    /// How often owners are forgotten all of whose answers are over.
    private static let sweepMilliseconds: Int64 = 60_000

    private struct State {
        var owners: [Partition: Owner] = [:]
        var lastSweep: Int64 = 0

        mutating func sweep(_ now: Int64) {
            // A clock may be set back.
            guard abs(now - lastSweep) >= LedgerIndex.sweepMilliseconds else { return }
            lastSweep = now
            owners = owners.filter { ($0.value.answers.last?.end ?? now) > now }
        }
    }

    private let state = Locked(State())

    /// How many owners are known.
    var ownerCount: Int { state.withLock { $0.owners.count } }

    /// The answers that have to go before another one is kept.
    func excess(of owner: Partition, room: Int, bytesMax: Int, now: Int64) -> [HubKey] {
        state.withLock { state in
            guard let known = state.owners[owner] else { return [] }
            var keys: [HubKey] = []
            var bytes = known.bytes
            for answer in known.answers[known.first...] {
                guard answer.end <= now || bytes + room > bytesMax else { break }
                keys.append(answer.key)
                bytes -= answer.bytes
            }
            return keys
        }
    }

    /// Notes that answers are gone.
    func forget(_ keys: [HubKey], of owner: Partition) {
        guard !keys.isEmpty else { return }
        let gone = Set(keys)
        state.withLock { state in
            guard var known = state.owners.removeValue(forKey: owner) else { return }
            while known.first < known.answers.count, gone.contains(known.answers[known.first].key) {
                known.bytes -= known.answers[known.first].bytes
                known.first += 1
            }
            if known.first > 64, known.first * 2 > known.answers.count {
                known.answers.removeFirst(known.first)
                known.first = 0
            }
            if known.first < known.answers.count { state.owners[owner] = known }
        }
    }

    /// Notes an answer that was kept.
    func note(_ key: HubKey, of owner: Partition, bytes: Int, until end: Int64, now: Int64) {
        state.withLock { state in
            state.sweep(now)
            var known = state.owners.removeValue(forKey: owner) ?? Owner()
            known.answers.append(Answer(key: key, bytes: bytes, end: end))
            known.bytes += bytes
            state.owners[owner] = known
        }
    }
}
