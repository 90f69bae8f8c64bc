import TestBudget
import Testing
import Threading

@testable import LMDB

@Suite(.budgeted) struct AccessTests {
    let environment: Environment
    let one: Database
    let two: Database

    init() throws {
        environment = try Environment.temporary(options: Fixture.options())
        one = try environment.database("one")
        two = try environment.database("two")
    }

    @Test func `databases are separate`() throws {
        try environment.save { access throws in
            try access.put("a", "1", in: one)
            try access.put("a", "2", in: two)
            #expect(try access.get("a", in: one) == "1")
        }
        try environment.read { transaction throws in
            #expect(!transaction.access.canWrite)
            #expect(try transaction.access.get("a", in: one) == "1")
            #expect(try transaction.access.get("a", in: two) == "2")
            #expect(try transaction.access.get("b", in: two) == nil)
        }
        try environment.save { access throws in
            try access.clear(one)
            #expect(try access.count(of: one) == 0)
            #expect(try access.count(of: two) == 1)
        }
    }

    @Test func `keys have 1 to 511 bytes, and a wrong one leaves the transaction usable`() throws {
        let long = [UInt8](repeating: 1, count: 512)
        try environment.save { access throws in
            #expect(code { try access.put([], [], in: one) } == .keyEmpty)
            #expect(code { try access.put(long, [], in: one) } == .keyTooLong)
            #expect(code { _ = try access.get([], in: one) } == .keyEmpty)
            #expect(code { _ = try access.get(long, in: one) } == .keyTooLong)
            #expect(code { _ = try access.delete(long, in: one) } == .keyTooLong)
            #expect(code { try access.append(long, [], in: one) } == .keyTooLong)
            try access.withCursor(in: one) { cursor throws in
                let reason = long.withUnsafeBytes { long in
                    code { _ = try cursor.seek(atOrAfter: long) }
                }
                #expect(reason == .keyTooLong)
            }
            try access.put(Array(long.dropLast()), [], in: one)
            try access.put([1], [2], in: one)
        }
        try environment.read { transaction throws in
            #expect(try transaction.access.get(Array(long.dropLast()), in: one) == [])
            #expect(try transaction.access.get([1], in: one) == [2])
        }
    }

    @Test func `appending out of order is refused and leaves the transaction usable`() throws {
        try environment.save { access throws in
            try access.append([1], [1], in: one)
            try access.append([3], [3], in: one)
            #expect(code { try access.append([2], [2], in: one) } == .appendOutOfOrder)
            #expect(code { try access.append([3], [9], in: one) } == .appendOutOfOrder)
            try access.append([4], [4], in: one)
        }
        try environment.read { transaction throws in
            #expect(try transaction.access.count(of: one) == 3)
            #expect(try transaction.access.get([3], in: one) == [3])
        }
    }

    @Test func `the deletion of what is not there is no change, and makes no commit`() throws {
        try environment.save { access throws in try access.put([1], [1], in: one) }
        let commit = try environment.read { $0.access.commit }
        try environment.save { access throws in
            #expect(try !access.delete([2], in: one))
            #expect(access.changeCount == 0)
        }
        #expect(try environment.read { $0.access.commit } == commit)
        try environment.save { access throws in
            #expect(try access.delete([1], in: one))
            #expect(access.changeCount == 1)
        }
        #expect(try environment.read { $0.access.commit } == commit + 1)
    }

    @Test func `a large value takes pages of its own`() throws {
        let large = (0..<5000).map { UInt8(truncatingIfNeeded: $0) }
        try environment.save { access throws in try access.put([1], large, in: one) }
        try environment.read { transaction throws in
            #expect(try transaction.access.get([1], in: one) == large)
            let statistics = try transaction.access.statistics(of: one)
            #expect(statistics.entries == 1)
            #expect(statistics.depth == 1)
            #expect(statistics.leafPages == 1)
            #expect(statistics.overflowPages == 2)
        }
    }

    @Test func `deleting tells whether the key was there`() throws {
        try environment.save { access throws in
            try access.put("a", "1", in: one)
            #expect(try access.delete(Array("a".utf8), in: one))
            #expect(try !access.delete(Array("a".utf8), in: one))
        }
    }

    @Test func `transaction ids count the commits`() throws {
        let before = try environment.read { $0.id }
        let written = try environment.writer.submitAndWait {
            try environment.write { transaction throws in
                try transaction.access.put("a", "1", in: one)
                return transaction.id
            }
        }
        #expect(written == before + 1)
        #expect(try environment.read { $0.id } == written)
    }

    @Test func `writing in a read transaction traps`() async {
        await #expect(processExitsWith: .failure) {
            let environment = try Environment.temporary(options: Fixture.options())
            let database = try environment.database("one")
            try environment.read { try $0.access.put("a", "1", in: database) }
        }
    }
}
