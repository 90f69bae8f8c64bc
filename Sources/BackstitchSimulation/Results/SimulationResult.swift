/// Why a seed failed.
public struct SimulationFailure: Error, Hashable, Sendable {
    /// The seed.
    public let seed: UInt64
    /// The arguments of the run beside the seed, as `backstitch simulate` takes them.
    public let arguments: String
    /// What was chosen for it.
    public let options: String
    /// The number of the step after which it was found.
    public let step: Int
    /// The check that failed.
    public let checker: String
    /// What was found.
    public let details: [String]
    /// The last steps.
    public let lastSteps: [String]

    /// The command that runs the seed again.
    public var replay: String {
        "backstitch simulate --seeds \(seed)" + (arguments.isEmpty ? "" : " " + arguments)
    }

    /// The check that failed, whichever device it was of.
    var kind: String { checker.filter { !$0.isNumber } }
}

extension SimulationFailure: CustomStringConvertible {
    /// Everything, in lines.
    public var description: String {
        """
        Seed \(seed) failed at step \(step): \(checker)
        \(details.prefix(40).map { "  - " + $0 }.joined(separator: "\n"))
          \(options)
          last steps:
        \(lastSteps.map { "    " + $0 }.joined(separator: "\n"))
          replay: \(replay)
        """
    }
}

/// What a seed did.
public struct SimulationResult: Sendable {
    /// The seed.
    public internal(set) var seed: UInt64
    /// Why it failed; nil if it did not.
    public internal(set) var failure: SimulationFailure?
    /// The sync rounds of all devices.
    public internal(set) var rounds = 0
    /// The operations in all logs at the end.
    public internal(set) var operations = 0
    /// The conflicts in all journals.
    public internal(set) var conflicts = 0
    /// The records that became one with another, by all logs.
    public internal(set) var duplicates = 0
    /// How often each fault made a difference, by its name.
    public internal(set) var faults: [String: Int] = [:]
    /// A digest of all logs and of the service: the same seed gives the same.
    public internal(set) var digest: UInt64 = 0
}
