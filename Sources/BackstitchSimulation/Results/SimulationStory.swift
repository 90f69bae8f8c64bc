import Threading

/// What a run tells of itself: what happened, how often, and what went wrong.
final class SimulationStory {
    private static let stepsKept = 60

    private let script: SimulationScript
    private let options: SimulationOptions
    /// The number of the step that is under way. Each counts as work.
    var step = 0 {
        didSet { WorkMeter.current?.add() }
    }
    var result: SimulationResult
    /// What happened last, to be put into words only if something fails.
    private var lastSteps: [(step: Int, text: () -> String)] = []
    private var pendingFailure: SimulationFailure?

    init(_ script: SimulationScript, options: SimulationOptions) {
        self.script = script
        self.options = options
        result = SimulationResult(seed: script.seed)
    }

    /// Keeps what happened. The text is made later, so it may tell of nothing that changes.
    func note(_ text: @autoclosure @escaping () -> String) {
        lastSteps.append((step, text))
        if lastSteps.count > Self.stepsKept { lastSteps.removeFirst() }
    }

    /// Lets go of what happened. Its texts hold the devices, which hold this.
    func forget() { lastSteps = [] }

    func count(_ fault: SimulationFault) { count(fault.rawValue, 1) }

    func count(_ fault: String, _ count: Int) { result.faults[fault, default: 0] += count }

    func failure(_ checker: String, _ details: [String] = []) -> SimulationFailure {
        SimulationFailure(
            seed: script.seed, arguments: options.arguments, options: "\(script.setting)",
            step: step, checker: checker, details: details,
            lastSteps: lastSteps.map { "\($0.step): \($0.text())" })
    }

    /// Keeps what went wrong inside a hook, to be thrown outside of it. The first failure counts.
    func keep(_ error: any Error) {
        pendingFailure =
            pendingFailure ?? (error as? SimulationFailure)
            ?? failure("A nested step failed", ["\(error)"])
    }

    func throwPending() throws {
        if let pendingFailure { throw pendingFailure }
    }
}
