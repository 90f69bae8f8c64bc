import BackstitchTesting

extension SimulationScript {
    /// Lets the service be put back to older states of itself, once or twice, in place of some steps: at any
    /// moment, also within a round, and with or without others' writes since.
    ///
    /// - Parameter chance: How likely.
    mutating func rollBackService(_ generator: inout SeededGenerator, _ chance: Double) {
        guard generator.chance(chance), setting.events.contains(.rollback), steps.count >= 2
        else { return }
        for _ in 0..<(1 + generator.below(2)) {
            let first = generator.below(steps.count - 1)
            let second = first + 1 + generator.below(steps.count - first - 1)
            let requests = generator.chance(0.5) ? 0 : generator.below(12)
            steps[first].action = .keepState
            steps[second].action = .rollBack(state: generator.below(3), afterRequests: requests)
        }
    }
}
