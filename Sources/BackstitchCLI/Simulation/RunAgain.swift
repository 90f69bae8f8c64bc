import BackstitchSimulation
import BackstitchTesting

/// What a seed that failed did when it was run once more, with no other at the same time.
enum RunAgain: String {
    /// It failed the same check.
    case same = "fails the same check"
    /// It failed another check.
    case other = "fails another check"
    /// It passed: what it did depends on more than the seed.
    case passed = "passes alone"

    /// The most seeds that are run again.
    static let seedsMax = 20

    /// Runs failures again, one at a time.
    static func run(
        _ failures: [SimulationFailure], _ work: SimulateArguments
    ) async -> [UInt64: RunAgain] {
        var found: [UInt64: RunAgain] = [:]
        for failure in failures.prefix(seedsMax) {
            let result = await work.script(of: failure.seed).run(options: work.options)
            guard let second = result.failure else {
                found[failure.seed] = .passed
                continue
            }
            found[failure.seed] = second.checker == failure.checker ? .same : .other
        }
        return found
    }
}
