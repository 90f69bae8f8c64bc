import Backstitch
import BackstitchRepair
import Terminal

/// Checks a store.
struct VerifyCommand: Command {
    private struct Document: Encodable {
        let store: String
        let consistent: Bool
        let logDamaged: Bool
        let operations: Int
        let entries: Int
        let problems: [String]
        let uniqueViolations: [String]
    }

    let name = "verify"
    let summary = "Checks a store's log, and proves that its tables follow from it."
    let syntax = Syntax(
        operands: [.store], options: [.json],
        notes: """
            Nothing in the store is changed. Views are built again in a temporary place, to be compared.
            Exit codes: 0 the store is consistent; 1 it is not; 2 it could not be checked.

            JSON: one object.
              store       the path as given
              consistent  whether nothing is wrong
              logDamaged  whether something is wrong with the log, so that rebuild does not help
              operations  the number of operations that were checked
              entries     the number of entries in the tables that are right
              problems    what is wrong, each with its place; at most \(VerificationReport.problemsMax)
              uniqueViolations  the records that share a value of a unique attribute, a sentence for each value
            """)

    func interruptionText(_ arguments: Arguments) -> String? {
        "Nothing in the store was changed."
    }

    func run(_ arguments: Arguments, _ console: Console) async throws -> ExitCode {
        let path = arguments.operands[0]
        let store = try open(toShow: path)
        defer { store.close() }
        let progress = console.progress("Verifying")
        defer { progress.finish() }
        let report = try store.verify { progress.update(done: $0, total: $1) }
        progress.finish()
        if arguments.has(.json) {
            console.output.line(
                try JSON.line(
                    Document(
                        store: path, consistent: report.isConsistent,
                        logDamaged: report.isLogDamaged, operations: report.operations,
                        entries: report.entries, problems: report.problems,
                        uniqueViolations: report.uniqueViolations)))
        } else {
            for line in Self.lines(report, path: path) { console.output.line(line) }
        }
        return report.isConsistent ? .success : .negative
    }

    static func lines(_ report: VerificationReport, path: String) -> [String] {
        guard !report.isConsistent else {
            return [
                "Consistent: \(report.operations.counted("operation")), and "
                    + "\(report.entries.counted("entry", "entries")) in the tables that follow "
                    + "from them."
            ] + DoctorLines.lines(ofUniqueViolations: report.uniqueViolations)
        }
        let advice =
            report.isLogDamaged
            ? "The log is damaged, and the tables can't be made from it. See what can be kept: "
                + "\(About.name) doctor \(path.printable)"
            : "The log is whole. Make the tables from it again: "
                + "\(About.name) rebuild \(path.printable)"
        return ["Not consistent:"] + report.problems.map { "  " + $0.printable } + [advice]
    }
}
