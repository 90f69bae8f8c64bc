import BackstitchTesting

extension SimulationScript {
    /// Ten years and some days.
    static let farAheadMilliseconds: Int64 = 318_000_000_000
    /// The least jump of a clock that counts as one far ahead.
    static let farMilliseconds: Int64 = 30_000_000_000

    /// Lets the clock of a device be far ahead while it saves something, in place of three steps.
    mutating func putClockAhead(_ generator: inout SeededGenerator, _ mix: SimulationMix) {
        guard generator.chance(mix.clockChance), setting.events.contains(.clockFarAhead),
            steps.count >= 6
        else { return }
        let device = generator.below(setting.devices.count)
        let start = generator.below(steps.count / 2)
        let actions: [SimulationAction] = [
            .jumpClock(milliseconds: Self.farAheadMilliseconds), .edit,
            .jumpClock(milliseconds: Int64(generator.below(3_600_000)) - 1_800_000),
        ]
        for (place, action) in actions.enumerated() {
            steps[start + place].action = action
            steps[start + place].device = device
        }
    }
}
