import Foundation
import Terminal
import TestBudget
import Testing

@testable import BackstitchCLI

@Suite(.budgeted) struct ProgramTests {
    @Test func `the help and the version are shown on standard output`() throws {
        for arguments in [["--help"], ["-h"], ["help"]] {
            let result = try Runner.run(arguments)
            #expect(result.code == 0)
            #expect(result.complaint.isEmpty)
            for command in Program.commands { #expect(result.output.contains(command.summary)) }
            #expect(result.output.contains("A reader that closes a pipe early is no error"))
        }
        #expect(try Runner.run("--version").output == "backstitch \(About.version)\n")
    }

    @Test(arguments: Program.commands.map(\.name))
    func `every command has a help that names its options and JSON keys`(name: String) throws {
        for arguments in [[name, "--help"], ["help", name]] {
            let result = try Runner.run(arguments)
            #expect(result.code == 0)
            #expect(result.output.contains("Usage: backstitch \(name)"))
            #expect(result.output.contains("--json"))
            #expect(result.output.contains("JSON: one object"))
            #expect(result.output.split(separator: "\n").allSatisfy { $0.count <= 100 })
        }
    }

    @Test(arguments: [
        ([], "Usage: backstitch COMMAND"),
        (["frobnicate"], "There is no command 'frobnicate'."),
        (["--frobnicate"], "There is no option '--frobnicate'."),
        (["inspect"], "STORE is missing."),
        (["log", "s", "--frobnicate"], "There is no option '--frobnicate'."),
        (["log", "s", "--last", "0"], "--last takes a whole number"),
        (["log", "s", "--last", "1", "--from", "1"], "exclude each other"),
        (["verify", "a", "b"], "Unexpected argument 'b'."),
    ])
    func `arguments that make no sense end with code 2 and a hint`(
        arguments: [String], message: String
    ) throws {
        let result = try Runner.run(arguments)
        #expect(result.code == 2)
        #expect(result.output.isEmpty)
        #expect(result.complaint.contains(message))
        #expect(result.complaint.contains("--help"))
    }

    @Test func `a full device is told`() throws {
        let result = try Runner.run(
            ["--help"], through: ["/bin/sh", "-c", "\"$0\" \"$@\" > /dev/full"])
        #expect(result.code == 2)
        #expect(result.complaint.contains("The output can't be written"))
    }
}
