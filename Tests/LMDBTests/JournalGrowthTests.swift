import Foundation
import Glibc
import TestBudget
import Testing

@testable import LMDB

/// The blocks of a journal, which become more if records need them.
@Suite(.budgeted) struct JournalGrowthTests {
    private let fixture: Fixture
    /// Limits with which nothing is applied by itself.
    private let limits = JournalLimits.eager(apply: 1_000_000, halfBytes: 2 << 20)

    init() throws { fixture = try Fixture(inMemory: true) }

    private var status: stat {
        get throws {
            var status = stat()
            let code = stat(fixture.journalPath, &status)
            try #require(code == 0)
            return status
        }
    }

    /// How long the file is if so many bytes of each half have blocks.
    private func length(_ usableBytes: Int) -> Int { 8_192 + limits.halfBytes + usableBytes }

    private func expectAll(_ count: Int, in environment: Environment) throws {
        #expect(try environment.entries().count == count)
        #expect(environment.waitingRecords == count - 1)
        let copy = try fixture.openJournaled(limits, at: fixture.copyAsKilled())
        #expect(try copy.entries().count == count)
        copy.close()
    }

    @Test func `a journal begins with few blocks`() throws {
        let environment = try fixture.openJournaled(limits)
        for number in 0..<20 { try environment.save(["\(number)": "a"]) }
        let status = try status
        #expect(Int(status.st_size) == length(limits.firstBytes))
        #expect(Int(status.st_blocks) * 512 <= 2 * limits.firstBytes + 65_536)
        try expectAll(20, in: environment)
    }

    @Test func `it gets more while records wait in both halves`() throws {
        let environment = try fixture.openJournaled(limits)
        let value = String(repeating: "x", count: 9_000)
        var lengths: [Int] = []
        // Three pages each.
        for number in 0..<120 {
            try environment.save(["\(number)": value])
            let length = Int(try status.st_size)
            if lengths.last != length { lengths.append(length) }
        }
        #expect(lengths == [limits.firstBytes, 1 << 20, 2 << 20].map { length($0) })
        try expectAll(120, in: environment)
    }

    @Test func `it does not if records are applied in time`() throws {
        let limits = JournalLimits.eager(halfBytes: 2 << 20)
        let environment = try fixture.openJournaled(limits)
        for number in 0..<300 { try environment.save(["\(number)": "a"]) }
        #expect(Int(try status.st_size) == length(limits.firstBytes))
        #expect(try environment.entries().count == 300)
    }

    @Test func `it gets more for a record that is larger than a half`() throws {
        let environment = try fixture.openJournaled(limits)
        try environment.save(["a": "0"])
        try environment.save(["b": String(repeating: "x", count: 600_000)])
        #expect(Int(try status.st_size) == length(1 << 20))
        try expectAll(2, in: environment)
    }

    @Test func `a disk with little space gives it no more`() throws {
        var limits = limits
        let environment = try fixture.openJournaled(limits)
        for number in 0..<9 { try environment.save(["\(number)": "a"]) }
        environment.close()
        limits.freeBytesMin = .max
        let full = try fixture.openJournaled(limits)
        let value = String(repeating: "x", count: 9_000)
        for number in 9..<120 { try full.save(["\(number)": value]) }
        #expect(try full.entries().count == 120)
        #expect(Int(try status.st_size) <= length(512 << 10))
    }
}
