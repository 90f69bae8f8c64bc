import Backstitch
import Threading

/// One seeded run of some devices with one service, through faults and crashes, until they
/// have settled.
///
/// Everything that happens follows from the seed: what the devices save, when they exchange, what
/// goes wrong, the limits and manners of the service. There is no real time, and nothing runs at the
/// same time as anything else. At the end all faults stop, everything that was parked is tried
/// again or given up, and the devices exchange until nothing changes; then is checked:
///
/// - every store verifies and rebuilds to the same bytes (also after each crash and now and then);
/// - each log adds up: every local operation was acknowledged, or superseded with a conflict
///   report, and none waits; what counts as known to the service was really there. See `LogAccount`;
/// - all devices, a fresh one too, have the same records as the service, with the fields and types
///   that they don't know;
/// - each value on the service was written by a device or another client;
/// - no feed was read backwards;
/// - the run ends;
/// - parked records keep no others waiting, and, in some seeds, an engine that goes on by itself tries
///   again in time after an outage, without a further write.
public struct Simulation: Sendable {
    /// The seed.
    public let seed: UInt64
    /// What it does beyond the seed.
    public let options: SimulationOptions

    /// A simulation of a seed.
    public init(seed: UInt64, options: SimulationOptions = SimulationOptions()) {
        self.seed = seed
        self.options = options
    }

    /// Runs it.
    public func run() async -> SimulationResult {
        await SimulationScript(seed: seed, options: options).run(options: options)
    }
}

extension SimulationScript {
    /// Runs it, for as long as each step ends in the time that the options allow.
    ///
    /// A run has a number of steps that is given with it, so this bounds all of it. Its whole time says
    /// less: on a machine that is busy with other work, a run that goes on well takes minutes.
    public func run(options: SimulationOptions = SimulationOptions()) async -> SimulationResult {
        let world = SimulationWorld(self, options: options)
        let wait = options.wait ?? { try await Task.sleep(for: $0) }
        let running = Task { await world.run() }
        return await withCheckedContinuation { continuation in
            let waiting = Locked<CheckedContinuation<SimulationResult, Never>?>(continuation)
            let answer = { @Sendable (result: SimulationResult) in
                waiting.withLock { waiting in
                    waiting?.resume(returning: result)
                    waiting = nil
                }
            }
            let watch = Task {
                var step: Int
                repeat {
                    step = await world.step
                    try await wait(options.patience)
                } while await world.step != step
                running.cancel()
                // What goes round without end may not notice that; then it is left to itself.
                try await Task.sleep(for: .seconds(10))
                answer(await world.endless)
            }
            Task {
                answer(await running.value)
                watch.cancel()
            }
        }
    }
}
