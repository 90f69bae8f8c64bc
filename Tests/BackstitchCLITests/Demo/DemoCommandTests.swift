import Foundation
import Terminal
import TestBudget
import Testing

@testable import BackstitchCLI

/// Runs the demo as a child process, on small input in a temporary folder of its own.
@Suite(.budgeted) struct DemoCommandTests {
    private let folder: String

    init() throws {
        folder = FileManager.default.temporaryDirectory.path + "/demo-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    private func input(_ count: Int, extra: String = "") throws -> String {
        var text = ""
        for number in 0..<count {
            text += """
                Package: tool\(number)
                Version: 1:2.\(number)~rc-1
                Architecture: amd64
                Maintainer: Zoë Ł. <zoe\(number % 3)@example.org>
                Section: utils
                Size: \(number)
                Description: A tool that does \(number)


                """
        }
        let path = folder + "/index"
        try (text + extra).write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    private func run(_ arguments: [String]) throws -> Runner.Result {
        try Runner.run(arguments, through: ["/usr/bin/env", "TMPDIR=\(folder)"])
    }

    private func left() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0 != "index" }
    }

    @Test func `the JSON has its keys and says that all is well`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let result = try run(["demo", "--json", "--input", try input(300)])
        #expect(result.code == 0)
        #expect(result.complaint == "")
        let object = try JSONSerialization.jsonObject(with: Data(result.output.utf8))
        let json = try #require(object as? [String: Any])
        #expect(
            Set(json.keys) == [
                "records", "devices", "conflicts", "converged", "rebuildIdentical",
                "lostOperations", "rates",
            ])
        #expect(json["records"] as? Int == 304)
        #expect(json["devices"] as? Int == 2)
        #expect(json["converged"] as? Bool == true)
        #expect(json["rebuildIdentical"] as? Bool == true)
        #expect(json["lostOperations"] as? Int == 0)
        let conflicts = try #require(json["conflicts"] as? [String: Int])
        #expect(Set(conflicts.keys) == ["serverWins", "clientWins"])
        #expect(conflicts.values.allSatisfy { $0 > 0 })
        let rates = try #require(json["rates"] as? [String: Int])
        #expect(
            Set(rates.keys) == ["savesPerSecond", "pushedPerSecond", "pulledPerSecond"])
        #expect(rates.values.allSatisfy { $0 > 0 })
        #expect(try left() == [])
    }

    @Test func `the story shows a conflict and the checks`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let result = try run(["demo", "--input", try input(40)])
        #expect(result.code == 0)
        for text in [
            "One of them, Package tool", "outcome", "converged           yes",
            "nothing lost        yes", "rebuild identical   yes", "verify consistent   yes",
        ] {
            #expect(result.output.contains(text))
        }
    }

    @Test(arguments: [1, 2, 10])
    func `few records are enough`(count: Int) throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        #expect(try run(["demo", "--json", "--input", try input(count)]).code == 0)
    }

    @Test func `malformed stanzas are reported with their lines and left out`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = try input(2, extra: "Package: x\nVersion: 1\n\nno field\n\nPackage: y\n")
        let result = try run(["demo", "--json", "--input", path])
        #expect(result.code == 0)
        #expect(result.complaint.contains("line 17: there is no Architecture"))
        #expect(result.complaint.contains("line 20: it is no 'Name: value'"))
        #expect(result.output.contains("\"records\":5"))
    }

    @Test func `input that is not there or holds nothing ends with 2`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let missing = try run(["demo", "--input", folder + "/none"])
        #expect(missing.code == 2)
        #expect(missing.complaint.contains("No such file"))
        #expect(missing.output == "")
        #expect(try run(["demo", "--input", folder]).code == 2)
        #expect(try run(["demo", "--input", try input(0, extra: "nothing\n")]).code == 2)
        #expect(try run(["demo", "--what"]).code == 2)
        #expect(try left() == [])
    }

    @Test func `without a package index there are countries`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let result = try Runner.run(
            ["demo"], through: ["/usr/bin/env", "TMPDIR=\(folder)", "PATH=\(folder)"])
        #expect(result.code == 0)
        #expect(result.output.contains("countries"))
        #expect(result.output.contains("converged           yes"))
    }

    @Test func `kept stores can be looked into`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let stores = folder + "/kept"
        let result = try run(["demo", "--json", "--keep", stores, "--input", try input(20)])
        #expect(result.code == 0)
        for name in ["a", "b", "fresh"] {
            #expect(try run(["verify", stores + "/" + name]).code == 0)
        }
        #expect(try run(["demo", "--keep", stores, "--input", folder + "/index"]).code == 2)
    }
}
