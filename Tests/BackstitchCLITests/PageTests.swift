import Backstitch
import BackstitchCore
import ChildProcess
import CloudKitRecordService
import Foundation
import Glibc
import Terminal
import TestBudget
import Testing

@testable import BackstitchCLI

/// The commands of the README and of Getting started, run in the order in which they stand there.
@Suite(.budgeted(places: 2)) struct PageTests {
    static let pages = ["README.md", "Documentation/guides/getting-started.md"]
    private let fixture: StoreFixture

    init() throws { fixture = try StoreFixture() }

    private func text(of page: String) throws -> String {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        return try String(contentsOf: root.appendingPathComponent(page), encoding: .utf8)
    }

    /// The blocks of a language.
    private func blocks(_ language: String, of text: String) -> [String] {
        text.components(separatedBy: "```\(language)\n").dropFirst().compactMap {
            $0.components(separatedBy: "```").first
        }
    }

    /// The words of the lines that call a command.
    private func calls(_ command: String, in text: String) -> [[String]] {
        blocks("sh", of: text).flatMap { $0.components(separatedBy: "\n") }
            .filter { $0.hasPrefix("backstitch \(command) ") }
            .map { line in
                let call = line.components(separatedBy: "#")[0]
                return call.split(separator: " ").dropFirst().map(String.init)
            }
    }

    @Test(arguments: PageTests.pages)
    func `the hub that a page starts serves the program that the page shows`(
        page: String
    ) async throws {
        let text = try text(of: page)
        let words = try #require(calls("hub", in: text).first { $0.contains("--dev") })
        let folder = fixture.root + "/hub"
        // The port of the page may be taken on this machine.
        let child = try Runner.start(
            words.map { $0 == "DIR" ? folder : $0 } + ["--listen", "127.0.0.1:0"])
        defer {
            child.send(SIGKILL)
            _ = try? child.wait()
        }
        var line: [UInt8] = []
        while let byte = child.output.readData(ofLength: 1).first, byte != 10 {
            line.append(byte)
        }
        let document = try JSON.value(HubDocument.self, line)
        // By the names that the page has for them.
        #expect(text.contains("`users[0].webAuthToken`") && text.contains("`apiToken`"))
        let token = document.users[0].webAuthToken

        let program = try #require(
            blocks("swift", of: text).first { $0.contains("CloudKitConfiguration(") })
        let parts = program.components(separatedBy: "container: \"")
        let container = try #require(parts.last?.components(separatedBy: "\"").first)
        let url = try #require(URL(string: document.url))
        var configuration = CloudKitConfiguration(
            container: container,
            credentials: .user(apiToken: document.apiToken, webAuthToken: WebAuthToken(token)))
        configuration.url = url
        // On a busy machine a reply takes as long as it takes.
        configuration.timeout = .seconds(3_600)
        let changes = try await CloudKitRecordService(configuration).databaseChanges(since: nil)
        #expect(changes.changedZones.isEmpty)

        try fixture.fill()
        let tokenPath = fixture.root + "/token"
        try token.write(toFile: tokenPath, atomically: true, encoding: .utf8)
        let values = [
            "STORE": fixture.path, "http://127.0.0.1:8480": document.url,
            "TOKEN": document.apiToken, "FILE": tokenPath,
        ]
        for call in calls("sync", in: text) {
            let result = try Runner.run(call.map { values[$0] ?? $0 })
            #expect(result.code == 0, "\(call): \(result.complaint)")
        }

        // Who takes another container is told.
        configuration.container = "iCloud.com.example.other"
        let other = try CloudKitRecordService(configuration)
        let failure = await #expect(throws: ServiceError.self) {
            _ = try await other.databaseChanges(since: nil)
        }
        #expect(failure?.message.contains("iCloud.com.example.other") == true)
        child.send(SIGTERM)
        #expect(try child.wait() == .exit(code: 0))
    }
}
