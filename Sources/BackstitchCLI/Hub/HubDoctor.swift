import BackstitchHub
import BackstitchHubPostgreSQL
import Terminal

/// What `doctor` says of a hub.
enum HubDoctor {
    /// The JSON, with the keys that that of a store has too.
    private struct Document: Encodable {
        struct Finding: Encodable {
            let part = "hub"
            let message: String
        }

        let store: String
        let kind = "hub"
        let healthy: Bool
        let remedy: String
        let findings: [Finding]
        let findingCount: Int
        let rows: Int
        let records: Int
        let files: Int
        let repaired = false
    }

    /// - Parameter readsFiles: Whether all files are read, to compare them with their checksums.
    static func run(
        _ path: String, files store: HubFileStore? = nil, readsFiles: Bool = false,
        _ arguments: Arguments, _ console: Console
    ) throws -> ExitCode {
        let diagnosis =
            try readsFiles
            ? Hub.verify(at: path, files: store) : Hub.diagnose(at: path, files: store)
        return try tell(diagnosis, of: path, arguments, console)
    }

    /// Looks at a hub whose records are in a database.
    static func run(
        _ database: PostgreSQLAddress, files folder: String, in store: HubFileStore?,
        readsFiles: Bool, _ arguments: Arguments, _ console: Console
    ) throws -> ExitCode {
        let diagnosis = try database.diagnose(files: folder, in: store, readsFiles: readsFiles)
        return try tell(diagnosis, of: folder, arguments, console)
    }

    private static func tell(
        _ diagnosis: HubDiagnosis, of path: String, _ arguments: Arguments, _ console: Console
    ) throws -> ExitCode {
        if arguments.has(.json) {
            console.output.line(
                try JSON.line(
                    Document(
                        store: path, healthy: diagnosis.isHealthy,
                        remedy: diagnosis.isHealthy ? "none" : "backup",
                        findings: diagnosis.findings.map { Document.Finding(message: $0) },
                        findingCount: diagnosis.findings.count, rows: diagnosis.rows,
                        records: diagnosis.records, files: diagnosis.files)))
        } else {
            let counts = "\(diagnosis.records) records, \(diagnosis.files) files"
            console.output.line(
                diagnosis.isHealthy
                    ? "'\(path.printable)' holds a hub, and nothing is wrong: \(counts)."
                    : "'\(path.printable)' holds a hub that is damaged: \(counts).")
            for finding in diagnosis.findings { console.output.line(finding) }
        }
        return diagnosis.isHealthy ? .success : .negative
    }
}
