import ChildProcess
import Foundation
import Terminal
import TestBudget
import Testing

@testable import BackstitchCLI

/// The hub's folder of format 1 that is kept, migrated by the program.
///
/// `MIGRATION_KILLS` sets how often it is killed.
@Suite(.budgeted) struct HubMigrateTests {
    private let fixture: StoreFixture
    private let folder: String

    init() throws {
        fixture = try StoreFixture()
        folder = fixture.root + "/past"
        let kept = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Fixtures/format-1-hub/hub").path
        try FileManager.default.copyItem(atPath: kept, toPath: folder)
    }

    private struct Report: Decodable, Equatable {
        let data: String
        let migrated: Bool
        let databases: Int
        let records: Int
        let files: Int
        let missingFiles: Int
    }

    private func migrate(_ folder: String) throws -> Report {
        let result = try Runner.run("hub", "migrate", "--data", folder, "--json")
        #expect(result.code == 0 && result.complaint == "")
        return try JSON.value(Report.self, Array(result.output.utf8))
    }

    @Test func `a folder of format 1 is refused with what to do, migrated, and served`() throws {
        for action in [["token"], ["user", "--user", "Ada"], ["epoch"], ["serve"]] {
            let refused = try Runner.run(["hub"] + action + ["--data", folder])
            #expect(refused.code != 0 && refused.output == "", "\(action)")
            #expect(
                refused.complaint.contains("backstitch hub migrate --data \(folder)"), "\(action)")
        }
        #expect(try Runner.run("doctor", folder).complaint.contains("hub migrate"))
        let first = try migrate(folder)
        #expect(first.migrated && first.databases == 3 && first.files == 3)
        #expect(first.missingFiles == 0)
        #expect(
            try migrate(folder)
                == Report(
                    data: folder, migrated: false, databases: 0, records: 0, files: 0,
                    missingFiles: 0))
        #expect(try Runner.run("doctor", folder).code == 0)
        let token = try Runner.run("hub", "token", "--data", folder)
        #expect(token.code == 0 && token.output.count == 65)
        let text = try Runner.run("hub", "migrate", "--data", folder)
        #expect(text.output.contains("already"))
        let missing = try Runner.run("hub", "migrate", "--data", fixture.root + "/none")
        #expect(missing.code != 0 && missing.complaint.contains("no hub"))
    }

    @Test
    func `a migration that is killed at any moment leaves the old hub or the new one`() throws {
        let kills = Load.count("MIGRATION_KILLS", else: 4)
        var state: UInt64 = 7
        var new = 0
        for number in 0..<kills {
            let killed = fixture.root + "/killed-\(number)"
            try FileManager.default.copyItem(atPath: folder, toPath: killed)
            let child = try Runner.start(["hub", "migrate", "--data", killed, "--json"])
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            try child.kill(afterMicroseconds: UInt32(state >> 33) % 200_000)
            let look = try Runner.run("doctor", killed, "--json")
            #expect(look.code == 0 || look.complaint.contains("hub migrate"), "\(look)")
            if look.code == 0 { new += 1 }
            #expect(try migrate(killed).migrated == (look.code != 0))
            let after = try Runner.run("doctor", killed, "--json")
            #expect(after.code == 0 && after.output.contains(#""files":2"#))
            let assets = try FileManager.default.contentsOfDirectory(atPath: killed + "/assets")
            #expect(assets.allSatisfy { $0.count < 64 })
        }
        print("\(new) of \(kills) killed migrations had put the new file in its place")
    }
}
