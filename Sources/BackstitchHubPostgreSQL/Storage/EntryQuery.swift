import BackstitchHubCore

/// The statements by which entries are read, and what a query becomes of them.
///
/// Each reads an index in its order and stops at its limit; `PlanTests` has the plans read.
enum EntryQuery {
    static let keys = Statement(
        "keys", .number, .list,
        sql: "SELECT k, v FROM backstitch_entries WHERE p = $1 AND k = ANY ($2)")
    static let range = Statement(
        "range", .number, .bytes, .bytes, .number,
        sql: """
            SELECT k, v FROM backstitch_entries WHERE p = $1 AND k >= $2 AND k < $3
            ORDER BY k LIMIT $4
            """)
    static let lastRange = Statement(
        "lastRange", .number, .bytes, .bytes, .number,
        sql: """
            SELECT k, v FROM backstitch_entries WHERE p = $1 AND k >= $2 AND k < $3
            ORDER BY k DESC LIMIT $4
            """)
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
    static let namedByValue = named("namedByValue", "$6 || r.v", isReverse: false)
    static let namedByKey = named("namedByKey", "$6 || substr(r.k, $7::int)", isReverse: false)
    static let lastNamedByValue = named("lastNamedByValue", "$6 || r.v", isReverse: true)
    static let lastNamedByKey = named(
        "lastNamedByKey", "$6 || substr(r.k, $7::int)", isReverse: true)

    /// All of them.
    static let all = [
        keys, range, lastRange, wideRange, lastWideRange, namedByValue, namedByKey,
        lastNamedByValue, lastNamedByKey,
    ]

    /// A range, and the entries that those of it name.
    private static func named(_ statement: String, _ name: String, isReverse: Bool) -> Statement {
        let order = isReverse ? "ORDER BY k DESC" : "ORDER BY k"
        return Statement(
            statement, .number, .bytes, .bytes, .number, .number, .bytes, .number,
            sql: """
                WITH r AS MATERIALIZED (
                    SELECT k, v FROM backstitch_entries WHERE p = $1 AND k >= $2 AND k < $3
                    \(order) LIMIT $4)
                SELECT 0::int8, k, v FROM r
                UNION ALL SELECT 1::int8, n.k, n.v
                FROM r JOIN backstitch_entries AS n ON n.p = $5 AND n.k = \(name)
                """)
    }

    // MARK: Round trips

    /// A call, and what to do with its rows.
    private enum Plan {
        /// Keys of a partition, by their places among the queries.
        case keys(Partition)
        case range(place: Int, Partition)
        case wideRange(place: Int)
        case named(place: Int, KeyQuery.Range, under: HubKey)
    }

    /// Answers queries in one round trip.
    ///
    /// - Parameter opening: What is sent before them.
    static func find(
        _ queries: [KeyQuery], after opening: [Call], _ connection: Connection
    ) throws -> (opening: [Rows], found: [BufferedTransaction.Found]) {
        var calls = opening
        var plans: [Plan] = []
        var keys: [Partition: [ArraySlice<UInt8>]] = [:]
        for (place, query) in queries.enumerated() {
            switch query {
            case .key(let key):
                // A key without a partition is of a folder's format, and a table has none.
                if let partition = key.partition {
                    keys[partition, default: []].append(key.behindPartition)
                }
            case .entries(let range):
                guard let (call, plan) = self.plan(of: range, at: place) else { continue }
                calls.append(call)
                plans.append(plan)
            case .named(let range, let name, let names):
                calls.append(try call(of: range, name, under: names))
                plans.append(.named(place: place, range, under: names))
            }
        }
        for (partition, list) in keys.sorted(by: { $0.key < $1.key }) {
            calls.append(Call(Self.keys).adding(partition.column).adding(list))
            plans.append(.keys(partition))
        }
        var found = [BufferedTransaction.Found](
            repeating: BufferedTransaction.Found(entries: []), count: queries.count)
        guard !calls.isEmpty else { return ([], found) }
        let rows = try connection.roundTrip(calls)
        var values: [HubKey: [UInt8]] = [:]
        for (plan, rows) in zip(plans, rows[opening.count...]) {
            switch plan {
            case .keys(let partition):
                for row in 0..<rows.count {
                    let entry = entry(partition, rows, row, column: 0)
                    values[entry.key] = entry.value
                }
            case .range(let place, let partition):
                found[place].entries = (0..<rows.count).map {
                    entry(partition, rows, $0, column: 0)
                }
            case .wideRange(let place):
                found[place].entries = try (0..<rows.count).map {
                    let partition = Partition(number: UInt64(bitPattern: try rows.number($0, 0)))
                    return entry(partition, rows, $0, column: 1)
                }
            case .named(let place, let range, let names):
                found[place] = try self.found(range, under: names, rows)
            }
        }
        for (place, query) in queries.enumerated() {
            if case .key(let key) = query, let value = values[key] {
                found[place].entries = [(key, value)]
            }
        }
        return (Array(rows[..<opening.count]), found)
    }

    private static func entry(
        _ partition: Partition, _ rows: Rows, _ row: Int, column: Int
    ) -> BufferedTransaction.Entry {
        (
            HubKey(partition, behind: rows.bytes(row, column)), Array(rows.bytes(row, column + 1))
        )
    }

    private static func found(
        _ range: KeyQuery.Range, under names: HubKey, _ rows: Rows
    ) throws -> BufferedTransaction.Found {
        var found = BufferedTransaction.Found(entries: [])
        guard let partition = Partition(prefix: range.prefix), let named = Partition(prefix: names)
        else { return found }
        for row in 0..<rows.count {
            if try rows.number(row, 0) == 0 {
                found.entries.append(entry(partition, rows, row, column: 1))
            } else {
                found.named.append(entry(named, rows, row, column: 1))
            }
        }
        // SQL promises no order over both parts.
        found.entries.sort { range.isReverse ? $1.key < $0.key : $0.key < $1.key }
        return found
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

    private static func plan(of range: KeyQuery.Range, at place: Int) -> (Call, Plan)? {
        let (start, end) = bounds(range)
        guard start < end else { return nil }
        if let partition = Partition(prefix: range.prefix) {
            return (
                Call(range.isReverse ? lastRange : Self.range).adding(partition.column)
                    .adding(part(start, of: partition)).adding(part(end, of: partition))
                    .adding(Int64(clamping: range.countMax)),
                .range(place: place, partition)
            )
        }
        guard let first = Position(start) else { return nil }
        // No partition has a number that the column can't have.
        let last = Position(end) ?? Position(column: .max, key: lastKey)
        return (
            Call(range.isReverse ? lastWideRange : wideRange).adding(first.column).adding(first.key)
                .adding(last.column).adding(last.key).adding(Int64(clamping: range.countMax)),
            .wideRange(place: place)
        )
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

    private static func call(
        of range: KeyQuery.Range, _ name: KeyQuery.Name, under names: HubKey
    ) throws -> Call {
        guard let partition = Partition(prefix: range.prefix), let named = Partition(prefix: names)
        else { preconditionFailure("What names entries is in a partition, as what it names.") }
        let statement =
            switch (name, range.isReverse) {
            case (.value, false): namedByValue
            case (.key, false): namedByKey
            case (.value, true): lastNamedByValue
            case (.key, true): lastNamedByKey
            }
        let (start, end) = bounds(range)
        let behind = range.prefix.bytes.count - Partition.byteCount
        return Call(statement).adding(partition.column).adding(part(start, of: partition))
            .adding(start < end ? part(end, of: partition) : [])
            .adding(Int64(clamping: range.countMax)).adding(named.column)
            .adding(Array(names.behindPartition)).adding(Int64(behind + 1))
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
