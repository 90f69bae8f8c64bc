/// Reduces a script that fails to a short one that fails the same check.
///
/// It takes away steps (halves, quarters, and so on down to single ones), devices, what happens
/// during requests, faults by chance, and what is unusual about the service. Whatever fails still is
/// kept, and all is tried again until nothing more can go. The result depends on the script only.
public struct SimulationShrinker: Sendable {
    /// What a script was reduced to.
    public struct Shrunk: Sendable {
        /// The short script.
        public let script: SimulationScript
        /// How it fails.
        public let failure: SimulationFailure
        /// How many scripts were run.
        public let runs: Int
    }

    /// The most scripts that are run; what is left then is the result.
    public static let runsMax = 3_000

    /// Where stores are made, and what stands between devices and the service.
    private let options: SimulationOptions
    private var runs = 0
    private var script: SimulationScript
    private var failure: SimulationFailure

    /// Reduces a script; nil if it does not fail.
    ///
    /// - Parameters:
    ///   - options: Those that it fails with.
    ///   - progress: Called after each run with the number of steps that are left, and of runs.
    public static func shrink(
        _ script: SimulationScript, options: SimulationOptions = SimulationOptions(),
        progress: (_ steps: Int, _ runs: Int) -> Void = { _, _ in }
    ) async -> Shrunk? {
        guard let failure = await script.run(options: options).failure else { return nil }
        var shrinker = SimulationShrinker(options: options, script: script, failure: failure)
        await shrinker.shrink(progress)
        return Shrunk(script: shrinker.script, failure: shrinker.failure, runs: shrinker.runs)
    }

    private init(options: SimulationOptions, script: SimulationScript, failure: SimulationFailure) {
        self.options = options
        self.script = script
        self.failure = failure
        runs = 1
    }

    private mutating func shrink(_ progress: (Int, Int) -> Void) async {
        // What comes after the failure has no part in it.
        var cut = script
        cut.steps = Array(script.steps.prefix(failure.step))
        if cut.steps.count < script.steps.count { await keep(cut, progress) }
        // Much can often go at once; what can't is tried one by one below.
        await keep(script.calm, progress)
        await keep(script.simplerSettings.reduce(script) { $1($0) }, progress)
        await removeDevices(progress)
        var isReduced = true
        while isReduced, runs < Self.runsMax {
            let before = script
            await removeSteps(progress)
            await removeDevices(progress)
            for simpler in script.simplerSettings { await keep(simpler(script), progress) }
            await calmSteps(progress)
            isReduced = script != before
        }
    }

    /// Takes a script over if it fails the same check.
    @discardableResult
    private mutating func keep(
        _ candidate: SimulationScript, _ progress: (Int, Int) -> Void
    ) async -> Bool {
        guard candidate != script, runs < Self.runsMax else { return false }
        runs += 1
        let found = await candidate.run(options: options).failure
        progress(script.steps.count, runs)
        guard let found, found.kind == failure.kind else { return false }
        script = candidate
        failure = found
        return true
    }

    private mutating func removeSteps(_ progress: (Int, Int) -> Void) async {
        var size = max(1, script.steps.count / 2)
        while true {
            var start = 0
            while start < script.steps.count {
                var candidate = script
                candidate.steps.removeSubrange(start..<min(start + size, script.steps.count))
                if await !keep(candidate, progress) { start += size }
            }
            if size == 1 { return }
            size /= 2
        }
    }

    private mutating func removeDevices(_ progress: (Int, Int) -> Void) async {
        for device in script.setting.devices.indices.reversed() {
            await keep(script.without(device: device), progress)
        }
    }

    private mutating func calmSteps(_ progress: (Int, Int) -> Void) async {
        for index in script.steps.indices {
            var candidate = script
            candidate.steps[index].isCalm = true
            await keep(candidate, progress)
            candidate = script
            candidate.steps[index].pauseMilliseconds = 1_000
            await keep(candidate, progress)
        }
    }
}
