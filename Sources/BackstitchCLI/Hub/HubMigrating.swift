import BackstitchHub
import BackstitchHubPostgreSQL
import Terminal

/// Brings a hub's folder to the format that this program serves.
enum HubMigrating {
    private struct Document: Encodable {
        let data: String
        let migrated: Bool
        let entries: Int
        let databases: Int
        let records: Int
        let files: Int
        let missingFiles: Int
    }

    private struct DatabaseDocument: Encodable {
        let migrated: Bool
    }

    /// Makes a hub's tables in a database, or brings them to this version.
    static func run(
        _ database: PostgreSQLAddress, _ arguments: Arguments, _ console: Console
    ) throws -> ExitCode {
        let isDone = try database.migrate()
        if arguments.has(.json) {
            console.output.line(try JSON.line(DatabaseDocument(migrated: isDone)))
        }
        return .success
    }

    static func run(
        _ folder: String, _ arguments: Arguments, _ console: Console
    ) async throws -> ExitCode {
        let progress = console.progress("Migrating")
        defer { progress.finish() }
        let done = try await Hub.migrate(at: folder) { progress.update(done: $0, total: $1) }
        progress.finish()
        let report = done ?? MigrationReport()
        if arguments.has(.json) {
            console.output.line(
                try JSON.line(
                    Document(
                        data: folder, migrated: done != nil, entries: report.entries,
                        databases: report.databases, records: report.records, files: report.files,
                        missingFiles: report.missingFiles)))
        } else if done == nil {
            console.output.line("'\(folder.printable)' has this version's format already.")
        } else {
            console.output.line(
                "Migrated '\(folder.printable)': \(report.databases.counted("database")), "
                    + "\(report.records.counted("record")) and \(report.files.counted("file")).")
        }
        if report.missingFiles > 0 {
            console.complain(
                "\(report.missingFiles.counted("file")) that records hold had been missing before.")
        }
        return .success
    }
}
