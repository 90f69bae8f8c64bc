import Foundation
import TestBudget
import Testing

@testable import LMDB

/// Files that are in order must pass; what damage does is tested where stores are damaged.
@Suite(.budgeted) struct InspectionTests {
    let fixture: Fixture

    init() throws { fixture = try Fixture(inMemory: true) }

    private func inspect(
        _ path: String? = nil, _ visit: (FileEntry) throws -> Void = { _ in }
    ) throws -> FileInspection {
        try EnvironmentFiles(at: path ?? fixture.store).inspect(names: ["one", "two"], visit)
    }

    /// Puts and deletes at random, values of all sizes, and everything now and then.
    private func change(_ environment: Environment, _ random: inout SeededGenerator) throws {
        let one = try environment.database("one")
        let two = try environment.database("two")
        var steps: [(Database, String, Int?)] = []
        for _ in 0..<Int.random(in: 1...60, using: &random) {
            let database = Int.random(in: 0..<4, using: &random) == 0 ? two : one
            let length = [1, 8, 40, 400].randomElement(using: &random) ?? 1
            let key =
                String(
                    repeating: "k", count: Int.random(in: 1...length, using: &random))
                + "\(Int.random(in: 0..<90, using: &random))"
            let sizes = [0, 1, 100, 1_500, 2_100, 5_000, 20_000]
            let isDeleted = Int.random(in: 0..<3, using: &random) == 0
            steps.append((database, key, isDeleted ? nil : sizes.randomElement(using: &random)))
        }
        let clears = Int.random(in: 0..<25, using: &random) == 0
        let all = steps
        try environment.save { access in
            if clears { try access.clear(one) }
            for (database, key, size) in all {
                try Array(key.utf8).withUnsafeBytes { key in
                    guard let size else {
                        _ = try access.delete(key, in: database)
                        return
                    }
                    try [UInt8](repeating: 7, count: size).withUnsafeBytes {
                        try access.put(key, $0, in: database)
                    }
                }
            }
        }
    }

    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func `a file in order is sound after every commit, and shows its entries`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let environment = try fixture.open {
            $0.durability = seed % 2 == 0 ? .full : .relaxed
            $0.journal = .eager(apply: 1)
        }
        #expect(try inspect().isSound)
        for commit in 0..<60 {
            try change(environment, &random)
            let found = try inspect()
            #expect(found.isSound, "seed \(seed), commit \(commit): \(found.problems)")
        }
        let expected = try environment.entries()
        var shown: [String: Int] = [:]
        _ = try inspect { entry in
            guard entry.database == 0 else { return }
            #expect(entry.place == .tree)
            shown[String(decoding: entry.key, as: UTF8.self)] = entry.value.count
        }
        #expect(shown == expected.mapValues(\.utf8.count), "seed \(seed)")
        try environment.copy(to: fixture.root + "/copy")
        environment.close()
        #expect(try inspect().isSound, "seed \(seed)")
        #expect(try inspect(fixture.root + "/copy").isSound, "seed \(seed)")
    }

    @Test func `a file that was just made is sound`() throws {
        try fixture.open().close()
        let found = try inspect()
        #expect(found.isSound, "\(found.problems)")
        #expect(found.entries == ["one": 0, "two": 0])
    }

    @Test func `what is no environment is an error or a finding`() throws {
        #expect(code { _ = try inspect(fixture.root + "/none") } == .notFoundPath)
        #expect(code { _ = try inspect(fixture.root) } == .notFoundPath)
        try fixture.open().close()
        for contents in ["", "text", String(repeating: "x", count: 20_000)] {
            try Data(contents.utf8).write(to: URL(fileURLWithPath: fixture.dataPath))
            #expect(try inspect().damagedParts.contains(.meta))
        }
    }

    // MARK: Replacing

    private func fill(_ path: String, _ value: String) throws {
        let environment = try Environment.open(at: path, options: Fixture.options())
        defer { environment.close() }
        try environment.save(["key": value])
    }

    private func keep() throws -> String {
        let path = fixture.root + "/kept"
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false)
        return path
    }

    @Test func `a data file is replaced at once, and the old one is kept`() throws {
        try fill(fixture.store, "old")
        let old = try Data(contentsOf: URL(fileURLWithPath: fixture.dataPath))
        let kept = try keep()
        try EnvironmentFiles(at: fixture.store).replaceData(keepingOldIn: kept) { draft in
            try fill(draft, "new")
            // Nobody gets in meanwhile.
            #expect(code { _ = try fixture.open() } == .beingReplaced)
            #expect(
                code {
                    try EnvironmentFiles(at: fixture.store).replaceData(keepingOldIn: kept) { _ in }
                } == .beingReplaced)
            // Nor after somebody was refused.
            #expect(code { _ = try fixture.open() } == .beingReplaced)
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: kept + "/data.mdb")) == old)
        let environment = try fixture.open()
        defer { environment.close() }
        #expect(try environment.entries() == ["key": "new"])
        let names = try FileManager.default.contentsOfDirectory(atPath: fixture.store)
        #expect(names.sorted() == ["data.mdb", "lock.mdb"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.root).count == 2)
    }

    @Test func `a data file takes the place of another, if nobody wrote to that`() throws {
        try fill(fixture.store, "old")
        let new = fixture.root + "/new"
        try fill(new, "new")
        func move(after commit: UInt64) throws {
            let lock = try RepairLock(Folder(path: fixture.store))
            try EnvironmentFiles(at: fixture.store).replaceData(
                movingFrom: new, after: commit, holding: lock)
        }
        let before = try fixture.openJournaled(.eager(apply: 1_000))
        let known = try before.read { $0.id }
        #expect(code { try move(after: known) } == .busy)
        for number in 0..<20 { try before.save(["other": "\(number)"]) }
        let waiting = try before.read { $0.id }
        // As it is when the process is killed.
        let killed = fixture.root + "/killed"
        try FileManager.default.copyItem(atPath: fixture.store, toPath: killed)
        before.close()
        try FileManager.default.removeItem(atPath: fixture.store)
        try FileManager.default.moveItem(atPath: killed, toPath: fixture.store)
        #expect(FileManager.default.fileExists(atPath: fixture.journalPath))
        #expect(code { try move(after: known) } == .busy)
        // What waits in the journal would be lost.
        #expect(code { try move(after: waiting) } == .busy)
        let again = try fixture.openJournaled()
        #expect(try again.entries() == ["key": "old", "other": "19"])
        again.close()
        let reader = try fixture.openJournaled { $0.isReadOnly = true }
        let commit = try reader.read { $0.id }
        reader.close()
        let writer = try Environment.open(at: new, options: Fixture.options())
        #expect(code { try move(after: commit) } == .busy)
        writer.close()
        #expect(FileManager.default.fileExists(atPath: fixture.journalPath))
        try move(after: commit)
        #expect(!FileManager.default.fileExists(atPath: fixture.journalPath))
        #expect(!EnvironmentFiles(at: new).hasData)
        let environment = try fixture.openJournaled()
        defer { environment.close() }
        #expect(try environment.entries() == ["key": "new"])
    }

    @Test func `a replacement that fails changes nothing`() throws {
        struct Planned: Error {}
        try fill(fixture.store, "old")
        let kept = try keep()
        #expect(throws: Planned.self) {
            try EnvironmentFiles(at: fixture.store).replaceData(keepingOldIn: kept) { draft in
                try fill(draft, "new")
                throw Planned()
            }
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: kept) == [])
        let environment = try fixture.open()
        #expect(try environment.entries() == ["key": "old"])
        #expect(
            code {
                try EnvironmentFiles(at: fixture.store).replaceData(keepingOldIn: kept) { _ in }
            } == .busy)
        environment.close()
    }
}
