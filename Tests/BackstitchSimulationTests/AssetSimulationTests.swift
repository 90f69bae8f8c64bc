import Backstitch
import BackstitchSimulation
import BackstitchTesting
import TestBudget
import Testing

/// Whole histories of devices whose records hold files.
@Suite(.budgeted) struct AssetSimulationTests {
    private static var options: SimulationOptions {
        var options = SimulationOptions()
        options.profile = .assets
        return options
    }

    @Test func `files stay, arrive and go in seeds with cuts, crashes and full disks`() async {
        let seeds: ClosedRange<UInt64> = 1...(Load.triesEveryPoint ? 60 : 20)
        let summary = await SimulationRun.run(seeds: seeds, options: Self.options, parallel: 2)
        #expect(summary.failures.map(\.description) == [])
        #expect(summary.rounds >= 20 * summary.seeds)
        let kinds: [SimulationFault] = [
            .uploadCut, .downloadCut, .receiptsExpire, .addressesExpire, .fileEviction,
            .fileCollection, .undo, .eventDuringTransfer, .fullDisk, .secondProcess, .crash,
            .crashBeforeCommit, .crashInCompaction,
        ]
        for kind in kinds {
            #expect(summary.faultsInjected[kind.rawValue, default: 0] > 0, "\(kind.rawValue)")
        }
    }

    @Test func `a seed does the same each time`() async {
        for seed: UInt64 in Load.some(of: [3, 14, 15, 92, 65], oneOf: 4) {
            let first = await Simulation(seed: seed, options: Self.options).run()
            let second = await Simulation(seed: seed, options: Self.options).run()
            #expect(first.digest == second.digest && first.faults == second.faults, "\(seed)")
        }
    }

    @Test func `there are three devices or more on average, and both kinds of services`() {
        var devices = 0
        var services: Set<SimulatedFileService> = []
        for seed in FreshSeeds(from: 1, count: 500) {
            let script = SimulationScript(seed: seed, options: Self.options)
            devices += script.setting.devices.count
            if let service = script.setting.fileService { services.insert(service) }
        }
        #expect(devices >= 3 * 500)
        #expect(services == Set(SimulatedFileService.allCases))
    }
}
