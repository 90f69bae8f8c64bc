import Backstitch
import BackstitchStore
import Foundation
import Terminal

/// Copies a store.
struct BackupCommand: Command {
    private struct Document: Encodable {
        let store: String
        let target: String
        let storeID: String
        let copiedFrom: String
        let lastSequence: UInt64
        let operations: Int
        let entries: Int
        let bytes: Int
    }

    let name = "backup"
    let summary = "Copies a store while it is in use, and verifies the copy."
    let syntax = Syntax(
        operands: [
            .store,
            Syntax.Operand(name: "TARGET", summary: "The path of the copy, where nothing is."),
        ], options: [.json],
        notes: """
            The copy is of one moment; programs may use the store meanwhile. It appears when it is
            complete, verified and on disk, and is a store itself: to restore it, open it, or move it
            to where the program looks for its store. It has an identity of its own. Where the store
            is damaged, no copy is made and the exit code is 2.

            JSON: one object.
              store, target  the paths as given
              storeID        the identity of the copy
              copiedFrom     the identity of the store
              lastSequence   the sequence of the last operation in the copy
              operations     the number of operations in the copy's log
              entries        the number of entries in the copy's tables
              bytes          the size of the copy's data file
            """)

    func interruptionText(_ arguments: Arguments) -> String? {
        "There is no copy. What was copied so far stays in a hidden folder beside the target, and the "
            + "next backup to it takes that away."
    }

    func run(_ arguments: Arguments, _ console: Console) async throws -> ExitCode {
        let (path, target) = (arguments.operands[0], arguments.operands[1])
        let store = try open(toShow: path)
        defer { store.close() }
        let progress = console.progress("Verifying the copy")
        defer { progress.finish() }
        let report = try StoreBackup(of: store, to: target).make {
            progress.update(done: $0, total: $1)
        }
        progress.finish()
        if arguments.has(.json) {
            console.output.line(
                try JSON.line(
                    Document(
                        store: path, target: target, storeID: report.storeID.uuidString,
                        copiedFrom: report.copiedFrom.uuidString,
                        lastSequence: report.lastSequence, operations: report.operations,
                        entries: report.entries, bytes: report.bytes)))
        } else {
            console.output.line(
                "Copied and verified: \(report.operations.counted("operation")), the last is "
                    + "\(report.lastSequence), in \(report.bytes.asBytes).")
            console.output.line("To restore it, open \(target.printable): it is a store.")
        }
        return .success
    }
}
