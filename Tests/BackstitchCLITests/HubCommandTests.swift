import Backstitch
import ChildProcess
import CloudKitRecordService
import Foundation
import Glibc
import Testing

@testable import BackstitchCLI

@Suite struct HubCommandTests {
    private let fixture: StoreFixture

    init() throws { fixture = try StoreFixture() }

    @Test func `a store is synchronised through a hub, and the hub ends when it is told to`()
        async throws
    {
        let hub = try KillableHub(folder: fixture.root + "/hub")
        try fixture.fill(3)
        let tokenPath = fixture.root + "/token"
        try hub.document.users[0].webAuthToken.write(
            toFile: tokenPath, atomically: true, encoding: .utf8)
        let arguments = [
            "sync", fixture.path, "--zone", "Notes", "--url", hub.document.url, "--container",
            hub.document.container, "--api-token", hub.document.apiToken, "--web-token-file",
            tokenPath, "--json",
        ]
        let first = try Runner.run(arguments)
        #expect(first.code == 0 && first.complaint == "")
        #expect(first.output.contains(#""pending":0"#) && first.output.contains(#""pushed":3"#))
        let other = try await hub.service(user: 1).databaseChanges(since: nil)
        #expect(other.changedZones.isEmpty)
        let own = try await hub.service().databaseChanges(since: nil)
        #expect(own.changedZones == [ZoneID("Notes")])
        #expect(try hub.stop() == .exit(code: 0))
        let later = try Runner.run(arguments)
        #expect(later.code == 2 && later.complaint.contains("unreachable"))
    }

    @Test func `what a hub said that it has is there after it was killed`() async throws {
        let hub = try KillableHub(folder: fixture.root + "/hub")
        let zone = ZoneID("z")
        try await hub.service().createZone(zone)
        var saved: [String: String] = [:]
        for round in 0..<4 {
            let service = try hub.service()
            // Four devices write while the hub is killed.
            let tags = await withTaskGroup(of: [String: String].self) { group in
                for device in 0..<4 {
                    group.addTask {
                        await Self.write("r\(round)-\(device)", service, zone)
                    }
                }
                try? await service.waitForRecord("r\(round)-0-0", in: zone)
                try? hub.killAndRestart()
                return await group.reduce(into: [:]) { $0.merge($1) { $1 } }
            }
            saved.merge(tags) { $1 }
        }
        #expect(!saved.isEmpty)
        let service = try hub.service()
        for (name, tag) in saved {
            let found = try await service.lookUpRecords([name], in: zone).first
            guard case .found(let record)? = found else {
                Issue.record("The record \(name) was acknowledged, and is gone.")
                continue
            }
            #expect(record.changeTag == tag)
        }
        #expect(try hub.stop() == .exit(code: 0))
    }

    /// Creates records one by one until the service is gone; answers those that it took.
    private static func write(
        _ prefix: String, _ service: CloudKitRecordService, _ zone: ZoneID
    ) async -> [String: String] {
        var saved: [String: String] = [:]
        for number in 0..<40 {
            let name = "\(prefix)-\(number)"
            let create = RecordModification.create(
                recordName: name, recordType: "T", fields: ["n": .int64(Int64(number))])
            do {
                let results = try await service.modifyRecords([create], in: zone, atomic: false)
                if case .saved(let tag, _)? = results.first { saved[name] = tag }
            } catch {
                return saved
            }
        }
        return saved
    }

    @Test func `a user whose space is used up is told so, and others are not`() async throws {
        let hub = try KillableHub(folder: fixture.root + "/hub", options: ["--quota", "1000"])
        let zone = ZoneID("z")
        let create = RecordModification.create(
            recordName: "a", recordType: "T",
            fields: ["t": .string(String(repeating: "x", count: 800))])
        let second = RecordModification.create(
            recordName: "b", recordType: "T",
            fields: ["t": .string(String(repeating: "x", count: 800))])
        for user in 0...1 {
            let service = try hub.service(user: user)
            try await service.createZone(zone)
            let results = try await service.modifyRecords(
                [create, second], in: zone, atomic: false)
            guard case .saved? = results.first, case .failed(let error)? = results.last else {
                Issue.record("\(results)")
                continue
            }
            #expect(error.code == .quotaExceeded)
        }
        #expect(try hub.stop() == .exit(code: 0))
    }

    @Test func `credentials are made, told once, and revoked`() throws {
        let folder = fixture.root + "/hub"
        let token = try Runner.run("hub", "token", "--data", folder)
        #expect(token.code == 0 && token.output.count == 65)
        let user = try Runner.run("hub", "user", "--data", folder, "--user", "Ada")
        #expect(user.code == 0 && user.output.contains("webAuthToken"))
        let secret = token.output.trimmingCharacters(in: .whitespacesAndNewlines)
        #expect(try Runner.run("hub", "revoke", "--data", folder, "--secret", secret).code == 0)
        #expect(try Runner.run("hub", "revoke", "--data", folder, "--secret", secret).code == 1)
        let other = try Runner.run("hub", "token", "--data", folder).output
        let revoke = ["hub", "revoke", "--data", folder, "--secret", "-"]
        let pipe = ["/bin/sh", "-c", "printf %s '\(other)' | \"$@\"", "sh"]
        #expect(try Runner.run(revoke, through: pipe).code == 0)
        #expect(try Runner.run(revoke, through: pipe).code == 1)
        let data = try Data(contentsOf: URL(fileURLWithPath: folder + "/data.mdb"))
        #expect(data.range(of: Data(secret.utf8)) == nil)
    }

    @Test(arguments: [
        (["hub"], "--data"), (["hub", "dance"], "dance"), (["hub", "token"], "--data"),
        (["hub", "--dev", "--listen", "nowhere"], "HOST:PORT"),
        (["hub", "--dev", "--quota", "0"], "--quota"),
        (["hub", "--dev", "--public-quota", "much"], "--public-quota"),
        (["hub", "--dev", "--listen", "0.0.0.0:0"], "certificate"),
        (["sync", "x"], "--zone"), (["sync", "x", "--zone", "z"], "--api-token"),
    ])
    func `what is missing or wrong is named`(words: [String], name: String) throws {
        let result = try Runner.run(words)
        #expect(result.code == 2 && result.complaint.contains(name))
    }
}

extension CloudKitRecordService {
    /// Waits until a record is there.
    fileprivate func waitForRecord(_ name: String, in zone: ZoneID) async throws {
        while true {
            if case .found? = try await lookUpRecords([name], in: zone).first { return }
            await Task.yield()
        }
    }
}
