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
/// - no record ends on a device that the service had and nobody ended, though the service may lose its last
///   commits at any moment. A device that had the record sends it again;
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
    /// Runs it, unless a step hangs or takes more work than any step needs.
    ///
    /// A run has a number of steps that is given with it, so this bounds all of it. Time says less: on a
    /// machine that is busy with other work, a good run takes minutes.
    public func run(options: SimulationOptions = SimulationOptions()) async -> SimulationResult {
        let world = SimulationWorld(self, options: options)
        let work = WorkMeter(within: WorkMeter.current)
        let running = Task { await WorkMeter.$current.withValue(work) { await world.run() } }
        return await withCheckedContinuation { continuation in
            let waiting = Locked<CheckedContinuation<SimulationResult, Never>?>(continuation)
            let answer = { @Sendable (result: SimulationResult) in
                waiting.withLock { waiting in
                    waiting?.resume(returning: result)
                    waiting = nil
                }
            }
            let watch = Task {
                let reason = try await options.reasonToGiveUp(work) { await world.step }
                await world.giveUp(reason)
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

extension SimulationOptions {
    /// Looks again and again, with a rest before each look, until there was no work for so many looks in a row.
    ///
    /// - Parameters:
    ///   - work: Counts the work.
    ///   - looks: How many.
    ///   - isOver: Whether to look no further, by the work that was counted.
    /// - Returns: Whether there was no work for so long; false if it is over.
    /// - Throws: `CancellationError`.
    func hangs(
        _ work: WorkMeter, looks: Int, unless isOver: (_ count: Int) async -> Bool = { _ in false }
    ) async throws -> Bool {
        let rest = rest ?? { try await Task.sleep(for: .seconds(1)) }
        var (last, idle) = (work.count, 0)
        while idle < looks {
            try await rest()
            let count = work.count
            idle = count == last ? idle + 1 : 0
            last = count
            if await isOver(count) { return false }
        }
        return true
    }

    /// Waits until a step does no work any more, or has done too much.
    ///
    /// - Parameter step: The number of the step that is under way. Each step counts as work.
    /// - Returns: What is wrong with the step.
    fileprivate func reasonToGiveUp(
        _ work: WorkMeter, _ step: () async -> Int
    ) async throws -> String {
        var (last, begin) = (await step(), work.count)
        let isIdle = try await hangs(work, looks: patience) { count in
            guard count - begin > jobsMax else { return false }
            let now = await step()
            defer { (last, begin) = (now, count) }
            return now == last
        }
        return isIdle
            ? "hung: it did no work while it was looked at \(patience) times"
            : "had not ended after \(jobsMax) jobs of stores"
    }
}
