import TestBudget
import Testing
import Threading

@testable import LMDB

@Suite(.budgeted) struct CursorTests {
    let environment: Environment
    let database: Database

    init() throws {
        environment = try Environment.temporary(options: Fixture.options())
        database = try environment.database("one")
    }

    private func fill(_ keys: [UInt8]) throws {
        try environment.save { access throws in
            for key in keys { try access.put([key], [key, key], in: database) }
        }
    }

    @Test func `a cursor visits entries in both directions`() throws {
        try fill([3, 1, 2])
        try environment.read { transaction throws in
            try transaction.access.withCursor(in: database) { cursor throws in
                var keys: [UInt8] = []
                while try cursor.next() {
                    #expect(Array(cursor.value) == [cursor.key[0], cursor.key[0]])
                    keys.append(cursor.key[0])
                }
                let isOnEntry = cursor.isOnEntry
                #expect(!isOnEntry)
                #expect(try !cursor.next())
                while try cursor.previous() { keys.append(cursor.key[0]) }
                #expect(try !cursor.previous())
                #expect(try cursor.next())
                keys.append(cursor.key[0])
                #expect(keys == [1, 2, 3, 3, 2, 1, 1])
                #expect(try cursor.last() && cursor.key[0] == 3)
                #expect(try cursor.first() && cursor.key[0] == 1)
            }
        }
    }

    @Test func `a cursor seeks`() throws {
        try fill([2, 4])
        try environment.read { transaction throws in
            try transaction.access.withCursor(in: database) { cursor throws in
                for (key, found) in [(1, 2), (2, 2), (3, 4), (4, 4)] as [(UInt8, UInt8)] {
                    #expect(try withUnsafeBytes(of: key) { try cursor.seek(atOrAfter: $0) })
                    #expect(cursor.key[0] == found)
                }
                #expect(try !withUnsafeBytes(of: UInt8(5)) { try cursor.seek(atOrAfter: $0) })
                #expect(try !cursor.next())
                #expect(try cursor.previous() && cursor.key[0] == 4)
                #expect(try withUnsafeBytes(of: UInt8(2)) { try cursor.seek(exactly: $0) })
                #expect(try cursor.next() && cursor.key[0] == 4)
                #expect(try !withUnsafeBytes(of: UInt8(3)) { try cursor.seek(exactly: $0) })
                #expect(try cursor.next() && cursor.key[0] == 2)
            }
        }
    }

    @Test func `an empty database has no entries`() throws {
        try environment.read { transaction throws in
            try transaction.access.withCursor(in: database) { cursor throws in
                #expect(try !cursor.next())
                #expect(try !cursor.previous())
                #expect(try !cursor.first())
                #expect(try !cursor.last())
            }
        }
    }

    @Test func `deleting while iterating visits every entry once`() throws {
        try fill(Array(0...255))
        try environment.save { access throws in
            var visited: [UInt8] = []
            try access.withCursor(in: database) { cursor throws in
                while try cursor.next() {
                    visited.append(cursor.key[0])
                    try cursor.delete()
                }
                #expect(try !cursor.previous())
            }
            #expect(visited == Array(0...255))
            #expect(try access.count(of: database) == 0)
        }
    }

    @Test func `an entry written behind a deleted one is visited`() throws {
        try fill([10, 20, 30])
        try environment.save { access throws in
            try access.withCursor(in: database) { cursor throws in
                #expect(try withUnsafeBytes(of: UInt8(20)) { try cursor.seek(exactly: $0) })
                try cursor.delete()
                try access.put([25], [], in: database)
                try access.put([20], [], in: database)
                #expect(try cursor.next() && cursor.key[0] == 25)
                #expect(try cursor.next() && cursor.key[0] == 30)
            }
        }
    }

    @Test func `moving back from the only entry that there was ends before all others`() throws {
        try fill([2])
        try environment.save { access throws in
            try access.withCursor(in: database) { cursor throws in
                #expect(try cursor.next())
                try cursor.delete()
                #expect(try !cursor.previous())
                try access.put([1], [1, 1], in: database)
                #expect(try !cursor.previous())
                #expect(try cursor.next() && cursor.key[0] == 1)
            }
        }
    }

    @Test(arguments: 0..<40)
    func `random moves, writes and deletions agree with a model`(seed: Int) throws {
        try environment.writer.submitAndWait {
            var walk = CursorWalk(seed: seed, database: database)
            try environment.write { transaction throws in try walk.run(transaction.access) }
        }
    }
}
