import BackstitchHubCore

/// The tables of a hub in a database. FORMAT-HUB.md has what their rows hold.
enum HubSchema {
    /// The version of the tables that this program works with.
    static let version: Int64 = 1

    /// How many of its last commits a partition remembers.
    static let marksMax = 16

    /// What tells a database's hub from others of the same server.
    struct Identity: Hashable, Sendable {
        let number: Int64

        /// The channel on which hubs tell each other what they changed.
        var channel: String { "backstitch_" + String(UInt64(bitPattern: number), radix: 16) }
    }

    private static let isThere = Statement(
        "isThere", sql: "SELECT 1::int8 WHERE to_regclass('backstitch_meta') IS NOT NULL")
    private static let meta = Statement(
        "meta", sql: "SELECT version, identity FROM backstitch_meta")
    private static let safety = Statement(
        "safety", sql: "SELECT 1::int8 WHERE current_setting('fsync')::bool")
    // The number is of no meaning, and Backstitch's own.
    private static let lock = Statement(
        "migrating", sql: "SELECT pg_advisory_xact_lock(4702111234474983745)")
    private static let begin = Statement("beginMigration", sql: "BEGIN")
    private static let commit = Statement("commitMigration", sql: "COMMIT")

    /// What makes the tables.
    ///
    /// Values are stored as they are: most are short, or compressed already. Room is left in pages, so that
    /// the row that each write of a partition updates stays where it is.
    private static let tables = [
        Statement(
            "entries",
            sql: """
                CREATE TABLE backstitch_entries (
                    p bigint NOT NULL, k bytea NOT NULL, v bytea NOT NULL, PRIMARY KEY (p, k)
                ) WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02,
                    autovacuum_vacuum_insert_scale_factor = 0.1)
                """),
        Statement("external", sql: "ALTER TABLE backstitch_entries ALTER v SET STORAGE EXTERNAL"),
        Statement(
            "partitions",
            sql: """
                CREATE TABLE backstitch_partitions (
                    p bigint PRIMARY KEY, seq bigint NOT NULL, marks bigint[] NOT NULL
                ) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02)
                """),
        Statement(
            "makeMeta",
            sql:
                "CREATE TABLE backstitch_meta (version bigint NOT NULL, identity bigint NOT NULL)"),
    ]
    private static let addMeta = Statement(
        "addMeta", .number, .number, sql: "INSERT INTO backstitch_meta VALUES ($1, $2)")

    /// Makes the tables unless they are there. Several may try at once.
    ///
    /// - Parameter identity: That of new tables.
    /// - Returns: Whether something was to be done.
    static func migrate(_ connection: Connection, identity: Int64) throws -> Bool {
        _ = try connection.roundTrip([BoundStatement(begin), BoundStatement(lock)])
        var calls: [BoundStatement] = []
        if try read(connection) == nil {
            calls =
                tables.map { BoundStatement($0) } + [
                    BoundStatement(addMeta).adding(version).adding(identity)
                ]
        }
        _ = try connection.roundTrip(calls + [BoundStatement(commit)])
        return !calls.isEmpty
    }

    /// Checks that the tables are there and of this version, and that the server keeps what it commits.
    static func check(_ connection: Connection, _ address: PostgreSQLAddress) throws -> Identity {
        guard let identity = try read(connection) else {
            throw HubError(
                .wrongFormat,
                "The database \(address.name) has no hub. Make its tables with 'backstitch hub "
                    + "migrate --storage ADDRESS'.")
        }
        guard try connection.roundTrip([BoundStatement(safety)])[0].count == 1 else {
            throw HubError(
                .invalid,
                "The server of the database \(address.name) has fsync off, so that a power cut would "
                    + "lose what devices were told is kept. Turn it on.")
        }
        return identity
    }

    /// The identity of the tables; nil if there are none.
    ///
    /// - Throws: A failure that says what to do if they are of another version.
    static func read(_ connection: Connection) throws -> Identity? {
        guard try connection.roundTrip([BoundStatement(isThere)])[0].count == 1 else { return nil }
        let rows = try connection.roundTrip([BoundStatement(meta)])[0]
        guard rows.count == 1 else {
            throw HubError(
                .damaged,
                "The table backstitch_meta has \(rows.count) rows in place of one. Restore the "
                    + "database from a backup.")
        }
        let found = try rows.number(0, 0)
        guard found == version else {
            throw HubError(
                .wrongFormat,
                "The database has a hub's tables of version \(found), and this program works with "
                    + "version \(version). Use the program that made them, or a later one.")
        }
        return Identity(number: try rows.number(0, 1))
    }
}
