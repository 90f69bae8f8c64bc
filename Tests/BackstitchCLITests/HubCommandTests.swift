import Backstitch
import BackstitchCore
import ChildProcess
import CloudKitRecordService
import Foundation
import Glibc
import RawConnection
import TestBudget
import Testing

@testable import BackstitchCLI

@Suite(.budgeted) struct HubCommandTests {
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

    @Test func `a bound has the value that it was given`() async throws {
        let hub = try KillableHub(
            folder: fixture.root + "/hub",
            options: ["--limit", "operationsPerRequest=2", "--limit", "targetBytes=1000"])
        let service = try hub.service()
        let zone = ZoneID("z")
        try await service.createZone(zone)
        func create(_ names: String...) async throws -> Int {
            try await service.modifyRecords(
                names.map { .create(recordName: $0, recordType: "T", fields: [:]) }, in: zone,
                atomic: false
            ).count
        }
        #expect(try await create("a", "b") == 2)
        await #expect {
            _ = try await create("c", "d", "e")
        } throws: {
            ($0 as? ServiceError)?.code == .limitExceeded
        }
        let long = Array(
            "GET /healthz?\(String(repeating: "a", count: 1_000)) HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
        let connection = try RawConnection(url: hub.document.url)
        connection.send(long)
        let answer = String(decoding: connection.rest(), as: UTF8.self)
        #expect(answer.hasPrefix("HTTP/1.1 414 "))
        #expect(try hub.stop() == .exit(code: 0))
    }

    @Test(arguments: [
        ("connectoins=1", "There is no bound 'connectoins=1'."),
        ("", "There is no bound ''."), ("=5", "There is no bound '=5'."),
        ("connections", "connections takes a whole number from 1 to 2147483647, as in"),
        ("connections=", "connections takes"), ("connections=0", "connections takes"),
        ("connections=-1", "connections takes"), ("connections=many", "connections takes"),
        ("connections=1.5", "connections takes"), ("connections=2147483648", "connections takes"),
        ("connections=5=5", "connections takes"),
    ])
    func `a bound that is none, or a value that is none, is refused`(
        text: String, complaint: String
    ) throws {
        let result = try Runner.run("hub", "--dev", "--listen", "127.0.0.1:0", "--limit", text)
        #expect(result.code == 2 && result.complaint.contains(complaint), "\(result.complaint)")
    }

    /// One address has more connections than the hub may have files open. Without descriptors a process
    /// can't even look at its own threads, and ends.
    @Test(.budgeted(places: 6))
    func `a hub that may open few files is not stopped by many connections`() throws {
        let hub = try KillableHub(
            folder: fixture.root + "/hub",
            launcher: ["/bin/sh", "-c", "ulimit -n 150; exec \"$@\"", "sh"])
        let crowd = try (0..<200).map { _ in
            try RawConnection(url: hub.document.url, from: "127.0.0.2")
        }
        let health = Array(
            "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".utf8)
        let connection = try RawConnection(url: hub.document.url, from: "127.0.0.3")
        connection.send(health)
        let answer = String(decoding: connection.rest(), as: UTF8.self)
        #expect(answer.hasPrefix("HTTP/1.1 200 "))
        withExtendedLifetime(crowd) {}
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

    @Test func `a folder that is no hub becomes one with a word, and is not looked for in vain`()
        throws
    {
        let folder = fixture.root + "/typo"
        for words in [["hub", "revoke", "--secret", "s"], ["hub", "epoch"]] {
            let result = try Runner.run(words + ["--data", folder])
            #expect(result.code == 2 && result.complaint.contains("There is no hub in"))
            #expect(!FileManager.default.fileExists(atPath: folder))
        }
        let first = try Runner.run("hub", "token", "--data", folder)
        #expect(first.code == 0 && first.complaint.contains("a new one is made"))
        let second = try Runner.run("hub", "token", "--data", folder)
        #expect(second.code == 0 && second.complaint.isEmpty)
    }

    @Test(arguments: HubAction.allCases)
    func `the help of an action is about that action alone`(action: HubAction) throws {
        let help = try Runner.run("hub", action.rawValue, "--help")
        #expect(help.code == 0 && help.complaint.isEmpty)
        let lines = help.output.components(separatedBy: "\n")
        #expect(lines.first == "Usage: backstitch hub \(action.rawValue) [OPTIONS]")
        #expect((5...25).contains(lines.count), "\(help.output)")
        let names = lines.filter { $0.hasPrefix("  ") && !$0.hasPrefix("   ") }
        #expect(!names.isEmpty && names.allSatisfy { $0.contains(action.rawValue) })
        #expect(try Runner.run("hub", "--help").output.contains("--data DIR"))
    }

    @Test func `doctor knows the folder of a hub`() throws {
        let folder = fixture.root + "/hub"
        #expect(try Runner.run("hub", "user", "--data", folder, "--user", "Ada").code == 0)
        let healthy = try Runner.run("doctor", folder)
        #expect(healthy.code == 0 && healthy.output.contains("holds a hub, and nothing is wrong"))
        let json = try Runner.run("doctor", folder, "--json")
        #expect(json.code == 0 && json.output.contains("\"kind\":\"hub\""))
        let repair = try Runner.run("doctor", folder, "--repair")
        #expect(repair.code == 2 && repair.complaint.contains("can't be repaired"))
    }

    @Test(arguments: ["--tls-cert", "--public-key"])
    func `a file that is missing is named with its option`(option: String) throws {
        let words =
            option == "--tls-cert"
            ? ["hub", "--dev", "--tls-cert", "/nowhere.pem", "--tls-key", "/nowhere.pem"]
            : ["hub", "key", "--data", fixture.root + "/hub", "--public-key", "/nowhere.pem"]
        let result = try Runner.run(words)
        #expect(result.code == 2)
        #expect(result.complaint.contains("'/nowhere.pem' can't be opened: No such"))
        #expect(result.complaint.contains("Check \(option)."))
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
