import BackstitchSimulation
import BackstitchTesting
import Foundation
import TestBudget
import Testing

@Suite(.budgeted) struct SimulationShrinkerTests {
    @Test(arguments: Load.some(of: FaultyIntermediary.allCases, oneOf: 2))
    func `a failure is shrunk to few steps`(fault: FaultyIntermediary) async throws {
        let options = fault.options
        let run = await SimulationRun.run(seeds: 1...60, options: options, stopsAtFailure: true)
        let failure = try #require(run.failures.first)
        let script = SimulationScript(seed: failure.seed, options: options)
        let shrunk = try #require(await SimulationShrinker.shrink(script, options: options))
        #expect(shrunk.script.steps.count <= 5)
        #expect(shrunk.script.setting.devices.count <= 2)
        #expect(shrunk.runs <= SimulationShrinker.runsMax)
        let again = await shrunk.script.run(options: options)
        #expect(again.failure?.checker == shrunk.failure.checker)
        #expect(await shrunk.script.run().failure == nil, "It fails for what was put in only.")
    }

    // What the shrinker made of seed 4 where the feed leaves out deletions.
    private static let stored = """
        {
          "seed": 4,
          "setting": {
            "checksLiveness": false, "conflictsCarryServerRecord": true, "deletionsCarryType": true,
            "deletePolicy": "followPolicy", "devices": [
              {"schema": "current", "seed": 2390459487, "selection": "all"},
              {"schema": "current", "seed": 2742602425, "selection": "all"}
            ],
            "eventChance": 0.12, "events": [],
            "existsCarriesServerRecord": true, "faults": [], "hasChanceFaults": false,
            "isAtomic": false, "mayBeLarge": false, "mayLoseZone": false, "mayRestore": false,
            "operationsPerRequest": 200, "policy": "clientWins", "recordsPerPage": 200,
            "recordsPerPass": 10000, "wrapsLimitExceeded": false
          },
          "steps": [
            {"action": {"edit": {}}, "device": 0, "isCalm": true, "names": 4,
             "pauseMilliseconds": 1000, "seed": 3928816598},
            {"action": {"edit": {}}, "device": 1, "isCalm": true, "names": 6,
             "pauseMilliseconds": 1000, "seed": 564407207}
          ],
          "version": 2
        }
        """

    @Test func `a stored script fails again`() async throws {
        let script = try SimulationScript(json: Data(Self.stored.utf8))
        #expect(await script.run().failure == nil)
        let options = FaultyIntermediary.dropsDeletions.options
        let failure = try #require(await script.run(options: options).failure)
        #expect(failure.checker.hasSuffix("has other records than the service"))
    }

    @Test func `a script that passes is not shrunk`() async {
        #expect(await SimulationShrinker.shrink(SimulationScript(seed: 1)) == nil)
    }
}
