import BackstitchSimulation
import BackstitchTesting
import CMalloc
import Terminal
import Threading

/// Runs seeded simulations of devices and a service.
struct SimulateCommand: Command {
    private static let parallel = Syntax.Option(
        "parallel", "N", "How many seeds run at a time; 8 unless given.")
    private static let untilFailure = Syntax.Option(
        "until-failure", nil, "Begins no further seed once one failed.")

    private static let failures = Syntax.Option(
        "failures", "FILE",
        "Where failing seeds are added; \(FailureFile.defaultPath) unless given.")

    let name = "simulate"
    let summary = "Runs devices and a service through faults and crashes, from seeds."
    let syntax = Syntax(
        options: [
            SimulateArguments.seeds, SimulateArguments.fresh, SimulateArguments.from,
            SimulateArguments.devices, SimulateArguments.steps, SimulateArguments.profile,
            SimulateArguments.faults, SimulateArguments.script, SimulateArguments.shrink,
            SimulateArguments.patience, failures, parallel, untilFailure, .json,
        ],
        notes: """
            The same seed with the same options does the same on every machine. --fresh draws seeds
            from all 64 bits and tells the number that they follow from; with --from they are the
            same again.

            A seed that fails is written to standard error and to a file as soon as it does; the
            file is made with the first one, in the working folder. In the end each is run again
            alone, \(RunAgain.seedsMax) at most.

            Profiles:
            \(SimulateArguments.profileLines)

            A LIST of faults is none, all, or names with commas between them:
            \(SimulateArguments.faultLines)

            A script is a run as JSON, step by step. --shrink takes the first seed that fails, cuts
            its script down to what still fails the same check, and writes that; --script runs one.

            Exit codes: 0 every seed passed all checks; 1 one failed; 2 they could not be run.

            JSON: one object.
              options         what was run: profile, devices, steps, faults, from where fresh seeds
                              follow; or the script's path
              seeds           how many seeds were run
              failures        the seeds that failed, with what was found, how to run them again, and
                              what came of that (again)
              rounds          the sync rounds of all devices
              operations      the local operations in all logs
              conflicts       the entries of all conflict journals
              duplicates      the records that became one with another
              faultsInjected  how often each kind of fault made a difference
              seconds         how long it took
              shrunk          with --shrink, the short script, how it fails, and the runs it took
            """)

    func interruptionText(_ arguments: Arguments) -> String? {
        "The seeds that ran by then are not told; run it again with fewer."
    }

    func run(_ arguments: Arguments, _ console: Console) async throws -> ExitCode {
        // LMDB asks for 2 MB of zeroes with every environment. From the heap, they are zeroed each time.
        mallopt(M_MMAP_THRESHOLD, 1 << 20)
        let work = try SimulateArguments(arguments)
        let parallel: Int = try arguments.number(Self.parallel) ?? 8
        let isJSON = arguments.has(.json)
        let file = try FailureFile(arguments.text(Self.failures), console)
        if let start = work.start, !isJSON {
            console.complain("The fresh seeds follow from \(start): --from \(start)")
        }
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
            guard let failure = result.failure else { return }
            console.complain(isJSON ? work.replay(failure) : "\(failure)")
            file.add(failure, replay: work.replay(failure))
        }
        progress.finish()
        let again = await RunAgain.run(summary.failures, work)
        var document = SimulateDocument(work, summary, again: again)
        let shrunk = await shrink(work, summary, console)
        if let shrunk { document.add(shrunk) }
        if isJSON {
            console.output.line(try JSON.line(document))
        } else if let shrunk {
            console.complain("\(shrunk.failure)\nThe script, after \(shrunk.runs) runs:")
            console.output.line(try shrunk.script.json)
        } else {
            for line in Self.lines(summary, work, again) { console.output.line(line) }
        }
        return summary.failures.isEmpty ? .success : .negative
    }

    /// The short script of the first failure, if that is asked for.
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

    private static func lines(
        _ summary: SimulationSummary, _ work: SimulateArguments, _ again: [UInt64: RunAgain]
    ) -> [String] {
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
            "Seed \($0.seed) failed: \($0.checker)"
                + (again[$0.seed].map { "; it \($0.rawValue)" } ?? "") + ". \(work.replay($0))"
        }
        return lines
    }
}
