import BackstitchTesting
import CMalloc
import LMDB

/// Runs seeded simulations of devices and a service.
struct SimulateCommand: Command {
    private static let parallel = Syntax.Option(
        "parallel", "N", "How many seeds run at a time; 8 unless given.")
    private static let untilFailure = Syntax.Option(
        "until-failure", nil, "Begins no further seed once one failed.")

    let name = "simulate"
    let summary = "Runs devices and a service through faults and crashes, from seeds."
    let syntax = Syntax(
        options: [
            SimulateArguments.seeds, SimulateArguments.devices, SimulateArguments.steps,
            SimulateArguments.profile, SimulateArguments.faults, SimulateArguments.script,
            SimulateArguments.shrink, parallel, untilFailure, .json,
        ],
        notes: """
            The same seed with the same options does the same on every machine.

            Profiles:
            \(SimulateArguments.profileLines)

            A LIST of faults is none, all, or names with commas between them:
            \(SimulateArguments.faultLines)

            A script is a run as JSON, step by step. --shrink takes the first seed that fails, cuts
            its script down to what still fails the same check, and writes that; --script runs one.

            Exit codes: 0 every seed passed all checks; 1 one failed; 2 they could not be run.

            JSON: one object.
              options         what was run: profile, devices, steps, faults; or the script's path
              seeds           how many seeds were run
              failures        the seeds that failed, with what was found and how to run them again
              rounds          the sync rounds of all devices
              operations      the local operations in all logs
              conflicts       the entries of all conflict journals
              duplicates      the records that became one with another
              faultsInjected  how often each kind of fault made a difference
              seconds         how long it took
              shrunk          with --shrink, the short script, how it fails, and the runs it took
            """)

    func run(_ arguments: Arguments, _ console: Console) async throws -> ExitCode {
        // LMDB asks for 2 MB of zeroes with every environment. From the heap, they are zeroed each time.
        mallopt(M_MMAP_THRESHOLD, 1 << 20)
        let work = try SimulateArguments(arguments)
        let parallel: Int = try arguments.number(Self.parallel) ?? 8
        let isJSON = arguments.has(.json)
        let progress = console.progress("Simulating")
        defer { progress.finish() }
        let done = Locked(0)
        let summary = await work.run(
            parallel: parallel, stopsAtFailure: arguments.has(Self.untilFailure) || work.shrinks
        ) { result in
            let count = done.withLock { count in
                count += 1
                return count
            }
            progress.update(done: count, total: work.total)
            if let failure = result.failure, !isJSON { console.complain("\(failure)") }
        }
        progress.finish()
        var document = SimulateDocument(work, summary)
        let shrunk = await shrink(work, summary, console)
        if let shrunk { document.add(shrunk) }
        if isJSON {
            console.output.line(try JSON.line(document))
        } else if let shrunk {
            console.complain("\(shrunk.failure)\nThe script, after \(shrunk.runs) runs:")
            console.output.line(try shrunk.script.json)
        } else {
            for line in Self.lines(summary, work) { console.output.line(line) }
        }
        return summary.failures.isEmpty ? .success : .negative
    }

    /// The short script of the first failure, where that is asked for.
    private func shrink(
        _ work: SimulateArguments, _ summary: SimulationSummary, _ console: Console
    ) async -> SimulationShrinker.Shrunk? {
        guard work.shrinks, let failure = summary.failures.first else { return nil }
        let progress = console.progress("Shrinking")
        defer { progress.finish() }
        return await SimulationShrinker.shrink(
            work.script(of: failure.seed), options: work.options
        ) { _, runs in
            progress.update(done: runs, total: SimulationShrinker.runsMax)
        }
    }

    private static func lines(_ summary: SimulationSummary, _ work: SimulateArguments) -> [String] {
        let faults = summary.faultsInjected.sorted { ($0.value, $0.key) < ($1.value, $1.key) }
        let seconds = (summary.seconds * 10).rounded() / 10
        var lines = [
            "\(summary.seeds.counted("seed")), \(summary.failures.count) failed, in \(seconds) s",
            "\(summary.rounds.grouped) rounds, \(summary.operations.grouped) operations, "
                + "\(summary.conflicts.grouped) conflicts, digest "
                + String(summary.digest, radix: 16),
            "Options: \(work.description)",
            "Faults:",
        ]
        lines += Table.lines(faults.map { [$0.key, $0.value.grouped] }, indent: 2)
        lines += summary.failures.map {
            "Seed \($0.seed) failed: \($0.checker). \(work.replay($0))"
        }
        return lines
    }
}
