import Backstitch
import ChildProcess
import Foundation
import LMDB
import TestBudget
import Testing
import Threading
import Waiting

/// A store of format 1 that is kept, brought to the present format by the program.
///
/// `MIGRATION_KILLS` sets how often it is killed.
@Suite(.budgeted) struct StoreMigrateTests {
    private let fixture: StoreFixture
    private let kept: String

    init() throws {
        fixture = try StoreFixture()
        kept = fixture.root + "/kept"
        let past = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Fixtures/format-1/store").path
        try FileManager.default.copyItem(atPath: past, toPath: kept)
    }

    @Test func `whatever command comes first brings a store to the present format`() throws {
        let doctor = try Runner.run("doctor", kept, "--json")
        #expect(doctor.code == 0 && doctor.output.contains(#""remedy":"opening""#), "\(doctor)")
        for (number, words) in [
            ["verify"], ["export"], ["backup"], ["log"], ["conflicts"], ["rebuild"],
        ].enumerated() {
            let copy = fixture.root + "/copy\(number)"
            try FileManager.default.copyItem(atPath: kept, toPath: copy)
            let target = words == ["backup"] ? [fixture.root + "/backup"] : []
            let result = try Runner.run(words + [copy] + target)
            #expect(result.code == 0, "\(words): \(result)")
            #expect(try Runner.run("verify", copy).code == 0)
            let info = try Runner.run("inspect", copy, "--json")
            #expect(info.code == 0 && info.output.contains(#""formatVersion":2"#), "\(info)")
        }
        let export = try Runner.run("export", fixture.root + "/backup")
        #expect(export.output == (try Runner.run("export", fixture.root + "/copy0").output))
    }

    /// Makes the store larger, so that its migration takes a while: marks of a full fetch say nothing.
    private func enlarge() throws {
        var options = EnvironmentOptions(databases: ["log", "tables", "meta"])
        options.durability = .relaxed
        let environment = try Environment.open(at: kept, options: options)
        defer { environment.close() }
        let meta = try environment.database("meta")
        try environment.writer.submitAndWait {
            try environment.write { transaction in
                for number in 0..<8_000 {
                    try Array("seen.\(number)-\(String(repeating: "x", count: 200))".utf8)
                        .withUnsafeBytes { try transaction.access.put($0, $0, in: meta) }
                }
            }
        }
    }

    @Test
    func `a migration that is killed at any moment leaves the old store or the new one`() throws {
        try enlarge()
        let kills = Load.count("MIGRATION_KILLS", else: 4)
        var state: UInt64 = 7
        var (new, drafts) = (0, 0)
        for number in 0..<kills {
            let folder = fixture.root + "/killed-\(number)"
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: false)
            let killed = folder + "/store"
            try FileManager.default.copyItem(atPath: kept, toPath: killed)
            let child = try Runner.start(["rebuild", killed, "--json"])
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            var microseconds = UInt32(state >> 33) % 900_000
            if number % 2 == 1 {
                // Half of the kills come while the draft is written.
                try blockUntil {
                    let files = try FileManager.default.contentsOfDirectory(atPath: folder)
                    return files.count > 1 || child.hasEnded
                }
                microseconds %= 100_000
            }
            try child.kill(afterMicroseconds: microseconds)
            let left = try FileManager.default.contentsOfDirectory(atPath: folder)
            if left.count > 1 { drafts += 1 }
            let look = try Runner.run("verify", killed)
            #expect(look.code == 0 || look.complaint.contains("format 1"), "\(look)")
            if look.code == 0 { new += 1 }
            let again = try Runner.run("rebuild", killed, "--json")
            #expect(again.code == 0 && again.output.contains(#""identical":true"#), "\(again)")
            #expect(try Runner.run("verify", killed).code == 0)
            // A draft that was left goes with the next one.
            if look.code != 0 {
                #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["store"])
            }
            try FileManager.default.removeItem(atPath: folder)
        }
        print(
            "\(new) of \(kills) killed migrations had put the new file in its place, "
                + "\(drafts) left a draft")
    }
}
