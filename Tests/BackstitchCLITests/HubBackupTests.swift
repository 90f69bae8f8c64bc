import Backstitch
import BackstitchCore
import ChildProcess
import CloudKitRecordService
import Foundation
import PostgreSQLCluster
import SmallDisk
import TestBudget
import Testing

@testable import BackstitchCLI

/// Backups of a hub that serves, and what is restored of them.
@Suite(.budgeted) struct HubBackupTests {
    private let fixture: StoreFixture
    private var folder: String { fixture.root + "/hub" }
    private var backup: String { fixture.root + "/backup" }

    init() throws { fixture = try StoreFixture() }

    /// Runs a script of the repository.
    private static func run(script: String, _ arguments: [String]) throws -> Runner.Result {
        let path = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent(script).path
        let child = try ChildProcess([path] + arguments)
        let text = child.output.readDataToEndOfFile()
        let complaints = child.complaint.readDataToEndOfFile()
        guard case .exit(let code) = try child.wait() else {
            return Runner.Result(
                code: -1, output: "", complaint: "It was killed.")
        }
        return Runner.Result(
            code: code, output: String(decoding: text, as: UTF8.self),
            complaint: String(decoding: complaints, as: UTF8.self))
    }

    @Test func `whoever runs a hub loses nothing from the first user to a disaster and back`()
        throws
    {
        let result = try Self.run(
            script: "hub/operator.sh", [ChildProcess.path(ofBuilt: "backstitch")])
        #expect(result.code == 0, "\(result.complaint)\n\(result.output)")
        #expect(result.output.hasSuffix("Nothing was lost.\n"))
    }

    @Test(.enabled(if: PostgreSQLCluster.isInstalled))
    func `nothing is lost where the database and the files of a hub are restored under load`()
        throws
    {
        let cluster = try PostgreSQLCluster()
        defer { cluster.stop() }
        let result = try Self.run(
            script: "hub/postgresql.sh",
            [ChildProcess.path(ofBuilt: "backstitch"), cluster.folder])
        #expect(result.code == 0, "\(result.complaint)\n\(result.output)")
        #expect(result.output.hasSuffix("Nothing was lost.\n"))
    }

    @Test(arguments: SmallDisk.kinds.prefix(2))
    func `a backup to a disk that is full leaves nothing there, and harms no hub`(
        kind: SmallDisk.Kind
    ) async throws {
        let hub = try KillableHub(folder: folder)
        let (service, zone) = (try hub.service(), ZoneID("z"))
        try await service.createZone(zone)
        try await Self.save((0..<200).map { "r\($0)" }, service, zone)
        let disk = try SmallDisk(kind)
        let target = disk.path + "/backup"
        for left in [0, 4_096, 100_000] {
            try disk.take()
            try disk.give(allBut: disk.taken - left)
            let result = try Runner.run("hub", "backup", "--data", folder, "--backup", target)
            #expect(result.code != 0)
            #expect(result.complaint.lowercased().contains("space"), "\(result.complaint)")
            let here = try FileManager.default.contentsOfDirectory(atPath: disk.path)
            #expect(!here.contains { $0.contains("backup") }, "\(here)")
            disk.give()
        }
        try await Self.save(["after"], service, zone)
        let result = try Runner.run("hub", "backup", "--data", folder, "--backup", target)
        #expect(result.code == 0, "\(result.complaint)")
        #expect(try Runner.run("hub", "verify", "--backup", target).code == 0)
        #expect(try hub.stop() == .exit(code: 0))
    }

    @Test func `what was answered before a backup under load is in it, and old tokens are refused`()
        async throws
    {
        let hub = try KillableHub(folder: folder)
        let zone = ZoneID("z")
        let service = try hub.service()
        try await service.createZone(zone)
        try await Self.save(["before"], service, zone)
        let token = try await service.page(of: zone, since: nil).token
        let (folder, backup) = (folder, backup)
        let services = try (0..<4).map { _ in try hub.service() }
        // Devices write until the backup is there, so much at most; each notes what was answered.
        let saved = await withTaskGroup(of: [String].self) { group in
            for (device, service) in services.enumerated() {
                group.addTask {
                    var names: [String] = []
                    while !FileManager.default.fileExists(atPath: backup), names.count < 500 {
                        let name = "r\(device)-\(names.count)"
                        guard (try? await Self.save([name], service, zone)) != nil else { break }
                        names.append(name)
                    }
                    return names
                }
            }
            try? await service.waitForRecord("r0-20", in: zone)
            let early = (try? await service.allNames(in: zone)) ?? []
            let made = try? Runner.run("hub", "backup", "--data", folder, "--backup", backup)
            #expect(made?.code == 0, "\(made?.complaint ?? "")")
            let all = await group.reduce(into: []) { $0 += $1 }
            #expect(early.count > 20 && Set(early).isSubset(of: Set(all + ["before"])))
            return early
        }
        try hub.killForGood()
        try FileManager.default.removeItem(atPath: folder)
        let restored = try Runner.run("hub", "restore", "--backup", backup, "--data", folder)
        #expect(restored.code == 0, "\(restored.complaint)")
        let verified = try Runner.run("hub", "verify", "--data", folder, "--json")
        #expect(verified.code == 0 && verified.output.contains(#""healthy":true"#))
        try hub.restart()
        let names = try await service.allNames(in: zone)
        #expect(Set(saved).isSubset(of: Set(names)))
        // Refused so that a device sends what it has, and takes nothing that is missing for deleted.
        let refusal = await #expect(throws: ServiceError.self) {
            _ = try await service.page(of: zone, since: token)
        }
        #expect(refusal?.code == .zoneNotFound)
        #expect(try hub.stop() == .exit(code: 0))
    }

    @Test func `a backup that is killed at any moment leaves no target, or a whole one`() throws {
        #expect(try Runner.run("hub", "user", "--data", folder, "--user", "Ada").code == 0)
        for round in 0..<12 {
            let child = try Runner.start(["hub", "backup", "--data", folder, "--backup", backup])
            try child.kill(afterMicroseconds: UInt32(round) * 4_000)
            guard FileManager.default.fileExists(atPath: backup) else { continue }
            #expect(try Runner.run("hub", "verify", "--backup", backup).code == 0)
            try FileManager.default.removeItem(atPath: backup)
        }
        #expect(try Runner.run("hub", "backup", "--data", folder, "--backup", backup).code == 0)
        let left = try FileManager.default.contentsOfDirectory(atPath: fixture.root)
        #expect(left.sorted() == ["backup", "hub"])
    }

    @Test(arguments: [
        (["backup"], "--backup is missing"), (["restore"], "--backup is missing"),
        (["backup", "--backup", "/nowhere/at/all"], "no folder '/nowhere/at'"),
        (["backup", "--backup", "HUB/in"], "inside of the hub's folder"),
        (["backup", "--backup", "HUB"], "is there already"),
        (["restore", "--backup", "HUB"], "is there already"),
        (["restore", "--backup", "/nowhere"], "is there already"),
        (["users"], "What is to be done?"), (["sessions", "rename"], "no action 'rename'"),
        (["users", "remove"], "--user is missing"), (["tokens", "remove"], "--id is missing"),
        (["containers", "remove"], "--container is missing"),
        (["users", "change", "--user", "Ada", "--discoverable", "maybe"], "yes or no"),
        (["users", "rename", "--user", "Ada"], "--to is missing"),
        (["revoke"], "--secret is missing, or --id"),
    ])
    func `what is missing or wrong is told with what to do`(
        words: [String], text: String
    ) throws {
        #expect(try Runner.run("hub", "user", "--data", folder, "--user", "Ada").code == 0)
        let words = words.map { $0.replacingOccurrences(of: "HUB", with: folder) }
        let result = try Runner.run(["hub"] + words + ["--data", folder])
        #expect(result.code == 2 && result.complaint.contains(text), "\(result.complaint)")
    }

    @Test func `a session that was not noted after its first days is not said to be unused`() throws
    {
        #expect(try Runner.run("hub", "user", "--data", folder, "--user", "Ada").code == 0)
        let listed = try Runner.run("hub", "sessions", "list", "--data", folder)
        #expect(listed.code == 0, "\(listed.complaint)")
        let row = listed.output.split(separator: "\n").first { $0.contains("Ada") }
        #expect(row?.contains("not after its first days") == true, "\(listed.output)")
    }

    @Test func `users, sessions, tokens and containers are listed, changed and removed`() throws {
        func hub(_ words: String...) throws -> Runner.Result {
            try Runner.run(["hub"] + words + ["--data", folder, "--json"])
        }
        func list(_ thing: String) throws -> [[String: String]] {
            let text = try hub(thing, "list").output
            let json = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
            return (json?[thing] as? [[String: Any]] ?? []).map { item in
                item.mapValues { "\($0)" }
            }
        }
        #expect(try hub("users", "add", "--user", "Ada", "--email", "a@example.com").code == 0)
        #expect(try hub("users", "add", "--user", "Ada").complaint.contains("already"))
        #expect(try hub("sessions", "add", "--user", "Bob").complaint.contains("no user 'Bob'"))
        #expect(try hub("sessions", "add", "--user", "Ada").code == 0)
        #expect(try hub("tokens", "add", "--label", "app").code == 0)
        #expect(try list("users").map { $0["emailAddress"] } == ["a@example.com"])
        #expect(try hub("users", "rename", "--user", "Ada", "--to", "Adele").code == 0)
        #expect(try list("sessions").map { $0["user"] } == ["Adele"])
        let token = try #require(try list("tokens").first?["id"])
        #expect(try hub("tokens", "rename", "--id", token, "--label", "web").code == 0)
        #expect(try list("tokens").map { $0["label"] } == ["web"])
        let origin = ["--origin", "https://app.example.com"]
        #expect(
            try Runner.run(["hub", "tokens", "change", "--id", token, "--data", folder] + origin)
                .output.contains("https://app.example.com"))
        #expect(try list("tokens").first?["origins"]?.contains("app.example.com") == true)
        #expect(
            try hub("tokens", "change", "--id", token).complaint.contains("--origin is missing"))
        #expect(
            try hub("tokens", "change", "--id", "0123456789abcdef", "--origin", "https://a.b").code
                == 1)
        #expect(try hub("tokens", "add", "--origin", "*").complaint.contains("no origin"))
        #expect(try list("tokens").count == 1)
        #expect(try hub("users", "code", "--user", "Adele").output.hasPrefix(#"{"code":""#))
        #expect(try hub("users", "code", "--user", "Bob").complaint.contains("no user 'Bob'"))
        let password = fixture.root + "/password"
        for (text, code) in [("a long password", Int32(0)), ("short", 2), ("", 0)] {
            try text.write(toFile: password, atomically: true, encoding: .utf8)
            let result = try hub(
                "users", "password", "--user", "Adele", "--password-file", password)
            #expect(result.code == code, "\(result.complaint)")
        }
        #expect(
            try Runner.run(
                "hub", "serve", "--check-config", "--data", folder, "--sign-in-header", "X-User"
            ).complaint.contains("goes with --trusted-proxy"))
        #expect(try hub("revoke", "--id", token).code == 0)
        #expect(try hub("revoke", "--id", token).code == 1)
        #expect(try list("tokens").isEmpty)
        #expect(try hub("users", "remove", "--user", "Adele").output.contains(#""sessions":1"#))
        #expect(try list("users").isEmpty && list("sessions").isEmpty)
        let container = ["--container", "iCloud.backstitch"]
        #expect(
            try Runner.run(
                ["hub", "containers", "rename", "--to", "iCloud.x", "--data", folder] + container
            ).code == 0)
        #expect(try list("containers").map { $0["container"] } == ["iCloud.x"])
        #expect(try hub("containers", "remove", "--container", "iCloud.x").code == 0)
        #expect(try list("containers").isEmpty)
    }

    @discardableResult
    private static func save(
        _ names: [String], _ service: CloudKitRecordService, _ zone: ZoneID
    ) async throws -> Bool {
        let results = try await service.modifyRecords(
            names.map { .create(recordName: $0, recordType: "T", fields: [:]) }, in: zone,
            atomic: false)
        for case .failed(let error) in results { throw error }
        return true
    }
}

extension CloudKitRecordService {
    fileprivate func page(
        of zone: ZoneID, since token: String?
    ) async throws -> ZoneChangesPage {
        try await zoneChanges(in: zone, since: token, limit: 2_000, fields: nil)
    }

    /// The names of all records of a zone.
    fileprivate func allNames(in zone: ZoneID) async throws -> [String] {
        var (names, token, isDone) = ([String](), String?.none, false)
        while !isDone {
            let page = try await page(of: zone, since: token)
            names += page.records.map(\.recordName)
            (token, isDone) = (page.token, !page.moreComing)
        }
        return names
    }
}
