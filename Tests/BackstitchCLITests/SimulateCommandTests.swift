import BackstitchSimulation
import BackstitchTesting
import Foundation
import TestBudget
import Testing

@Suite(.budgeted) struct SimulateCommandTests {
    private struct Document: Decodable {
        struct Options: Decodable {
            let profile: String?
            let devices: String?
            let steps: Int?
            let faults: String?
            let from: String?
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
        (["--seeds", "2"], "given twice"), (["--fresh", "3"], "not both"),
        (["--from", "3"], "goes with --fresh"), (["--failures", "/no/such/folder/f"], "written"),
    ])
    func `a bad value is refused with what is right`(
        arguments: [String], message: String
    ) throws {
        let result = try Runner.run(["simulate", "--seeds", "1"] + arguments)
        #expect(result.code == 2)
        #expect(result.complaint.contains(message), "\(result.complaint)")
        #expect(result.output.isEmpty)
    }

    @Test func `fresh seeds are told by a number that gives them again`() throws {
        let first = try document(["--fresh", "3", "--steps", "5"])
        let from = try #require(first.options.from)
        #expect(first.seeds == 3)
        let second = try document(["--fresh", "3", "--steps", "5", "--from", from])
        #expect(second.rounds == first.rounds && second.options.from == from)
        let other = try document(["--fresh", "3", "--steps", "5"])
        #expect(other.options.from != from)
        let told = try Runner.run("simulate", "--fresh", "1", "--steps", "5", "--from", from)
        #expect(told.complaint.contains("--from \(from)"))
        let bad = try Runner.run("simulate", "--fresh", "1", "--from", "x")
        #expect(bad.code == 2 && bad.complaint.contains("--from"))
    }

    @Test func `what fails is kept in a file at once, and run again alone`() throws {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("simulate-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let failures = folder.appendingPathComponent("failures.txt").path
        // A simulation fails where the files of its stores may not grow.
        let launcher = ["/bin/sh", "-c", "trap '' XFSZ; ulimit -f 64; exec \"$@\"", "sh"]
        let result = try Runner.run(
            [
                "simulate", "--seeds", "7..8", "--steps", "5", "--parallel", "1", "--failures",
                failures,
            ],
            through: launcher)
        #expect(result.code == 1, "\(result.complaint)")
        let kept = try String(contentsOfFile: failures, encoding: .utf8)
        for seed in [7, 8] {
            #expect(kept.contains("Seed \(seed) failed"))
            #expect(kept.contains("run it again: backstitch simulate --seeds \(seed)"))
            #expect(result.output.contains("Seed \(seed) failed"))
        }
        #expect(result.output.contains("it fails the same check"))
    }

    @Test func `a run without a failure leaves no file, and an empty one that was there stays`()
        throws
    {
        let path = FileManager.default.temporaryDirectory
            .appendingPathComponent("simulate-\(UUID().uuidString).txt").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let arguments = ["--seeds", "1", "--steps", "5", "--failures", path]
        _ = try document(arguments)
        #expect(!FileManager.default.fileExists(atPath: path))
        try Data().write(to: URL(filePath: path))
        _ = try document(arguments)
        #expect(FileManager.default.fileExists(atPath: path))
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
