import BackstitchSimulation
import BackstitchTesting
import TestBudget
import Testing

/// A service that loses its last commits in every seed.
@Suite(.budgeted) struct SimulatedRollbackTests {
    private static func options(
        _ profile: SimulationProfile, _ connection: [FaultKind] = []
    ) -> SimulationOptions {
        var options = SimulationOptions()
        options.profile = profile
        options.faults = .only(
            connection: connection,
            events: [
                .rollback, .foreignEdit, .editDuringRequest, .syncDuringRequest, .crash, .reopen,
                .tokensExpire, .tombstoneFloor, .longOffline,
            ])
        return options
    }

    @Test(arguments: Load.some(of: UInt64(1)...40, oneOf: 9))
    func `a seed whose service loses commits passes all checks`(seed: UInt64) async {
        let result = await Simulation(seed: seed, options: Self.options(.default)).run()
        #expect(result.failure == nil, "\(result.failure.map { "\($0)" } ?? "")")
    }

    @Test(arguments: Load.some(of: UInt64(1)...40, oneOf: 9))
    func `a seed of few records, with cut requests and small pages, passes all checks`(
        seed: UInt64
    ) async {
        let options = Self.options(
            .conflicts, [.lostReply, .lostRequest, .tokenExpiry, .smallPages, .smallLimits])
        let result = await Simulation(seed: seed, options: options).run()
        #expect(result.failure == nil, "\(result.failure.map { "\($0)" } ?? "")")
    }

    @Test func `it happens in every seed that is asked for it`() {
        for seed in UInt64(1)...50 {
            let script = SimulationScript(seed: seed, options: Self.options(.default))
            let places = script.steps.indices.filter { place in
                if case .rollBack = script.steps[place].action { true } else { false }
            }
            #expect((1...2).contains(places.count))
        }
    }

    @Test(arguments: SimulationProfile.allCases)
    func `it is in some seeds of each profile, unless files or nothing at all may be lost`(
        profile: SimulationProfile
    ) {
        var options = SimulationOptions()
        options.profile = profile
        let count = (UInt64(1)...300).count { seed in
            SimulationScript(seed: seed, options: options).steps.contains { step in
                if case .rollBack = step.action { true } else { false }
            }
        }
        let isExempt = profile == .assets || profile == .quiet
        #expect(isExempt ? count == 0 : (5...150).contains(count))
    }
}
