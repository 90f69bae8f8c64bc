import Backstitch
import BackstitchCore
import ChildProcess
import CloudKitRecordService
import Foundation
import TestBudget
import Testing

@testable import BackstitchCLI

/// What `backstitch sync` says of records that did not arrive.
@Suite(.budgeted) struct SyncGapTests {
    private let fixture: StoreFixture

    init() throws { fixture = try StoreFixture() }

    /// A client that sends more than most services take.
    private func service(of hub: KillableHub) throws -> CloudKitRecordService {
        guard let url = URL(string: hub.document.url) else { throw URLError(.badURL) }
        var configuration = CloudKitConfiguration(
            url: url, container: hub.document.container,
            credentials: .user(
                apiToken: hub.document.apiToken,
                webAuthToken: WebAuthToken(hub.document.users[0].webAuthToken)))
        configuration.timeout = .seconds(3_600)
        configuration.limits = ServiceLimits(recordBytes: 4_000_000, requestBytes: 8_000_000)
        return try CloudKitRecordService(configuration)
    }

    @Test func `a record that can't be stored is named, counted and told by the exit code`()
        async throws
    {
        let hub = try KillableHub(
            folder: fixture.root + "/hub", options: ["--limit", "recordBytes=4000000"])
        let service = try service(of: hub)
        try await service.createZone(ZoneID("Notes"))
        let long = String(repeating: "x", count: 1_100_000)
        let results = try await service.modifyRecords(
            [("big", long), ("good", "one")].map { name, text in
                .create(recordName: name, recordType: "Other", fields: ["text": .string(text)])
            }, in: ZoneID("Notes"), atomic: false)
        for result in results {
            guard case .saved = result else {
                Issue.record("\(result)")
                return
            }
        }
        try fixture.open().close()
        let token = fixture.root + "/token"
        try hub.document.users[0].webAuthToken.write(
            toFile: token, atomically: true, encoding: .utf8)
        let arguments = [
            "sync", fixture.path, "--zone", "Notes", "--url", hub.document.url, "--container",
            hub.document.container, "--api-token", hub.document.apiToken, "--web-token-file", token,
        ]
        let first = try Runner.run(arguments + ["--json"])
        #expect(first.code == 1)
        #expect(first.output.contains(#""pulled":1"#) && first.output.contains(#""rejected":1"#))
        #expect(first.output.contains(#""undelivered":1"#))
        #expect(first.output.contains(#""moreComing":false"#))
        #expect(first.complaint.contains("'big': It can't be stored."))
        let text = try Runner.run(arguments)
        #expect(text.code == 1)
        #expect(text.output.contains("could not deliver 1 record"))
        #expect(try hub.stop() == .exit(code: 0))
    }
}
