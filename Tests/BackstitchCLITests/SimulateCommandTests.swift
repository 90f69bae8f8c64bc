import BackstitchTesting
import Foundation
import Testing

@Suite struct SimulateCommandTests {
    private struct Document: Decodable {
        struct Options: Decodable {
            let profile: String?
            let devices: String?
            let steps: Int?
            let faults: String?
            let script: String?
        }
        let options: Options
        let seeds: Int
        let failures: [String]
        let rounds: Int
    }

    private func document(_ arguments: [String]) throws -> Document {
        let result = try Runner.run(["simulate", "--json"] + arguments)
        #expect(result.code == 0, "\(result.complaint)")
        return try JSONDecoder().decode(Document.self, from: Data(result.output.utf8))
    }

    @Test func `the output says what was run`() throws {
        let usual = try document(["--seeds", "1..2", "--steps", "5"])
        #expect(usual.seeds == 2 && usual.failures.isEmpty)
        #expect(usual.options.profile == "default" && usual.options.devices == "by seed")
        #expect(usual.options.steps == 5 && usual.options.faults == "by seed")
        let other = try document([
            "--seeds", "3", "--steps", "5", "--devices", "2", "--profile", "conflicts", "--faults",
            "lostReply,crash",
        ])
        #expect(other.options.profile == "conflicts" && other.options.devices == "2")
        #expect(other.options.faults == "lostReply,crash")
    }

    @Test(arguments: [
        (["--devices", "1"], "from 2 to 8"), (["--devices", "9"], "from 2 to 8"),
        (["--devices", "two"], "from 2 to 8"), (["--steps", "0"], "from 1 to 100000"),
        (["--profile", "loud"], "default, quiet, conflicts"),
        (["--faults", "lostReply,gremlin"], "no fault 'gremlin'"),
        (["--faults", ""], "no fault ''"), (["--script", "x"], "leave out --seeds"),
        (["--seeds", "2"], "given twice"),
    ])
    func `a bad value is refused with what is right`(
        arguments: [String], message: String
    ) throws {
        let result = try Runner.run(["simulate", "--seeds", "1"] + arguments)
        #expect(result.code == 2)
        #expect(result.complaint.contains(message), "\(result.complaint)")
        #expect(result.output.isEmpty)
    }

    @Test func `the help lists profiles and faults`() throws {
        let help = try Runner.run("simulate", "--help").output
        for profile in SimulationProfile.allCases {
            #expect(help.contains("\n  \(profile.rawValue) "))
        }
        for name in SimulationFaultChoice.names { #expect(help.contains(name)) }
    }

    @Test func `a script is run from its file`() throws {
        let path = FileManager.default.temporaryDirectory
            .appendingPathComponent("script-\(UUID().uuidString).json").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try SimulationScript(seed: 5).json.write(toFile: path, atomically: true, encoding: .utf8)
        let script = try document(["--script", path])
        #expect(script.options.script == path)
        #expect(try script.rounds == document(["--seeds", "5"]).rounds)
        try "{}".write(toFile: path, atomically: true, encoding: .utf8)
        let result = try Runner.run("simulate", "--script", path)
        #expect(result.code == 2 && result.complaint.contains("no script"))
        #expect(try Runner.run("simulate", "--script", path + ".not").code == 2)
    }

    @Test func `nothing is shrunk where nothing fails`() throws {
        let result = try Runner.run("simulate", "--seeds", "1..2", "--steps", "5", "--shrink")
        #expect(result.code == 0 && result.output.hasPrefix("2 seeds, 0 failed"))
    }
}
