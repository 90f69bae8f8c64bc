/// One thing that happens in a simulation, with everything that was chosen for it.
public struct SimulationStep: Hashable, Sendable, Codable {
    /// The action of the step.
    public var action: SimulationAction
    /// The device that does it or that it happens to, from 0.
    public var device: Int
    /// The time that passes before, in milliseconds.
    public var pauseMilliseconds: Int64
    /// What is chosen within the step follows from this: the values that are saved, and what
    /// happens while a request is in flight.
    public var seed: UInt32
    /// The records of a kind that it may choose from; fewer let devices meet on the same ones.
    public var names: Int
    /// Whether nothing happens while its requests are in flight.
    public var isCalm: Bool

    /// A step by its parts.
    public init(
        _ action: SimulationAction, device: Int, pauseMilliseconds: Int64 = 1_000,
        seed: UInt32 = 0, names: Int = 1, isCalm: Bool = false
    ) {
        self.action = action
        self.device = device
        self.pauseMilliseconds = pauseMilliseconds
        self.seed = seed
        self.names = names
        self.isCalm = isCalm
    }
}

extension SimulationStep: CustomStringConvertible {
    /// The step in a line.
    public var description: String {
        "device \(device), after \(pauseMilliseconds) ms: \(action)"
            + (isCalm ? ", calmly" : "") + " (seed \(seed), \(names) names)"
    }
}
