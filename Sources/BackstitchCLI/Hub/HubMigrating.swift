import BackstitchHubPostgreSQL
import Terminal

/// Makes a hub's tables in a database.
enum HubMigrating {
    private struct Document: Encodable {
        let migrated: Bool
    }

    static func run(
        _ database: PostgreSQLAddress, _ arguments: Arguments, _ console: Console
    ) throws -> ExitCode {
        let isDone = try database.migrate()
        if arguments.has(.json) { console.output.line(try JSON.line(Document(migrated: isDone))) }
        return .success
    }
}
