import Backstitch
import Terminal

/// Makes a store's tables anew.
struct RebuildCommand: Command {
    private struct Document: Encodable {
        let store: String
        let identical: Bool
        let operations: Int
        let entries: Int
    }

    let name = "rebuild"
    let summary = "Makes a store's tables anew from its log."
    let syntax = Syntax(
        operands: [.store], options: [.json],
        notes: """
            The tables are a function of the log, so that this changes nothing unless they were
            damaged. Programs may use the store meanwhile; their writes wait. Where the log is
            damaged, nothing is changed and the exit code is 2.

            JSON: one object.
              store       the path as given
              identical   whether the tables are byte for byte what they were before
              operations  the number of operations that were applied
              entries     the number of entries in the tables
            """)

    func interruptionText(_ arguments: Arguments) -> String? {
        "The tables are as they were; run it again."
    }

    func run(_ arguments: Arguments, _ console: Console) async throws -> ExitCode {
        let path = arguments.operands[0]
        let store = try Store.open(existing: path, access: .readWrite, checksPages: true)
        defer { store.close() }
        let progress = console.progress("Rebuilding")
        defer { progress.finish() }
        let report = try await store.rebuild { progress.update(done: $0, total: $1) }
        progress.finish()
        if arguments.has(.json) {
            console.output.line(
                try JSON.line(
                    Document(
                        store: path, identical: report.isIdentical, operations: report.operations,
                        entries: report.entries)))
        } else {
            let what =
                "\(report.operations.counted("operation")) gave "
                + "\(report.entries.counted("entry", "entries")) in the tables"
            console.output.line(
                report.isIdentical
                    ? "Rebuilt: \(what), identical to what was there."
                    : "Rebuilt: \(what). They were different before: the tables were damaged.")
        }
        return .success
    }
}
