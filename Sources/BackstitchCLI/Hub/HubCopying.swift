import BackstitchHub
import Terminal

/// Backups of a hub: made, restored and verified.
enum HubCopying {
    private struct Document: Encodable {
        let data: String
        let backup: String
        let rows: Int
        let records: Int
        let files: Int
        let bytes: Int
    }

    /// Makes a backup of a folder, or a folder of a backup.
    static func copy(
        _ folder: String, _ action: HubAction, files store: HubFileStore?,
        _ arguments: Arguments, _ console: Console
    ) throws -> ExitCode {
        guard let backup = arguments.text(HubCommand.backup) else {
            throw UsageError("The option --backup is missing.")
        }
        let progress = console.progress("Copying files")
        defer { progress.finish() }
        let report: HubCopyReport
        if action == .backup {
            report = try Hub.backUp(folder, to: backup, files: store) {
                progress.update(done: $0, total: $1)
            }
        } else {
            report = try Hub.restore(backup, to: folder) { progress.update(done: $0, total: $1) }
        }
        progress.finish()
        if arguments.has(.json) {
            console.output.line(
                try JSON.line(
                    Document(
                        data: folder, backup: backup, rows: report.rows, records: report.records,
                        files: report.files, bytes: report.bytes)))
            return .success
        }
        let counts =
            "\(report.records.counted("record")) and \(report.files.counted("file")), in "
            + "\(report.bytes.asBytes)."
        if action == .backup {
            console.output.line("Copied and verified: \(counts)")
            console.output.line("To restore it: hub restore --backup DIR --data DIR.")
        } else {
            console.output.line("Restored and verified: \(counts)")
            console.output.line("Devices fetch everything anew, and send what the backup lacks.")
        }
        return .success
    }
}
