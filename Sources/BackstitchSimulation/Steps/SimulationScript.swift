import BackstitchTesting

/// A whole simulation as values: what it runs with, and its steps.
///
/// Running a script needs no generator for what happens when: it can be kept as JSON, cut down by a
/// ``SimulationShrinker`` and run again. A script that was stored goes on to mean the same as long
/// as the values that seeds within its steps stand for stay the same.
public struct SimulationScript: Hashable, Sendable, Codable {
    /// The version of the form that is written.
    public static let currentVersion = 2
    /// The most steps of a script.
    public static let stepsMax = 1_000_000

    /// The version of its form.
    public var version = Self.currentVersion
    /// The seed that it was made from; what is chosen once follows from it.
    public var seed: UInt64
    /// What it runs with.
    public var setting: SimulationSetting
    /// What happens before the devices settle.
    public var steps: [SimulationStep]

    /// The script of a seed.
    public init(seed: UInt64, options: SimulationOptions = SimulationOptions()) {
        var generator = SeededGenerator(seed: seed)
        let mix = options.profile.mix
        self.seed = seed
        setting = SimulationSetting(&generator, mix, options)
        var steps = StepGenerator(generator, mix, setting)
        self.steps = (0..<options.steps).map { steps.step($0) }
        var aside = generator.aside(0x726F_6C6C)
        rollBackService(&aside, options.faults == .bySeed ? mix.rollbackChance : 1)
        aside = generator.aside(0x636C_6F63_6B)
        putClockAhead(&aside, mix)
    }
}
