import BackstitchHub
import Terminal

/// What `doctor` says of a hub's folder.
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
        _ path: String, readsFiles: Bool = false, _ arguments: Arguments, _ console: Console
    ) throws -> ExitCode {
        let diagnosis = try readsFiles ? Hub.verify(at: path) : Hub.diagnose(at: path)
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
