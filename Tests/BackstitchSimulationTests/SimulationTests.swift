import BackstitchSimulation
import BackstitchTesting
import TestBudget
import Testing
import Waiting

@Suite(.budgeted) struct SimulationTests {
    @Test(arguments: Load.some(of: UInt64(1)...40, oneOf: 4))
    func `a seed passes all checks`(seed: UInt64) async {
        let result = await Simulation(seed: seed).run()
        #expect(result.failure == nil, "\(result.failure.map { "\($0)" } ?? "")")
        #expect(result.rounds > 10)
    }

    @Test(arguments: Load.some(of: UInt64(100)...119, oneOf: 4))
    func `the same seed does the same`(seed: UInt64) async {
        let first = await Simulation(seed: seed).run()
        let second = await Simulation(seed: seed).run()
        #expect(first.digest == second.digest)
        #expect(first.rounds == second.rounds)
        #expect(first.faults == second.faults)
    }

    @Test(arguments: FaultyIntermediary.allCases)
    func `a service that does wrong is found out`(fault: FaultyIntermediary) async {
        let summary = await SimulationRun.run(seeds: 1...10, options: fault.options)
        #expect(!summary.failures.isEmpty)
        #expect(summary.failures.allSatisfy { "\($0)".contains($0.replay) })
    }

    @Test func `a run adds up its seeds, however many run at a time`() async {
        let one = await SimulationRun.run(seeds: 200...207, parallel: 1)
        let many = await SimulationRun.run(seeds: 200...207, parallel: 8)
        #expect(one.seeds == 8)
        #expect(one.rounds == many.rounds)
        #expect(one.faultsInjected == many.faultsInjected)
        #expect(one.operations == many.operations)
    }

    @Test func `nothing of a run stays`() async throws {
        /// Held by each device, as long as it is.
        final class Witness: Sendable {}
        weak var witness: Witness?
        do {
            let held = Witness()
            witness = held
            var options = SimulationOptions()
            options.intermediary = { service in withExtendedLifetime(held) { service } }
            _ = await Simulation(seed: 1, options: options).run()
        }
        // The tasks that watched over the run end after it.
        try await eventually { witness == nil }
    }
}
