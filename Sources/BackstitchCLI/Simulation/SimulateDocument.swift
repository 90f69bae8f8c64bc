import BackstitchSimulation
import BackstitchTesting

/// What `backstitch simulate --json` writes.
struct SimulateDocument: Encodable {
    private struct Options: Encodable {
        var profile: String?
        var devices: String?
        var steps: Int?
        var faults: String?
        /// In decimal digits, which more readers keep whole than a number of 64 bits.
        var from: String?
        var script: String?
    }

    private struct Failed: Encodable {
        let seed: UInt64
        let step: Int
        let checker: String
        let details: [String]
        let options: String
        let replay: String
        let again: String?

        init(_ failure: SimulationFailure, replay: String, again: String? = nil) {
            self.again = again
            seed = failure.seed
            step = failure.step
            checker = failure.checker
            details = failure.details
            options = failure.options
            self.replay = replay
        }
    }

    private struct Shrunk: Encodable {
        let script: SimulationScript
        let failure: Failed
        let runs: Int
    }

    private let options: Options
    private let seeds: Int
    private let failures: [Failed]
    private let rounds: Int
    private let operations: Int
    private let conflicts: Int
    private let duplicates: Int
    private let faultsInjected: [String: Int]
    private let seconds: Double
    private var shrunk: Shrunk?

    init(
        _ work: SimulateArguments, _ summary: SimulationSummary, again: [UInt64: RunAgain]
    ) {
        if let script = work.script {
            options = Options(script: script.path)
        } else {
            options = Options(
                profile: work.options.profile.rawValue,
                devices: work.options.devices.map(String.init) ?? "by seed",
                steps: work.options.steps, faults: work.options.faults.description,
                from: work.start.map(String.init))
        }
        seeds = summary.seeds
        failures = summary.failures.map {
            Failed($0, replay: work.replay($0), again: again[$0.seed]?.rawValue)
        }
        rounds = summary.rounds
        operations = summary.operations
        conflicts = summary.conflicts
        duplicates = summary.duplicates
        faultsInjected = summary.faultsInjected
        seconds = summary.seconds
    }

    mutating func add(_ found: SimulationShrinker.Shrunk) {
        shrunk = Shrunk(
            script: found.script,
            failure: Failed(found.failure, replay: "backstitch simulate --script FILE"),
            runs: found.runs)
    }
}
