import TestBudget
import Testing

@testable import LMDB

@Suite(.budgeted) struct SavepointTests {
    struct Planned: Error {}

    @Test func `a part that throws leaves no trace, and one that ends well does`() throws {
        let environment = try Environment.temporary(options: Fixture.options())
        let one = try environment.database("one")
        try environment.save { access throws in
            try access.put("a", "1", in: one)
            try access.put("b", "1", in: one)
            var isCaught = false
            do {
                try access.savepoint {
                    try access.put("a", "2", in: one)
                    try access.put("c", "2", in: one)
                    #expect(try access.delete(Array("b".utf8), in: one))
                    throw Planned()
                }
            } catch is Planned {
                isCaught = true
            }
            #expect(isCaught)
            #expect(try access.entries(in: one) == ["a": "1", "b": "1"])
            try access.savepoint { try access.put("a", "3", in: one) }
        }
        #expect(try environment.entries() == ["a": "3", "b": "1"])
    }

    @Test func `a failure within a savepoint that is caught does not spoil the transaction`() throws
    {
        let environment = try Environment.temporary(options: Fixture.options())
        let one = try environment.database("one")
        try environment.save { access throws in
            try access.put([5], [1], in: one)
            let reason = code {
                try access.savepoint {
                    try access.put([6], [1], in: one)
                    try access.append([5], [2], in: one)
                }
            }
            #expect(reason == .appendOutOfOrder)
            #expect(try access.get([5], in: one) == [1])
            #expect(try access.get([6], in: one) == nil)
        }
        #expect(try environment.read { try $0.access.get([5], in: one) } == [1])
    }

    @Test(arguments: 0..<40 as Range<UInt64>, [false, true])
    func `nested parts agree with dictionaries`(seed: UInt64, isJournaled: Bool) throws {
        let fixture = try Fixture(inMemory: true)
        let environment =
            isJournaled
            ? try fixture.openJournaled() : try Environment.temporary(options: Fixture.options())
        let databases = [try environment.database("one"), try environment.database("two")]
        for transaction in 0..<6 {
            let seed = seed * 100 + UInt64(transaction)
            try environment.save { access throws in
                var model = try databases.map { try access.entries(in: $0) }
                var random = SeededGenerator(seed: seed)
                for _ in 0..<8 {
                    try Self.run(access, databases, &model, &random, depth: 0)
                    #expect(try databases.map { try access.entries(in: $0) } == model, "\(seed)")
                }
            }
        }
    }

    /// Some changes, or parts with some; the model is what it was if a part throws.
    private static func run(
        _ access: Access, _ databases: [Database], _ model: inout [[String: String]],
        _ random: inout SeededGenerator, depth: Int
    ) throws {
        for _ in 0..<Int.random(in: 1...6, using: &random) {
            let index = Int.random(in: 0...1, using: &random)
            let database = databases[index]
            let key = "k\(Int.random(in: 0..<30, using: &random))"
            switch Int.random(in: 0..<8, using: &random) {
            case 0..<3:
                let value = String(
                    repeating: "v", count: Int.random(in: 1..<2000, using: &random))
                try access.put(key, value, in: database)
                model[index][key] = value
            case 3, 4:
                _ = try access.delete(Array(key.utf8), in: database)
                model[index][key] = nil
            case 5:
                try access.withCursor(in: database) { cursor in
                    guard try cursor.next() else { return }
                    model[index][String(decoding: cursor.key, as: UTF8.self)] = nil
                    try cursor.delete()
                }
            default:
                guard depth < 3 else { continue }
                let before = model
                do {
                    try access.savepoint {
                        try run(access, databases, &model, &random, depth: depth + 1)
                        if Bool.random(using: &random) { throw Planned() }
                    }
                } catch is Planned {
                    model = before
                }
            }
        }
    }
}
