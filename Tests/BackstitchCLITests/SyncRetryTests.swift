import Backstitch
import BackstitchCore
import ChildProcess
import Foundation
import TestBudget
import Testing

@testable import BackstitchCLI

/// `backstitch sync --retry-parked`.
@Suite(.budgeted) struct SyncRetryTests {
    private let fixture: StoreFixture

    init() throws { fixture = try StoreFixture() }

    @Test func `parked records are tried again when that is asked for`() throws {
        let hub = try KillableHub(folder: fixture.root + "/hub")
        let store = try fixture.open()
        try store.save("good", "one")
        // Names are ASCII on the service.
        try store.save("caf\u{E9}", "two")
        store.close()
        let token = fixture.root + "/token"
        try hub.document.users[0].webAuthToken.write(
            toFile: token, atomically: true, encoding: .utf8)
        let arguments = [
            "sync", fixture.path, "--zone", "Notes", "--url", hub.document.url, "--container",
            hub.document.container, "--api-token", hub.document.apiToken, "--web-token-file", token,
        ]
        let first = try Runner.run(arguments + ["--json"])
        #expect(first.code == 1 && first.complaint == "")
        #expect(first.output.contains(#""pushed":1"#) && first.output.contains(#""parked":1"#))
        #expect(first.output.contains(#""undelivered":0"#))
        #expect(!first.output.contains("retried"))
        let again = try Runner.run(arguments + ["--retry-parked", "--json"])
        #expect(again.code == 1 && again.complaint == "")
        #expect(again.output.contains(#""retried":1"#) && again.output.contains(#""parked":1"#))
        let text = try Runner.run(arguments + ["--retry-parked"])
        #expect(text.output.hasPrefix("Tried again: 1 parked record.\n"))
        // Once its cause is gone, nothing is left to be tried.
        let edited = try fixture.open()
        try edited.write { transaction in
            _ = try transaction.delete(StoredNote.ID(key: RecordKey(RecordName("caf\u{E9}"))))
        }
        edited.close()
        let last = try Runner.run(arguments + ["--retry-parked", "--json"])
        #expect(last.code == 0)
        #expect(last.output.contains(#""retried":0"#) && last.output.contains(#""parked":0"#))
        #expect(try hub.stop() == .exit(code: 0))
    }
}
