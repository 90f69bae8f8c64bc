import BackstitchSimulation
import BackstitchTesting
import Foundation
import TestBudget
import Testing

@Suite(.budgeted) struct SimulationScriptTests {
    @Test(arguments: [UInt64(1), 17, 300])
    func `a script that was written and read does what its seed does`(seed: UInt64) async throws {
        let script = SimulationScript(seed: seed)
        let read = try SimulationScript(json: Data(script.json.utf8))
        #expect(read == script)
        let first = await Simulation(seed: seed).run()
        let second = await read.run()
        #expect(first.digest == second.digest && first.faults == second.faults)
        #expect(first.rounds == second.rounds)
    }

    @Test func `a script can be run without steps, and with one device`() async {
        var script = SimulationScript(seed: 4)
        script.steps = []
        #expect(await script.run().failure == nil)
        script = SimulationScript(seed: 4)
        script.setting.devices = [SimulatedDeviceSetting(seed: 1)]
        for index in script.steps.indices { script.steps[index].device = 0 }
        #expect(await script.run().failure == nil)
    }

    @Test(arguments: [
        ("\"version\": 2", "\"version\": 3", "version 3"),
        ("\"device\":0", "\"device\":9", "device"),
        ("\"names\":1", "\"names\":0", "names"),
        ("\"pauseMilliseconds\":1000", "\"pauseMilliseconds\":-1", "pause"),
        ("{\"edit\":{}}", "{\"dance\":{}}", "steps 1 action"),
        ("\"steps\": [", "\"stops\": [", "'steps' is missing"),
        ("\"seed\": 2", "\"seed\": two", "no script"),
        ("\"operationsPerRequest\":", "\"operationsPerRequest\":-", "operationsPerRequest"),
    ])
    func `a script that can't be run is refused with what is wrong`(
        part: String, wrong: String, message: String
    ) throws {
        var script = SimulationScript(seed: 2)
        script.steps = [SimulationStep(.edit, device: 0)]
        let json = try script.json
        try #require(json.contains(part))
        let error = #expect(throws: SimulationScriptError.self) {
            try SimulationScript(json: Data(json.replacingOccurrences(of: part, with: wrong).utf8))
        }
        #expect(error?.description.contains(message) == true, "\(error?.description ?? "")")
    }

    @Test func `a step tells what it is`() {
        let step = SimulationStep(.inject(InjectedFault(.lostReply)), device: 1, isCalm: true)
        #expect("\(step)".contains("lostReply") && "\(step)".contains("calmly"))
    }
}
