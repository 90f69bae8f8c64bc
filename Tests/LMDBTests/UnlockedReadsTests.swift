import CFaults
import Foundation
import Glibc
import TestBudget
import Testing

@testable import LMDB

/// Reads by a process that can't write to the lock file.
@Suite(.budgeted) struct UnlockedReadsTests {
    let fixture: Fixture

    init() throws {
        fixture = try Fixture()
        let environment = try fixture.open()
        try environment.save(["a": "1"])
        environment.close()
    }

    /// Opens the environment for reading, as somebody who may only read its files.
    private func openUnlocked() throws -> Environment {
        let files = [fixture.dataPath, fixture.store + "/lock.mdb"]
        #expect(chmod(fixture.store, 0o755) == 0)
        for file in files { #expect(chmod(file, 0o444) == 0) }
        defer { for file in files { #expect(chmod(file, 0o644) == 0) } }
        let user = CFaultsActAs(65534)
        defer { _ = CFaultsActAs(user) }
        return try fixture.open { $0.isReadOnly = true }
    }

    @Test func `nobody reads without a lock while another process has the files open`() throws {
        var wake: Int32 = -1
        let child = CFaultsReadInChild(fixture.store, 1 << 30, &wake)
        #expect(child > 0)
        let refused = #expect(throws: LMDBError.self) { try openUnlocked() }
        #expect(refused?.code == .busy)
        #expect(refused?.message.hasPrefix("Process \(child) has '\(fixture.store)' open") == true)
        #expect(CFaultsEndReading(child, wake) == 0)
        let environment = try openUnlocked()
        #expect(try environment.entries() == ["a": "1"])
        let later = CFaultsReadInChild(fixture.store, 1 << 30, &wake)
        #expect(later > 0)
        #expect(code { _ = try environment.entries() } == .busy)
        #expect(CFaultsEndReading(later, wake) == 0)
        #expect(try environment.entries() == ["a": "1"])
    }

    @Test(arguments: [1, 2], [false, true])
    func `a read that two commits overtake does not count, whatever it met`(
        commits: Int, fails: Bool
    ) throws {
        let environment = try openUnlocked()
        let found = code {
            try environment.read { _ in
                for _ in 0..<commits {
                    #expect(CFaultsWriteInChild(fixture.store, 1 << 30, 1, 5) == 0)
                }
                if fails { throw LMDBError(.damaged, "A page looks like another one.") }
            }
        }
        let expected: LMDBError.Code? = commits == 2 ? .busy : fails ? .damaged : nil
        #expect(found == expected)
        #expect(try environment.entries().count == 2)
    }

    @Test func `with the right to write reads have slots, and commits don't disturb them`() throws {
        let environment = try fixture.open { $0.isReadOnly = true }
        #expect(environment.core.unlocked == nil)
        let entries = try environment.read { transaction in
            for _ in 0..<3 { #expect(CFaultsWriteInChild(fixture.store, 1 << 30, 1, 5) == 0) }
            return try transaction.access.entries(in: Database(index: 0))
        }
        #expect(entries == ["a": "1"])
    }
}
