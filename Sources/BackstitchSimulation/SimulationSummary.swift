import BackstitchTesting

/// What a range of seeds did.
public struct SimulationSummary: Sendable {
    /// How many seeds ran.
    public private(set) var seeds = 0
    /// The seeds that failed, in their order.
    public private(set) var failures: [SimulationFailure] = []
    /// The sync rounds of all devices of all seeds.
    public private(set) var rounds = 0
    /// The operations in all logs.
    public private(set) var operations = 0
    /// The conflicts in all journals.
    public private(set) var conflicts = 0
    /// The records that became one with another, by all logs.
    public private(set) var duplicates = 0
    /// How often each fault made a difference, by its name; with zeros.
    public private(set) var faultsInjected: [String: Int]
    /// A digest of all logs and services: the same seeds give the same, on every machine.
    public private(set) var digest: UInt64 = 0
    /// How long it took, in seconds.
    public internal(set) var seconds = 0.0

    /// Nothing yet.
    public init() {
        let names = FaultKind.allCases.map(\.rawValue) + SimulationFault.allCases.map(\.rawValue)
        faultsInjected = Dictionary(uniqueKeysWithValues: names.map { ($0, 0) })
    }

    /// Adds what a seed did.
    public mutating func add(_ result: SimulationResult) {
        seeds += 1
        rounds += result.rounds
        operations += result.operations
        conflicts += result.conflicts
        duplicates += result.duplicates
        // Seeds end in any order.
        digest ^= (result.digest ^ result.seed) &* 0x9E37_79B9_7F4A_7C15
        for (name, count) in result.faults { faultsInjected[name, default: 0] += count }
        if let failure = result.failure {
            failures.append(failure)
            failures.sort { $0.seed < $1.seed }
        }
    }
}

/// Runs seeds, some at a time.
public enum SimulationRun {
    /// Runs seeds, each on its own, and adds up what they did: a range of them, or ``FreshSeeds``.
    ///
    /// What a seed does, does not depend on the others, nor on how many run at a time.
    /// - Parameters:
    ///   - parallel: How many seeds run at a time.
    ///   - stopsAtFailure: Whether no further seed begins once one failed. The first failure is that
    ///     of the first seed that fails then too.
    ///   - progress: Called after each seed with its result.
    public static func run(
        seeds: some Sequence<UInt64>, options: SimulationOptions = SimulationOptions(),
        parallel: Int = 1, stopsAtFailure: Bool = false,
        progress: @Sendable (SimulationResult) -> Void = { _ in }
    ) async -> SimulationSummary {
        var summary = SimulationSummary()
        let start = ContinuousClock.now
        var rest = seeds.makeIterator()
        await withTaskGroup(of: SimulationResult.self) { group in
            func addNext() {
                guard let seed = rest.next() else { return }
                group.addTask { await Simulation(seed: seed, options: options).run() }
            }
            for _ in 0..<max(1, parallel) { addNext() }
            while let result = await group.next() {
                progress(result)
                summary.add(result)
                if !stopsAtFailure || summary.failures.isEmpty { addNext() }
            }
        }
        let taken = ContinuousClock.now - start
        summary.seconds =
            Double(taken.components.seconds) + Double(taken.components.attoseconds) * 1e-18
        return summary
    }
}
