import BackstitchCore
import CloudKitWire

/// The answers that are kept for the case that their requests come again.
///
/// A request is known by the name that its client gave it, or by its signature, which counts once.
/// Answer and effect are of one transaction, so that there is never one without the other.
struct AnswerLedger: Sendable {
    /// By what a request is known. Each has room of its own, so that none takes that of the other.
    enum Kind: Hashable, Sendable, CaseIterable {
        /// The name that the client gave it. If there is no room, the user's oldest answers go.
        case name
        /// Its signature. If there is no room, it is refused: it must not act twice.
        case signature

        var table: HubKey.Table { self == .name ? .ledger : .signature }

        /// The key of how many bytes its answers have in a partition.
        fileprivate func totalKey(_ partition: Partition) -> HubKey {
            HubKey(partition, .ledgerTotal).adding([table.rawValue])
        }
    }

    /// Under what the answer to a request is kept, and for how long.
    struct Entry: Hashable, Sendable {
        var kind: Kind
        /// The SHA-256 of what tells the request from all others.
        var identity: [UInt8]
        /// The SHA-256 of what the request asks.
        var requestHash: [UInt8]
        /// Until when, in milliseconds since 1970.
        var end: Int64

        fileprivate func key(_ partition: Partition) -> HubKey {
            HubKey(partition, kind.table).adding(identity)
        }
    }

    /// The most bytes of an answer that is kept as it is.
    static let answerBytesMax = 256 << 10
    /// What an answer takes beside its bytes: keys, rows, and its place in memory. Without it, requests
    /// that ask for nothing would be kept by the million.
    static let entryBytes = 512
    /// The most old answers that a write removes in passing.
    private static let removalsMax = 32
    private static let timeBytes = MemoryLayout<UInt64>.size

    /// The partition of the database that the request is about.
    let partition: Partition
    let entries: [Entry]
    /// Milliseconds since 1970.
    let now: Int64
    /// The most bytes of all answers to signed requests of a database.
    let bytesMax: Int
    /// Older answers to named requests of the user, which make room for this one.
    let ended: [HubKey]

    /// What is read of the ledger, as far as nothing has to go.
    var expected: [KeyQuery] {
        guard !entries.isEmpty else { return [] }
        return entries.map { .key($0.key(partition)) }
            + Kind.allCases.map { .key($0.totalKey(partition)) } + ended.map { .key($0) }
            + [.first(1, of: HubKey(partition, .ledgerTime))]
    }

    /// The key of the answer by its name; nil if the request has none.
    var nameKey: HubKey? { entries.first { $0.kind == .name }?.key(partition) }

    /// The answer that the request got when it came before; nil if it comes for the first time.
    ///
    /// - Throws: `BAD_REQUEST` if another request had the name, and `THROTTLED` if the answer
    ///   must be kept and can't be.
    func knownAnswer(_ transaction: any HubReading) throws -> [UInt8]? {
        for entry in entries {
            guard let stored = try transaction.value(entry.key(partition)) else { continue }
            let hash = stored.dropFirst(Self.timeBytes).prefix(entry.requestHash.count)
            guard hash.elementsEqual(entry.requestHash) else {
                throw WireError(.badRequest, "Another request had this id. Give each its own.")
            }
            return Array(stored[(Self.timeBytes + entry.requestHash.count)...])
        }
        if entries.contains(where: { $0.kind == .signature }),
            case let total = try total(.signature, transaction), total >= Int64(bytesMax),
            try total - oldBytes(.signature, transaction) >= Int64(bytesMax)
        {
            throw WireError(
                .throttled, "Too many signed requests wrote in the last minutes.", retryAfter: 60)
        }
        return nil
    }

    /// Keeps an answer: the time when it can go (8 bytes), the hash of the request, the answer.
    ///
    /// - Parameter short: An answer that says the same with less, if the first is too long.
    func keep(
        _ answer: [UInt8], short: () -> [UInt8], _ transaction: any HubWriting
    ) throws {
        guard !entries.isEmpty else { return }
        var totals: [Kind: Int64] = [:]
        for kind in Kind.allCases { totals[kind] = try total(kind, transaction) }
        try removeOld(transaction, &totals)
        try removeEnded(transaction, &totals)
        let kept = answer.count <= Self.answerBytesMax ? answer : short()
        for entry in entries {
            let end = UInt64(max(0, entry.end))
            let bytes = end.bigEndianBytes + entry.requestHash + kept
            let key = entry.key(partition)
            try transaction.put(key, bytes)
            try transaction.put(
                HubKey(partition, .ledgerTime).adding(end).adding(entry.identity),
                Array(key.behindPartition))
            totals[entry.kind, default: 0] += Int64(bytes.count)
        }
        for (kind, total) in totals {
            let bytes = max(0, total).bigEndianBytes
            try transaction.put(kind.totalKey(partition), bytes)
        }
    }

    /// Removes some of the answers whose time is over, and takes off what they had.
    private func removeOld(_ transaction: any HubWriting, _ totals: inout [Kind: Int64]) throws {
        let old = try Self.old(in: partition, now, countMax: Self.removalsMax, transaction)
        for (time, answer) in old {
            let bytes = try unsafe transaction.withValue(answer) { Int64($0.count) } ?? 0
            for kind in Kind.allCases where answer.table == kind.table {
                totals[kind, default: 0] -= bytes
            }
            try transaction.delete(time)
            try transaction.delete(answer)
        }
    }

    /// Answers of a partition whose time is over, with the entries that tell the time.
    private static func old(
        in partition: Partition, _ now: Int64, countMax: Int, _ transaction: any HubReading
    ) throws -> [(time: HubKey, answer: HubKey)] {
        let times = HubKey(partition, .ledgerTime)
        var old: [(time: HubKey, answer: HubKey)] = []
        try unsafe transaction.scan(times, from: nil) { key, value in
            guard unsafe key.number(behind: times) < UInt64(max(0, now)) else { return false }
            unsafe old.append((HubKey(bytes: key), HubKey(partition, behind: value)))
            // The first one is mostly the last one.
            if old.count == 1 {
                transaction.expect {
                    [.first(min(countMax, 1_000), of: times, under: HubKey(partition))]
                }
            }
            return old.count < countMax
        }
        return old
    }

    /// How many bytes those answers of a kind have whose time is over, which writes will remove.
    private func oldBytes(_ kind: Kind, _ transaction: any HubReading) throws -> Int64 {
        try Self.old(in: partition, now, countMax: .max, transaction).reduce(0) { sum, old in
            guard old.answer.table == kind.table else { return sum }
            return try unsafe sum + (transaction.withValue(old.answer) { Int64($0.count) } ?? 0)
        }
    }

    /// Removes the answers that make room.
    private func removeEnded(_ transaction: any HubWriting, _ totals: inout [Kind: Int64]) throws {
        for key in ended where key.table == Kind.name.table {
            guard let stored = try transaction.value(key), stored.count >= Self.timeBytes else {
                continue
            }
            let time = HubKey(partition, .ledgerTime).adding(stored.prefix(Self.timeBytes))
                .adding(key.behindTable)
            try transaction.delete(time)
            try transaction.delete(key)
            totals[.name, default: 0] -= Int64(stored.count)
        }
    }

    /// How many bytes the answers of a kind have.
    private func total(_ kind: Kind, _ transaction: any HubReading) throws -> Int64 {
        let bytes = try transaction.value(kind.totalKey(partition)) ?? []
        return bytes.prefix(Self.timeBytes).reduce(Int64(0)) { $0 << 8 | Int64($1) }
    }
}

extension AnswerLedger {
    /// What contradicts itself in the answers that a partition keeps; nil if nothing does.
    ///
    /// What is counted is what they have, and each has the time when it can go. Reads them all.
    static func violation(
        in partition: Partition, _ transaction: any HubReading
    ) throws -> String? {
        var answers: Set<[UInt8]> = []
        for kind in Kind.allCases {
            var bytes: Int64 = 0
            try unsafe transaction.scan(HubKey(partition, kind.table), from: nil) { key, value in
                unsafe answers.insert(Array(key))
                bytes += Int64(value.count)
                return true
            }
            let stored = try transaction.value(kind.totalKey(partition)) ?? []
            let total = stored.prefix(timeBytes).reduce(Int64(0)) { $0 << 8 | Int64($1) }
            if total != bytes { return "By \(kind) \(bytes) bytes are kept, \(total) counted." }
        }
        var timed: Set<[UInt8]> = []
        try unsafe transaction.scan(HubKey(partition, .ledgerTime), from: nil) { _, value in
            unsafe timed.insert(Array(HubKey(partition, behind: value).bytes))
            return true
        }
        if let answer = answers.subtracting(timed).first { return "\(answer) never goes." }
        if let answer = timed.subtracting(answers).first { return "\(answer) is not there." }
        return nil
    }
}
