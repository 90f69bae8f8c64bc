import BackstitchSimulation
import BackstitchTesting
import TestBudget
import Testing
import Waiting

@Suite(.budgeted) struct SimulationTests {
    @Test(arguments: Load.some(of: UInt64(1)...40, oneOf: 9))
    func `a seed passes all checks`(seed: UInt64) async {
        let result = await Simulation(seed: seed).run()
        #expect(result.failure == nil, "\(result.failure.map { "\($0)" } ?? "")")
        #expect(result.rounds > 10)
    }

    @Test(arguments: Load.some(of: UInt64(1)...40, oneOf: 9))
    func `a seed with proxies, stuck feeds and records that fail passes all checks`(
        seed: UInt64
    ) async {
        var options = SimulationOptions()
        options.profile = .proxies
        let result = await Simulation(seed: seed, options: options).run()
        #expect(result.failure == nil, "\(result.failure.map { "\($0)" } ?? "")")
    }

    @Test(arguments: Load.some(of: UInt64(100)...119, oneOf: 7))
    func `the same seed does the same`(seed: UInt64) async {
        let first = await Simulation(seed: seed).run()
        let second = await Simulation(seed: seed).run()
        #expect(first.digest == second.digest)
        #expect(first.rounds == second.rounds)
        #expect(first.faults == second.faults)
    }

    @Test(arguments: FaultyIntermediary.allCases)
    func `a service that does wrong is found out`(fault: FaultyIntermediary) async {
        // Some ten are enough most of the time.
        for first in stride(from: UInt64(1), to: 100, by: 10) {
            let summary = await SimulationRun.run(
                seeds: first...first + 9, options: fault.options)
            #expect(summary.failures.allSatisfy { "\($0)".contains($0.replay) })
            guard summary.failures.isEmpty else { return }
        }
        Issue.record("100 seeds found nothing.")
    }

    @Test func `a run adds up its seeds, however many run at a time`() async {
        let one = await SimulationRun.run(seeds: 200...202, parallel: 1)
        let many = await SimulationRun.run(seeds: 200...202, parallel: 8)
        #expect(one.seeds == 3)
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
