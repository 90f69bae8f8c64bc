import BackstitchHubCore

/// The statements by which entries are read, and what a query becomes of them.
///
/// Each reads an index in its order and stops at its limit, also where one entry can be found and no more:
/// a look-up without a limit the planner may join to a scan of the whole partition, once statistics say that
/// partitions are small, and it keeps that plan while they grow. `PostgreSQLStorageTests` have the plans read.
enum EntryQuery {
    /// Keys of a partition; in place of `k = ANY ($2)`, which may become a scan as well.
    static let keys = Statement(
        "keys", .number, .list,
        sql: """
            SELECT e.k, e.v FROM unnest($2) AS n (k)
            CROSS JOIN LATERAL (
                SELECT k, v FROM backstitch_entries WHERE p = $1 AND k = n.k LIMIT 1) AS e
            """)
    /// Ranges, each in a partition, and the entries that theirs name.
    static let ranges = ranges("ranges", isReverse: false)
    static let lastRanges = ranges("lastRanges", isReverse: true)
    /// What ranges over several partitions: only counts and examinations do.
    static let wideRange = Statement(
        "wideRange", .number, .bytes, .number, .bytes, .number,
        sql: """
            SELECT p, k, v FROM backstitch_entries WHERE (p, k) >= ($1, $2) AND (p, k) < ($3, $4)
            ORDER BY p, k LIMIT $5
            """)
    static let lastWideRange = Statement(
        "lastWideRange", .number, .bytes, .number, .bytes, .number,
        sql: """
            SELECT p, k, v FROM backstitch_entries WHERE (p, k) >= ($1, $2) AND (p, k) < ($3, $4)
            ORDER BY p DESC, k DESC LIMIT $5
            """)

    /// All of them.
    static let all = [keys, ranges, lastRanges, wideRange, lastWideRange]

    /// For each range its partition, start, end, and the most entries; the partition of what its entries
    /// name, or one below all; what names begin with, and where in the key the rest lies, 0 for the value.
    private static func ranges(_ name: String, isReverse: Bool) -> Statement {
        Statement(
            name, .numbers, .list, .list, .numbers, .numbers, .list, .numbers,
            sql: """
                SELECT r.place, e.k, e.v, n.k, n.v
                FROM unnest($1, $2, $3, $4, $5, $6, $7) WITH ORDINALITY
                    AS r (p, first, last, most, named, prefix, cut, place)
                CROSS JOIN LATERAL (
                    SELECT k, v FROM backstitch_entries
                    WHERE p = r.p AND k >= r.first AND k < r.last
                    ORDER BY k \(isReverse ? "DESC" : "ASC") LIMIT r.most) AS e
                LEFT JOIN LATERAL (
                    SELECT k, v FROM backstitch_entries
                    WHERE p = r.named AND k = r.prefix
                        || CASE WHEN r.cut > 0 THEN substr(e.k, r.cut::int) ELSE e.v END
                    LIMIT 1) AS n ON true
                """)
    }

    // MARK: Round trips

    /// Up to so many keys are read with the ranges, which spares a statement.
    private static let keysWithRangesMax = 8

    /// Ranges that are answered by one statement.
    private struct Ranges {
        var places: [Int] = []
        var partitions: [Int64] = []
        var starts: [[UInt8]] = []
        var ends: [[UInt8]] = []
        var counts: [Int64] = []
        var named: [Int64] = []
        var prefixes: [ArraySlice<UInt8>] = []
        var cuts: [Int64] = []

        func call(_ statement: Statement) -> BoundStatement {
            BoundStatement(statement).adding(partitions).adding(starts).adding(ends).adding(counts)
                .adding(named).adding(prefixes).adding(cuts)
        }

        /// Adds a range behind its partition.
        mutating func add(
            _ place: Int, _ partition: Partition, _ start: [UInt8], _ end: [UInt8], countMax: Int,
            naming: (name: KeyQuery.Name, prefix: HubKey, behind: Int)? = nil
        ) {
            places.append(place)
            partitions.append(partition.column)
            starts.append(start)
            ends.append(end)
            counts.append(Int64(clamping: countMax))
            // A prefix without its partition would name nothing.
            let partition = naming.flatMap { Partition(prefix: $0.prefix) }
            named.append(partition?.column ?? -1)
            prefixes.append(naming?.prefix.behindPartition ?? [])
            cuts.append(naming?.name == .key ? Int64((naming?.behind ?? 0) + 1) : 0)
        }
    }

    /// What a statement's rows are for.
    private enum Plan {
        /// Keys of a partition, by their places among the queries.
        case keys(Partition)
        case ranges(places: [Int])
        case wideRange(place: Int)
    }

    /// Answers queries in one round trip.
    ///
    /// - Parameter opening: What is sent before them.
    static func find(
        _ queries: [KeyQuery], after opening: [BoundStatement], _ connection: Connection
    ) throws -> (opening: [Rows], fetched: BufferedTransaction.Fetched) {
        var calls = opening
        var plans: [Plan] = []
        var keys: [HubKey] = []
        var (ranges, lastRanges) = (Ranges(), Ranges())
        for (place, query) in queries.enumerated() {
            switch query {
            // A key without a partition is of a folder's format, and a table has none.
            case .key(let key): if key.partition != nil { keys.append(key) }
            case .entries(let range):
                if let call = wideCall(of: range) {
                    calls.append(call)
                    plans.append(.wideRange(place: place))
                } else {
                    add(range, place, to: &ranges, &lastRanges)
                }
            case .named(let range, let name, let names):
                let behind = range.prefix.bytes.count - Partition.byteCount
                add(range, place, naming: (name, names, behind), to: &ranges, &lastRanges)
            }
        }
        let areFew = !ranges.places.isEmpty && keys.count <= keysWithRangesMax
        if areFew {
            for (place, query) in queries.enumerated() {
                guard case .key(let key) = query, let partition = key.partition else { continue }
                let bytes = Array(key.behindPartition)
                ranges.add(place, partition, bytes, bytes + [0], countMax: 1)
            }
        }
        for (ranges, statement) in [(ranges, Self.ranges), (lastRanges, Self.lastRanges)]
        where !ranges.places.isEmpty {
            calls.append(ranges.call(statement))
            plans.append(.ranges(places: ranges.places))
        }
        if !areFew {
            let parts = Dictionary(grouping: keys) { $0.partition ?? .global }
            for (partition, keys) in parts.sorted(by: { $0.key < $1.key }) {
                let list = keys.map(\.behindPartition)
                calls.append(BoundStatement(Self.keys).adding(partition.column).adding(list))
                plans.append(.keys(partition))
            }
        }
        var fetched = BufferedTransaction.Fetched()
        guard !calls.isEmpty else { return ([], fetched) }
        let rows = try connection.roundTrip(calls)
        for (plan, rows) in zip(plans, rows[opening.count...]) {
            switch plan {
            case .keys(let partition):
                fetched.keys.reserveCapacity(fetched.keys.count + rows.count)
                for row in 0..<rows.count {
                    fetched.keys.append(entry(partition, rows, row, column: 0))
                }
            case .ranges(let places): try take(rows, places, queries, &fetched)
            case .wideRange(let place):
                let entries = try (0..<rows.count).map {
                    let partition = Partition(number: UInt64(bitPattern: try rows.number($0, 0)))
                    return entry(partition, rows, $0, column: 1)
                }
                fetched.ranges[place] = BufferedTransaction.Found(entries: entries)
            }
        }
        return (Array(rows[..<opening.count]), fetched)
    }

    /// Adds a range of one partition to those of its direction.
    private static func add(
        _ range: KeyQuery.Range, _ place: Int,
        naming: (name: KeyQuery.Name, prefix: HubKey, behind: Int)? = nil,
        to ranges: inout Ranges, _ lastRanges: inout Ranges
    ) {
        let (start, end) = bounds(range)
        guard start < end, let partition = Partition(prefix: range.prefix) else { return }
        let (first, last) = (part(start, of: partition), part(end, of: partition))
        if range.isReverse {
            lastRanges.add(place, partition, first, last, countMax: range.countMax, naming: naming)
        } else {
            ranges.add(place, partition, first, last, countMax: range.countMax, naming: naming)
        }
    }

    /// Takes what ranges found.
    private static func take(
        _ rows: Rows, _ places: [Int], _ queries: [KeyQuery],
        _ fetched: inout BufferedTransaction.Fetched
    ) throws {
        var found = [BufferedTransaction.Found](
            repeating: BufferedTransaction.Found(), count: places.count)
        for row in 0..<rows.count {
            let number = Int(try rows.number(row, 0))
            guard places.indices.contains(number - 1) else { continue }
            let partition: Partition?
            switch queries[places[number - 1]] {
            case .key(let key):
                if let partition = key.partition {
                    fetched.keys.append(entry(partition, rows, row, column: 1))
                }
                continue
            case .entries(let range): partition = Partition(prefix: range.prefix)
            case .named(let range, _, let names):
                partition = Partition(prefix: range.prefix)
                if !rows.isNull(row, 3), let named = Partition(prefix: names) {
                    found[number - 1].named.append(entry(named, rows, row, column: 3))
                }
            }
            guard let partition else { continue }
            found[number - 1].entries.append(entry(partition, rows, row, column: 1))
        }
        for (place, var found) in zip(places, found) where !queries[place].isKey {
            let isReverse = queries[place].isReverse
            // SQL promises no order of what was joined.
            if !found.entries.isInOrder(isReverse: isReverse) {
                found.entries.sort { isReverse ? $1.key < $0.key : $0.key < $1.key }
            }
            fetched.ranges[place] = found
        }
    }

    private static func entry(
        _ partition: Partition, _ rows: Rows, _ row: Int, column: Int
    ) -> BufferedTransaction.Entry {
        unsafe (
            HubKey(partition, behind: rows.bytes(row, column)), Array(rows.bytes(row, column + 1))
        )
    }

    /// The bounds of a range behind its partition.
    private static func bounds(_ range: KeyQuery.Range) -> (start: HubKey, end: HubKey) {
        let (prefix, end) = (range.prefix, range.prefix.endOfPrefix)
        return range.isReverse
            ? (prefix, min(range.bound ?? end, end)) : (max(range.bound ?? prefix, prefix), end)
    }

    /// After all keys that there can be behind a partition.
    private static let lastKey = [UInt8](repeating: 0xFF, count: HubKey.byteCountMax + 1)

    /// What is left of a key behind a partition; nil if it is behind all of the partition's.
    private static func part(_ key: HubKey, of partition: Partition) -> [UInt8] {
        guard key.bytes.count >= Partition.byteCount, Partition(prefix: key) == partition else {
            return lastKey
        }
        return Array(key.behindPartition)
    }

    /// The call for a range that is not in one partition alone; nil for one that is, or that is empty.
    private static func wideCall(of range: KeyQuery.Range) -> BoundStatement? {
        let (start, end) = bounds(range)
        guard start < end, Partition(prefix: range.prefix) == nil, let first = Position(start)
        else { return nil }
        // No partition has a number that the column can't have.
        let last = Position(end) ?? Position(column: .max, key: lastKey)
        return BoundStatement(range.isReverse ? lastWideRange : wideRange).adding(first.column)
            .adding(first.key).adding(last.column).adding(last.key)
            .adding(Int64(clamping: range.countMax))
    }

    /// A place in the order of partitions and keys.
    private struct Position {
        var column: Int64
        var key: [UInt8]

        init(column: Int64, key: [UInt8]) { (self.column, self.key) = (column, key) }

        /// nil if it is behind all that there can be.
        init?(_ key: HubKey) {
            var bytes = Array(key.bytes.prefix(Partition.byteCount))
            bytes += [UInt8](repeating: 0, count: Partition.byteCount - bytes.count)
            let number = bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            guard let column = Int64(exactly: number) else { return nil }
            self.init(column: column, key: Array(key.bytes.dropFirst(Partition.byteCount)))
        }
    }
}

extension KeyQuery {
    fileprivate var isKey: Bool {
        if case .key = self { true } else { false }
    }

    fileprivate var isReverse: Bool {
        switch self {
        case .key: false
        case .entries(let range), .named(let range, _, _): range.isReverse
        }
    }
}

extension [BufferedTransaction.Entry] {
    fileprivate func isInOrder(isReverse: Bool) -> Bool {
        zip(self, dropFirst()).allSatisfy { isReverse ? $1.key < $0.key : $0.key < $1.key }
    }
}

extension Partition {
    /// The number as its column has it. Hubs count them, so that none comes to be negative; what a
    /// request makes up is not found.
    var column: Int64 { Int64(bitPattern: number) }

    /// The partition that a key, or the start of one, is in; nil if it is too short.
    fileprivate init?(prefix: HubKey) {
        guard prefix.bytes.count >= Self.byteCount else { return nil }
        self.init(number: prefix.bytes.prefix(Self.byteCount).reduce(0) { $0 << 8 | UInt64($1) })
    }
}
