import Backstitch
import BenchmarkKit
import Foundation
import PeerInterface
import PeerSQLite

@Entity private struct Office {
    var id = ID()
    @Attribute(.indexed) var name: String
}

@Entity private struct Worker {
    static let indexes: [EntityIndex<Worker>] = [
        EntityIndex(.insensitive(\.name)), EntityIndex(\.level, \.started),
    ]
    var id = ID()
    @Attribute(.indexed) var name: String
    var level: Int
    var started: Int
    var office: Office.ID?
}

extension EngineBenchmark {
    private static let workers = 100_000
    private static let offices = 1_000
    private static let queryRounds = 15

    /// Queries over relationships and over two attributes beside SQLite's, and texts without case and accents
    /// beside texts as they are.
    mutating func queries() async throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let store = try Store(
            at: URL(filePath: folder + "/queries"),
            schema: StoreSchema(Office.self, Worker.self),
            configuration: StoreConfiguration(durability: .relaxed))
        defer { remove(store) }
        guard let peer = peer_sql_open(folder + "/queries.sqlite") else { throw Self.sqlFailure }
        defer { peer_sql_close(peer) }
        try Self.fill(store, peer)
        let some = QueryCondition<Office>().where(\.name, startsWith: "Ka")
        let ofSome = Query<Worker>().where(\.office, fulfils: some)
        let join =
            "SELECT worker.* FROM worker JOIN office ON office.id = worker.office "
            + "WHERE office.name >= 'Ka' AND office.name < 'Kb'"
        try compare("related-filter", store, ofSome, peer, join + " ORDER BY worker.id")
        try compare(
            "related-sort", store, ofSome.sorted(by: \.office, \.name), peer,
            join + " ORDER BY office.name, worker.id")
        try compare(
            "related-sort-all", store, Query<Worker>().sorted(by: \.office, \.name).limit(50), peer,
            "SELECT worker.* FROM worker LEFT JOIN office ON office.id = worker.office "
                + "ORDER BY office.name, worker.id LIMIT 50")
        try compare(
            "compound", store,
            Query<Worker>().where(\.level, is: 7).where(\.started, in: 1_000..<3_000)
                .sorted(by: \.started), peer,
            "SELECT * FROM worker WHERE level = 7 AND started >= 1000 AND started < 3000 "
                + "ORDER BY started, id")
        try groups(store, peer)
        try texts(store)
    }

    /// Sums of few and of many groups, and SQLite's.
    private mutating func groups(_ store: Store, _ peer: OpaquePointer) throws {
        let all = Query<Worker>()
        let kinds: [(String, (borrowing ReadTransaction) throws -> Int)] = [
            ("office", { try $0.groups(all, by: GroupKeys(\.office), .sum(\.started)).count }),
            ("started", { try $0.groups(all, by: GroupKeys(\.started), .sum(\.level)).count }),
        ]
        for (key, ask) in kinds {
            let sum = key == "office" ? "started" : "level"
            let sql = "SELECT \(key), sum(\(sum)) FROM worker GROUP BY \(key)"
            let ways: [(String, () throws -> Int)] = [
                ("", { try store.read(ask) }),
                ("-sqlite", { Int(peer_sql_rows(peer, sql)) }),
            ]
            var times = ways.map { _ in [Int64]() }
            for _ in 0..<Self.queryRounds {
                var counts: Set<Int> = []
                for (number, way) in ways.enumerated() {
                    let start = peer_nanoseconds()
                    counts.insert(try way.1())
                    times[number].append(peer_nanoseconds() - start)
                }
                guard counts.count == 1 else {
                    throw EngineFailure(description: "groups by \(key): \(counts)")
                }
            }
            for (way, times) in zip(ways, times) {
                note("groups-\(key)\(way.0)", Double(times.sorted()[Self.queryRounds / 2]))
            }
        }
    }

    private mutating func compare(
        _ name: String, _ store: Store, _ query: Query<Worker>, _ peer: OpaquePointer,
        _ sql: String
    ) throws {
        var (own, other): ([Int64], [Int64]) = ([], [])
        for _ in 0..<Self.queryRounds {
            let start = peer_nanoseconds()
            let found = try store.read { try $0.fetch(query).count }
            let middle = peer_nanoseconds()
            let count = peer_sql_rows(peer, sql)
            let end = peer_nanoseconds()
            guard count == found, count > 0 else {
                throw EngineFailure(description: "\(name): \(found) records, \(count) in SQLite")
            }
            own.append(middle - start)
            other.append(end - middle)
        }
        note(name, Double(own.sorted()[Self.queryRounds / 2]))
        note(name + "-sqlite", Double(other.sorted()[Self.queryRounds / 2]))
    }

    /// The same searches with and without case and accents, in turns.
    private mutating func texts(_ store: Store) throws {
        let names = (0..<200).map { Self.name($0 * 487) }
        let searches: [(String, (String, TextComparison) -> Query<Worker>)] = [
            ("equal", { Query<Worker>().where(\.name, is: $0, comparing: $1) }),
            (
                "prefix",
                { name, comparison in
                    Query<Worker>().where(
                        \.name, startsWith: String(name.prefix(4)), comparing: comparison)
                }
            ),
            (
                "order",
                { name, comparison in
                    Query<Worker>().sorted(by: \.name, comparing: comparison).limit(50)
                }
            ),
        ]
        for (kind, query) in searches {
            var times: [TextComparison: [Int64]] = [:]
            for round in 0..<Self.queryRounds {
                let order = TextComparison.allCases
                var counts: Set<Int> = []
                for comparison in round % 2 == 0 ? order : order.reversed() {
                    let start = peer_nanoseconds()
                    var count = 0
                    for name in names {
                        count += try store.read { try $0.fetch(query(name, comparison)).count }
                    }
                    times[comparison, default: []].append(
                        (peer_nanoseconds() - start) / Int64(names.count))
                    counts.insert(count)
                }
                guard counts.count == 1 else {
                    throw EngineFailure(description: "\(kind): \(counts) records")
                }
            }
            for (comparison, times) in times.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
                note(
                    "text-\(kind)-\(comparison.rawValue)",
                    Double(times.sorted()[Self.queryRounds / 2]))
            }
        }
    }

    /// A name of which each case is the same in all records, so that both comparisons find the same.
    private static func name(_ number: Int) -> String {
        let syllables = ["ka", "lo", "mi", "ne", "ru", "sa", "to", "vi", "be", "da", "fo", "gu"]
        var text = ""
        var rest = number &* 7_919 % 248_832
        for _ in 0..<5 {
            text += syllables[rest % syllables.count]
            rest /= syllables.count
        }
        return text.prefix(1).uppercased() + text.dropFirst()
    }

    private static func fill(_ store: Store, _ peer: OpaquePointer) throws {
        func execute(_ sql: String) throws {
            guard peer_sql_execute(peer, sql) == 0 else { throw sqlFailure }
        }
        try execute(
            "CREATE TABLE office(id TEXT PRIMARY KEY, name TEXT) WITHOUT ROWID;"
                + "CREATE TABLE worker(id TEXT PRIMARY KEY, name TEXT, level INTEGER,"
                + " started INTEGER, office TEXT) WITHOUT ROWID; BEGIN;")
        for number in 0..<offices {
            try execute("INSERT INTO office VALUES('o\(1_000 + number)', '\(name(number * 31))')")
        }
        for number in 0..<workers {
            try execute(
                "INSERT INTO worker VALUES('w\(100_000 + number)', '\(name(number))', "
                    + "\(number % 40), \(number * 7_907 % 20_000), "
                    + "'o\(1_000 + number * 13 % offices)')")
        }
        try execute(
            "COMMIT; CREATE INDEX office_name ON office(name);"
                + "CREATE INDEX worker_name ON worker(name);"
                + "CREATE INDEX worker_office ON worker(office);"
                + "CREATE INDEX worker_level ON worker(level, started); ANALYZE;")
        try store.write { transaction in
            for number in 0..<offices {
                try transaction.save(
                    Office(id: .init("o\(1_000 + number)"), name: name(number * 31)))
            }
        }
        for part in parts(0..<workers) {
            try store.write { transaction in
                for number in part {
                    try transaction.save(
                        Worker(
                            id: .init("w\(100_000 + number)"), name: name(number),
                            level: number % 40, started: number * 7_907 % 20_000,
                            office: .init("o\(1_000 + number * 13 % offices)")))
                }
            }
        }
    }

    private static var sqlFailure: EngineFailure {
        EngineFailure(description: String(cString: peer_error_message()))
    }
}
