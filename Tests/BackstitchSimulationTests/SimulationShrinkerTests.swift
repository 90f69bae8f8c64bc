import BackstitchTesting
import Testing

@Suite struct SimulationShrinkerTests {
    @Test(arguments: [
        (PlantedBug.acknowledgesWithoutSaving, UInt64(1), 4), (.dropsDeletions, 1, 8),
        (.acknowledgesNewerEdits, 1, 4),
    ])
    func `a planted bug is shrunk to few steps`(
        bug: PlantedBug, firstSeed: UInt64, stepsMax: Int
    ) async throws {
        var options = SimulationOptions()
        options.bug = bug
        let failure = try #require(
            await SimulationRun.run(
                seeds: firstSeed...firstSeed + 9, options: options, parallel: 1,
                stopsAtFailure: true
            ).failures.first)
        let script = SimulationScript(seed: failure.seed, options: options)
        let shrunk = try #require(await SimulationShrinker.shrink(script, options: options))
        print("BUG", bug, try shrunk.script.json)
        #expect(shrunk.script.steps.count <= stepsMax)
        #expect(shrunk.script.setting.deviceSeeds.count <= 2)
        #expect(shrunk.runs <= SimulationShrinker.runsMax)
        let again = await shrunk.script.run(options: options)
        #expect(again.failure?.checker == shrunk.failure.checker)
        #expect(await shrunk.script.run().failure == nil, "It fails for the bug only.")
    }

    @Test func `a script that passes is not shrunk`() async {
        #expect(await SimulationShrinker.shrink(SimulationScript(seed: 1)) == nil)
    }
}
