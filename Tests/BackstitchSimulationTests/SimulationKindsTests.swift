import Backstitch
import BackstitchSimulation
import BackstitchTesting
import TestBudget
import Testing

/// What came later is in enough seeds.
@Suite(.budgeted) struct SimulationKindsTests {
    private static let profiles: [SimulationProfile] = [
        .default, .conflicts, .network, .resets, .limits, .naturalKeys,
    ]

    @Test(arguments: profiles)
    func `policies differ and clocks are far ahead in a hundred of two thousand seeds`(
        profile: SimulationProfile
    ) {
        var options = SimulationOptions()
        options.profile = profile
        var mixed = 0
        var ahead = 0
        for seed in FreshSeeds(from: 1, count: 2_000) {
            let script = SimulationScript(seed: seed, options: options)
            let policies = script.setting.devices.indices.map { script.setting.policy(of: $0) }
            if Set(policies).count > 1 { mixed += 1 }
            let isAhead = script.steps.contains { step in
                guard case .jumpClock(let milliseconds) = step.action else { return false }
                return milliseconds > 300_000_000_000
            }
            if isAhead { ahead += 1 }
        }
        #expect(mixed >= 100)
        #expect(ahead >= 100)
    }

    @Test func `fresh seeds follow from a number and are from the whole range`() {
        let seeds = Array(FreshSeeds(from: 7, count: 1_000))
        #expect(seeds == Array(FreshSeeds(from: 7, count: 1_000)))
        #expect(seeds.count == 1_000 && Set(seeds).count == 1_000)
        #expect(seeds != Array(FreshSeeds(from: 8, count: 1_000)))
        for bit in 0..<64 {
            #expect((300...700).contains(seeds.count { $0 >> UInt64(bit) & 1 == 1 }))
        }
        #expect(Array(FreshSeeds(from: 7, count: -1)).isEmpty)
    }
}
