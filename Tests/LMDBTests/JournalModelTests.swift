import Foundation
import TestBudget
import Testing
import Threading

@testable import LMDB

/// What is read where changes wait in a journal, against models.
@Suite(.budgeted) struct JournalModelTests {
    let fixture: Fixture

    init() throws { fixture = try Fixture(inMemory: true) }

    @Test(arguments: 0..<24)
    func `cursors over waiting changes agree with a model`(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed) + 1_000)
        let records = Int.random(in: 1...30, using: &random)
        let environment = try fixture.openJournaled(
            .eager(apply: records, inBackground: seed % 3 == 0))
        let database = try environment.database("one")
        var walk = CursorWalk(seed: seed, database: database)
        var step = 0
        while step < 3_000 {
            let steps = step..<step + Int.random(in: 1...60, using: &random)
            step = steps.upperBound
            let begun = walk
            let isAborted = Int.random(in: 0..<8, using: &random) == 0
            let ended = try environment.writer.submitAndWait {
                do {
                    return try environment.write { transaction throws in
                        // The closure may run twice.
                        var walk = begun
                        try walk.run(transaction.access, steps: steps)
                        if isAborted { throw NothingToCommit() }
                        return walk
                    }
                } catch is NothingToCommit {
                    return begun
                }
            }
            walk = ended
            guard Int.random(in: 0..<3, using: &random) == 0 else { continue }
            try environment.read { transaction in
                try walk.run(transaction.access, steps: steps, writes: false)
            }
        }
        environment.close()
        let reopened = try fixture.openJournaled()
        try reopened.read { transaction in
            try walk.run(transaction.access, steps: 0..<500, writes: false)
        }
        try reopened.checkPages()
    }

    /// One change, to be made in two environments.
    private enum Change: Sendable {
        case put([UInt8], [UInt8])
        case append([UInt8], [UInt8])
        case delete([UInt8])
        case clear
    }

    /// `JOURNAL_STEPS` says how many changes; 3,000 unless given.
    @Test(arguments: 0..<6)
    func `an environment with a journal has what one without has`(seed: Int) throws {
        let wanted = Load.count("JOURNAL_STEPS", else: 3_000)
        var random = SeededGenerator(seed: UInt64(seed))
        let plain = try Environment.temporary(options: Fixture.options())
        var limits = JournalLimits.eager(
            apply: Int.random(in: 1...40, using: &random), inBackground: seed % 2 == 0)
        limits.commitsBefore = seed % 4 == 3 ? 2 : 0
        var journaled = try fixture.openJournaled(limits)
        var made = 0
        var appended = 0
        while made < wanted {
            var changes: [(Change, Database)] = []
            for _ in 0..<Int.random(in: 1...12, using: &random) {
                let database = Database(index: Int.random(in: 0...1, using: &random))
                changes.append((Self.change(&appended, &random), database))
            }
            made += changes.count
            let made = changes
            let isAborted = Int.random(in: 0..<10, using: &random) == 0
            for environment in [plain, journaled] {
                try environment.writer.submitAndWait {
                    do {
                        try environment.write { transaction in
                            for (change, database) in made {
                                try Self.make(change, transaction.access, database)
                            }
                            if isAborted { throw NothingToCommit() }
                        }
                    } catch is NothingToCommit {}
                }
            }
            if Int.random(in: 0..<12, using: &random) == 0 {
                try Self.expectSame(plain, journaled)
            }
            if Int.random(in: 0..<60, using: &random) == 0 {
                try Self.expectSame(plain, journaled)
                journaled.close()
                journaled = try fixture.openJournaled(limits)
                try Self.expectSame(plain, journaled)
            }
        }
        try Self.expectSame(plain, journaled)
        try journaled.checkPages()
    }

    private static func change(_ appended: inout Int, _ random: inout SeededGenerator) -> Change {
        let key = key(Int.random(in: 0..<400, using: &random))
        switch Int.random(in: 0..<400, using: &random) {
        case 0: return .clear
        case 1..<100: return .delete(key)
        case 100..<160:
            appended += Int.random(in: 0...1, using: &random)
            return .append([255] + Self.key(appended), [UInt8](repeating: 7, count: 90))
        default:
            // Now and then more than a record takes.
            let isLarge = Int.random(in: 0..<200, using: &random) == 0
            let count = isLarge ? 70_000 : Int.random(in: 0..<600, using: &random)
            return .put(key, [UInt8](repeating: UInt8(count & 255), count: count))
        }
    }

    private static func key(_ number: Int) -> [UInt8] {
        let text = Array(String(number, radix: 7).utf8)
        return number % 3 == 0 ? [UInt8](repeating: 1, count: 12) + text : text
    }

    private static func make(_ change: Change, _ access: Access, _ database: Database) throws {
        switch change {
        case .put(let key, let value): try access.put(key, value, in: database)
        case .append(let key, let value):
            // Out of order now and then, as the last key is not deleted always.
            do throws(LMDBError) {
                try access.append(key, value, in: database)
            } catch {
                guard error.code == .appendOutOfOrder else { throw error }
            }
        case .delete(let key): _ = try access.delete(key, in: database)
        case .clear: try access.clear(database)
        }
    }

    private static func expectSame(_ left: Environment, _ right: Environment) throws {
        try left.read { one in
            try right.read { two in try expectSame(one.access, two.access) }
        }
    }

    /// Compares both directions, single look-ups and counts.
    private static func expectSame(_ left: Access, _ right: Access) throws {
        for index in 0...1 {
            let database = Database(index: index)
            let forward = try all(left, database, forward: true)
            let again = try all(right, database, forward: true)
            try #require(again == forward)
            let backward = try all(right, database, forward: false)
            try #require(backward == forward.reversed())
            let count = try right.count(of: database)
            try #require(count == forward.count)
            for entry in forward {
                let value = try right.get(entry.key, in: database)
                try #require(value == entry.value)
            }
        }
    }

    private struct Entry: Equatable {
        let key: [UInt8]
        let value: [UInt8]
    }

    private static func all(
        _ access: Access, _ database: Database, forward: Bool
    ) throws -> [Entry] {
        var found: [Entry] = []
        try access.withCursor(in: database) { cursor in
            var isThere = forward ? try cursor.first() : try cursor.last()
            while isThere {
                found.append(Entry(key: Array(cursor.key), value: Array(cursor.value)))
                isThere = forward ? try cursor.next() : try cursor.previous()
            }
        }
        return found
    }
}
