import CrashStates
import Foundation
import TestBudget
import Testing
import Threading

@testable import LMDB

/// Databases that are made while an environment is open.
@Suite(.serialized, .exclusiveFaults, .budgeted) struct DatabaseFamilyTests {
    static let family = DatabaseFamily(prefix: "part.", countMax: 5_000)

    private let fixture: Fixture

    init() throws { fixture = try Fixture(inMemory: true) }

    private func open(
        _ change: (inout EnvironmentOptions) -> Void = { _ in }
    ) throws -> Environment {
        try fixture.open {
            $0.family = Self.family
            change(&$0)
        }
    }

    /// Makes members, and puts an entry with its number into each.
    static func make(_ numbers: ClosedRange<Int>, in environment: Environment) throws {
        try environment.save { access in
            try access.makeMembers(through: numbers.upperBound)
            for number in numbers {
                let member = try #require(access.member(number))
                try access.put("key", "\(number)", in: member)
            }
        }
    }

    /// What is in each member.
    static func values(in environment: Environment) throws -> [String?] {
        try environment.read { transaction in
            let access = transaction.access
            return try (0..<access.members).map { number in
                let member = try #require(access.member(number + 1))
                return try access.get("key", in: member)
            }
        }
    }

    @Test func `members are made with the commit that first needs them, and last`() throws {
        let environment = try open()
        #expect(try environment.read { $0.access.members } == 0)
        #expect(try environment.read { $0.access.member(1) } == nil)
        try Self.make(1...3, in: environment)
        try environment.read { old in
            let made = Locked(false)
            SystemThread {
                made.withLock { $0 = (try? Self.make(4...40, in: environment)) != nil }
            }.join()
            #expect(made.withLock { $0 })
            // An older snapshot has those that there were.
            #expect(old.access.members == 3)
            #expect(old.access.member(4) == nil)
            let third = try #require(old.access.member(3))
            let value = try old.access.get("key", in: third)
            #expect(value == "3")
        }
        #expect(try Self.values(in: environment) == (1...40).map { "\($0)" })
        environment.close()
        let again = try open()
        #expect(try Self.values(in: again) == (1...40).map { "\($0)" })
        try Self.make(41...41, in: again)
        #expect(try again.entries() == [:])
        #expect(try Self.values(in: again).last == "41")
    }

    @Test func `members of a write that fails are gone, and can be made again`() throws {
        struct Planned: Error {}
        let environment = try open()
        try Self.make(1...2, in: environment)
        for round in 0..<3 {
            #expect(throws: Planned.self) {
                try environment.save { access in
                    try access.makeMembers(through: 5)
                    try access.put("key", "lost", in: #require(access.member(5)))
                    throw Planned()
                }
            }
            #expect(try environment.read { $0.access.members } == 2)
            environment.setCommitFault { .noSpace }
            #expect(throws: LMDBError.self) { try Self.make(3...6, in: environment) }
            environment.setCommitFault(nil)
            #expect(try Self.values(in: environment) == ["1", "2"], "round \(round)")
        }
        try Self.make(3...4, in: environment)
        #expect(try Self.values(in: environment) == ["1", "2", "3", "4"])
    }

    @Test func `a map that has to grow while members are made, makes them again`() throws {
        let environment = try open {
            $0.mapBytes = 1 << 16
            $0.mapBytesMax = 1 << 24
        }
        try Self.make(1...100, in: environment)
        #expect(try Self.values(in: environment) == (1...100).map { "\($0)" })
    }

    @Test func `there is a greatest number`() throws {
        let environment = try Environment.temporary(
            options: Fixture.options { $0.family = DatabaseFamily(prefix: "p", countMax: 2) })
        try Self.make(1...2, in: environment)
        #expect(throws: LMDBError.self) { try Self.make(3...3, in: environment) }
        #expect(try Self.values(in: environment) == ["1", "2"])
    }

    @Test func `this process and another see each other's members`() async throws {
        let environment = try open()
        try Self.make(1...2, in: environment)
        await #expect(processExitsWith: .success) { [path = fixture.store as String] in
            let other = try Environment.open(
                at: path, options: Fixture.options { $0.family = DatabaseFamilyTests.family })
            #expect(try DatabaseFamilyTests.values(in: other) == ["1", "2"])
            try DatabaseFamilyTests.make(3...7, in: other)
            other.close()
        }
        // Both a read and a write open what they did not know.
        #expect(try Self.values(in: environment) == (1...7).map { "\($0)" })
        await #expect(processExitsWith: .success) { [path = fixture.store as String] in
            let other = try Environment.open(
                at: path, options: Fixture.options { $0.family = DatabaseFamilyTests.family })
            try DatabaseFamilyTests.make(8...9, in: other)
            other.close()
        }
        try Self.make(10...12, in: environment)
        #expect(try Self.values(in: environment) == (1...12).map { "\($0)" })
    }

    @Test func `readers begin while members are made`() async throws {
        let environment = try open()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    var known = 0
                    while known < 300 {
                        let values = try Self.values(in: environment)
                        #expect(values.count >= known)
                        #expect(values == (0..<values.count).map { "\($0 + 1)" })
                        known = values.count
                        await Task.yield()
                    }
                }
            }
            group.addTask {
                for number in 1...300 { try Self.make(number...number, in: environment) }
            }
            try await group.waitForAll()
        }
    }

    @Test func `members go through the journal and a start of the system`() throws {
        func open(_ boot: UInt64, at path: String? = nil) throws -> Environment {
            try fixture.openJournaled(.withoutPauses, at: path) {
                $0.family = Self.family
                $0.boot = BootID(testing: boot)
            }
        }
        let environment = try open(1)
        try Self.make(1...2, in: environment)
        // High numbers need more than a byte.
        try environment.save { try $0.makeMembers(through: 700) }
        for round in 0..<20 {
            try environment.save { access in
                for number in [1, 239, 240, 241, 700] {
                    try access.put("key", "\(number).\(round)", in: #require(access.member(number)))
                }
            }
        }
        #expect(environment.waitingRecords > 0)
        let copy = fixture.root + "/copy"
        try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: false)
        for name in ["data.mdb", "journal"] {
            try FileManager.default.copyItem(
                atPath: fixture.store + "/" + name, toPath: copy + "/" + name)
        }
        // The last values are in the journal alone.
        let recovered = try open(2, at: copy)
        func check(_ environment: Environment) throws {
            let values = try Self.values(in: environment)
            #expect(values.count == 700)
            for number in [1, 239, 240, 241, 700] {
                #expect(values[number - 1] == "\(number).19")
            }
        }
        try check(recovered)
        // A commit that makes a database goes into the data file, behind what waits.
        try recovered.save { try $0.makeMembers(through: 701) }
        #expect(recovered.waitingRecords == 0)
        recovered.close()
        let applied = try Environment.open(
            at: copy, options: Fixture.options { $0.family = Self.family })
        #expect(try Self.values(in: applied).count == 701)
        #expect(try Self.values(in: applied)[699] == "700.19")
        applied.close()
        environment.close()
    }

    @Test func `what waits for members that another process made is applied by any`() async throws {
        func open() throws -> Environment {
            try fixture.openJournaled(.withoutPauses) { $0.family = Self.family }
        }
        let environment = try open()
        try Self.make(1...1, in: environment)
        for _ in 0..<5 {
            try environment.save { try $0.put("key", "1", in: #require($0.member(1))) }
        }
        await #expect(processExitsWith: .success) { [path = fixture.store as String] in
            var options = Fixture.options { $0.family = DatabaseFamilyTests.family }
            options.journal = .withoutPauses
            let other = try Environment.open(at: path, options: options)
            try DatabaseFamilyTests.make(2...3, in: other)
            for round in 0..<10 {
                try other.save { try $0.put("key", "3.\(round)", in: #require($0.member(3))) }
            }
            // Ends without closing: its records wait.
            exit(0)
        }
        #expect(try Self.values(in: environment) == ["1", "2", "3.9"])
        try environment.save { try $0.put("key", "2.1", in: #require($0.member(2))) }
        environment.close()
        let again = try open()
        #expect(try Self.values(in: again) == ["1", "2.1", "3.9"])
        again.close()
    }

    @Test func `a file that is written anew, packed and moved keeps the members`() throws {
        let environment = try open()
        try environment.save { access in
            try access.makeMembers(through: 3)
            for key in 0..<6_000 {
                let member = try #require(access.member(1 + key % 3))
                try access.put("\(10_000 + key)", "\(key)", in: member)
            }
            for key in 0..<6_000 where key % 4 > 0 {
                let member = try #require(access.member(1 + key % 3))
                _ = try access.delete(Array("\(10_000 + key)".utf8), in: member)
            }
        }
        func content(_ environment: Environment) throws -> [[String: String]] {
            try environment.read { transaction in
                try (1...3).map {
                    try transaction.access.entries(in: #require(transaction.access.member($0)))
                }
            }
        }
        let before = try content(environment)
        let member = try environment.read { try #require($0.access.member(2)) }
        let pages = try environment.read { try $0.access.statistics(of: member).leafPages }
        try environment.writer.submitAndWait {
            _ = try environment.packPages(of: member)
            _ = try environment.movePages(of: member, behind: 2)
        }
        #expect(try environment.read { try $0.access.statistics(of: member).leafPages } < pages)
        #expect(try content(environment) == before)
        try environment.copy(to: fixture.root + "/copy")
        environment.close()
        let options = Fixture.options { $0.family = Self.family }
        try FileRewrite(of: fixture.store, options: options).run()
        #expect(try content(open()) == before)
        #expect(
            try content(Environment.open(at: fixture.root + "/copy", options: options)) == before)
    }

    @Test func `an inspection shows the entries of members, and misses one that is not listed`()
        throws
    {
        let environment = try open()
        try Self.make(1...3, in: environment)
        environment.close()
        var seen: [Int?] = []
        let found = try EnvironmentFiles(at: fixture.store).inspect(
            names: ["one", "two"], family: Self.family
        ) { entry in
            seen.append(entry.database)
        }
        #expect(found.isSound)
        #expect(seen.compactMap { $0 }.sorted() == [17, 18, 19])
        #expect(found.entries["part.2"] == 1)
    }
}
