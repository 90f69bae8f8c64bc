import ChildProcess
import Foundation
import Glibc
import Terminal
import TestBudget
import Testing

@testable import BackstitchDemo

/// Runs the demo with a hub and devices in processes of their own.
@Suite(.budgeted) struct DemoProcessTests {
    private let folder: String

    init() throws {
        folder = FileManager.default.temporaryDirectory.path + "/demo-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try writeIndex(60)
    }

    private func writeIndex(_ count: Int) throws {
        let stanzas = (0..<count).map {
            "Package: tool\($0)\nVersion: 1\nArchitecture: all\nDescription: A tool\n\n"
        }
        try stanzas.joined().write(toFile: folder + "/index", atomically: true, encoding: .utf8)
    }

    private var launcher: [String] { ["/usr/bin/env", "TMPDIR=\(folder)"] }
    private var demo: [String] { ["demo", "--hub", "--input", folder + "/index"] }

    private func left() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0 != "index" }
    }

    @Test func `two devices in processes of their own agree through a hub`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let result = try Runner.run(demo + ["--json"], through: launcher)
        #expect(result.code == 0 && result.complaint == "")
        #expect(result.output.contains(#""converged":true"#))
        #expect(result.output.contains(#""rebuildIdentical":true"#))
        #expect(result.output.contains(#""lostOperations":0"#))
        #expect(try left() == [])
    }

    @Test func `the story names the processes, one of which is killed`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let result = try Runner.run(demo, through: launcher)
        #expect(result.code == 0)
        let line = try #require(
            result.output.split(separator: "\n").first { $0.contains("A is process ") })
        let ids = line.split { !$0.isNumber }
        #expect(Set(ids).count == 2)
        #expect(result.output.contains("Process \(ids[0]) got a SIGKILL; process "))
        #expect(result.output.contains("nothing lost        yes"))
    }

    @Test func `who ends the demo ends its processes, and nothing is left`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        // Far more than it gets through in the time.
        try writeIndex(20_000)
        let child = try Runner.start(demo, through: launcher)
        var story = Data()
        while !String(decoding: story, as: UTF8.self).contains("A is process ") {
            let part = child.output.availableData
            if part.isEmpty { break }
            story.append(part)
        }
        child.send(SIGTERM)
        // They end only once no process holds them any more.
        _ = child.output.readDataToEndOfFile()
        let complaint = child.complaint.readDataToEndOfFile()
        #expect(try child.wait() == .exit(code: 2))
        #expect(
            String(decoding: complaint, as: UTF8.self).contains("ended before it was done"))
        #expect(try left() == [])
    }

    @Test func `a device says what is wrong with an order, and goes on`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let orders = try [
            "{}", JSON.line(DemoOrder.synchronise(policy: "nobodyWins")),
            JSON.line(DemoOrder.count),
        ]
        let text = orders.joined(separator: "\n") + "\n"
        try text.write(toFile: folder + "/orders", atomically: true, encoding: .utf8)
        let script = #"program=$1; shift; exec "$program" demo-device "$@" < "$ORDERS""#
        let result = try Runner.run(
            ["--url", "http://127.0.0.1:9", "--countries", folder + "/store"],
            through: [
                "/usr/bin/env", "BACKSTITCH_API_TOKEN=t", "BACKSTITCH_WEB_AUTH_TOKEN=u",
                "ORDERS=\(folder)/orders", "/bin/sh", "-c", script, "sh",
            ])
        let messages = try result.output.split(separator: "\n").map {
            try JSON.value(DemoMessage.self, Array($0.utf8))
        }
        #expect(result.code == 0 && messages.count == 3)
        for message in messages.prefix(2) {
            guard case .failure = message else {
                Issue.record("\(message)")
                continue
            }
        }
        #expect(messages.last == .answer(DemoAnswer()))
    }
}
