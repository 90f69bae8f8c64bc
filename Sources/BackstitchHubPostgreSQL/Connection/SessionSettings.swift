/// What holds for a session: limits of time, and the plans of statements.
///
/// Plans are pinned, because the planner goes by statistics and a table that was just filled has none:
/// it would sort a whole feed for each of its pages.
struct SessionSettings: Sendable {
    private let values: [(name: String, value: String)]

    static let standard = SessionSettings(values: [
        ("lock_timeout", "5s"), ("statement_timeout", "15s"),
        ("idle_in_transaction_session_timeout", "30s"), ("enable_seqscan", "off"),
        ("enable_bitmapscan", "off"), ("enable_hashjoin", "off"), ("enable_mergejoin", "off"),
        ("enable_material", "off"), ("max_parallel_workers_per_gather", "0"), ("jit", "off"),
        ("plan_cache_mode", "force_generic_plan"),
    ])

    /// For what may wait: changes of the schema, and who listens.
    static let plain = SessionSettings(values: [])

    /// The one statement that sets all. What a commit waits for is raised if it is less than the disk.
    var call: BoundStatement {
        let settings = values.map { "set_config('\($0.name)', '\($0.value)', false)" }
        let durable = """
            CASE WHEN current_setting('synchronous_commit') = 'off' \
            THEN set_config('synchronous_commit', 'on', false) END
            """
        let sql = "SELECT " + (settings + [durable]).joined(separator: ", ")
        return BoundStatement(Statement("settings", sql: sql))
    }
}
