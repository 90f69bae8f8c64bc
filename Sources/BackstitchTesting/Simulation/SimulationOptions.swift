/// What a simulation does beyond its seed.
public struct SimulationOptions: Sendable {
    /// The steps before the devices settle.
    public var steps = 50
    /// Faults that are left out, to narrow down a failure.
    public var withoutFaults = false
    /// The folder below which the stores are made; nil takes memory where there is some.
    public var directory: String?
    /// A bug to be found.
    package var bug: PlantedBug?

    /// The defaults.
    public init() {}
}
