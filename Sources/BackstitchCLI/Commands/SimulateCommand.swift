import BackstitchTesting
import LMDB

/// Runs seeded simulations of devices and a service.
struct SimulateCommand: Command {
    private struct Document: Encodable {
        let seeds: Int
        let failures: [Failed]
        let rounds: Int
        let operations: Int
        let faultsInjected: [String: Int]
        let seconds: Double
    }

    private struct Failed: Encodable {
        let seed: UInt64
        let step: Int
        let checker: String
        let details: [String]
        let options: String
        let replay: String
    }

    private static let seeds = Syntax.Option(
        "seeds", "A..B", "The first and the last seed, or a single one.")
    private static let parallel = Syntax.Option(
        "parallel", "N", "How many seeds run at a time; 4 unless given.")

    let name = "simulate"
    let summary = "Runs devices and a service through faults and crashes, from seeds."
    let syntax = Syntax(
        options: [seeds, parallel, .json],
        notes: """
            The same seed does the same on every machine.
            Exit codes: 0 every seed passed all checks; 1 one failed; 2 they could not be run.

            JSON: one object.
              seeds           how many seeds were run
              failures        the seeds that failed, with what was found and how to run them again
              rounds          the sync rounds of all devices
              operations      the local operations in all logs
              faultsInjected  how often each kind of fault made a difference
              seconds         how long it took
            """)

    func run(_ arguments: Arguments, _ console: Console) async throws -> ExitCode {
        let range = try Self.range(arguments.text(Self.seeds))
        let parallel: Int = try arguments.number(Self.parallel) ?? 4
        let progress = console.progress("Simulating")
        defer { progress.finish() }
        let done = Locked(0)
        let total = Int(
            clamping: (range.upperBound - range.lowerBound).addingReportingOverflow(1).0)
        let isJSON = arguments.has(.json)
        let summary = await SimulationRun.run(seeds: range, parallel: parallel) { result in
            let count = done.withLock { count in
                count += 1
                return count
            }
            progress.update(done: count, total: total)
            if let failure = result.failure, !isJSON { console.complain("\(failure)") }
        }
        progress.finish()
        if isJSON {
            console.output.line(try JSON.line(Self.document(summary)))
        } else {
            for line in Self.lines(summary) { console.output.line(line) }
        }
        return summary.failures.isEmpty ? .success : .negative
    }

    /// The seeds that a text names: `A..B` or `N`.
    static func range(_ text: String?) throws(UsageError) -> ClosedRange<UInt64> {
        guard let text else { throw UsageError("The option --seeds is missing.") }
        let ends = text.split(separator: ".", omittingEmptySubsequences: false)
        if ends.count == 1, let seed = UInt64(text) { return seed...seed }
        if ends.count == 3, ends[1].isEmpty, let first = UInt64(ends[0]),
            let last = UInt64(ends[2]), first <= last
        {
            return first...last
        }
        throw UsageError(
            "The option --seeds takes a number, or two as in 1..2000, and not '\(text.printable)'.")
    }

    private static func document(_ summary: SimulationSummary) -> Document {
        Document(
            seeds: summary.seeds,
            failures: summary.failures.map {
                Failed(
                    seed: $0.seed, step: $0.step, checker: $0.checker, details: $0.details,
                    options: $0.options, replay: $0.replay)
            }, rounds: summary.rounds, operations: summary.operations,
            faultsInjected: summary.faultsInjected,
            seconds: summary.seconds)
    }

    private static func lines(_ summary: SimulationSummary) -> [String] {
        let faults = summary.faultsInjected.sorted { ($0.value, $0.key) < ($1.value, $1.key) }
        let seconds = (summary.seconds * 10).rounded() / 10
        var lines = [
            "\(summary.seeds.counted("seed")), \(summary.failures.count) failed, in \(seconds) s",
            "\(summary.rounds.grouped) rounds, \(summary.operations.grouped) operations, "
                + "\(summary.conflicts.grouped) conflicts, digest "
                + String(summary.digest, radix: 16),
            "Faults:",
        ]
        lines += Table.lines(faults.map { [$0.key, $0.value.grouped] }, indent: 2)
        lines += summary.failures.map { "Seed \($0.seed) failed: \($0.checker). \($0.replay)" }
        return lines
    }
}
