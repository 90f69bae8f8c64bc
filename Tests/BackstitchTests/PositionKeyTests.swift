import Backstitch
import BackstitchTesting
import Foundation
import TestBudget
import Testing

@Suite(.budgeted) struct PositionKeyTests {
    private func key(_ lower: String?, _ upper: String?, _ jitter: UInt64 = 0) throws -> String {
        let low = try lower.map { try #require(PositionKey(stored: $0)) }
        let high = try upper.map { try #require(PositionKey(stored: $0)) }
        return try PositionKey.between(low, high, jitter: jitter).stored
    }

    private func expectBetween(_ lower: String?, _ key: String, _ upper: String?) {
        if let lower { #expect(lower < key, "\(lower) \(key)") }
        if let upper { #expect(key < upper, "\(key) \(upper)") }
    }

    @Test func `the first key is in the middle`() throws {
        #expect(try key(nil, nil) == "a00001")
        #expect(try key(nil, nil, .max) != key(nil, nil))
        #expect(try key("a0", nil) == "a10001")
        #expect(try key(nil, "a0") == "Zz0001")
        #expect(try key("a0", "a1") == "a0V0001")
        #expect(try key("a0", "a0V") == "a0F0001")
        #expect(try key("az", "b00") == "azV0001")
        #expect(try key("Zz", "a0") == "ZzV0001")
    }

    @Test func `keys at both ends stay short`() throws {
        var generator = SeededGenerator(seed: 1)
        var first = try key(nil, nil)
        var last = first
        for _ in 0..<10_000 {
            let before = try key(nil, first, generator.next())
            let after = try key(last, nil, generator.next())
            expectBetween(nil, before, first)
            expectBetween(last, after, nil)
            (first, last) = (before, after)
        }
        #expect(first.utf8.count <= 9)
        #expect(last.utf8.count <= 9)
    }

    @Test(arguments: [true, false])
    func `a place is never full`(isLow: Bool) throws {
        var generator = SeededGenerator(seed: 2)
        var low = try key(nil, nil, generator.next())
        var high = try key(low, nil, generator.next())
        for _ in 0..<1_000 {
            let new = try key(low, high, generator.next())
            expectBetween(low, new, high)
            if isLow { low = new } else { high = new }
        }
        #expect(max(low.utf8.count, high.utf8.count) < 1_000 / 3)
    }

    @Test(arguments: [UInt64(3), 4, 5, 6])
    func `inserts anywhere keep the order`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var keys: [String] = []
        for _ in 0..<2_000 {
            // Often at one place, where it gets dense.
            let random = Int(generator.next() % UInt64(keys.count + 1))
            let place = generator.next() % 3 == 0 ? random : min(keys.count, 5)
            let lower = place > 0 ? keys[place - 1] : nil
            let upper = place < keys.count ? keys[place] : nil
            let new = try key(lower, upper, generator.next())
            expectBetween(lower, new, upper)
            keys.insert(new, at: place)
        }
        #expect(keys == keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }, "seed \(seed)")
    }

    @Test func `devices that insert at one place keep both records`() throws {
        let (low, high) = (try key(nil, nil, 7), try key("a1", nil, 8))
        var generator = SeededGenerator(seed: 9)
        let keys = try (0..<500).map { _ in try key(low, high, generator.next()) }
        #expect(Set(keys).count == 500)
        for new in keys { expectBetween(low, new, high) }
        // And there is a place between any two of them.
        let sorted = keys.sorted()
        for (lower, upper) in zip(sorted, sorted.dropFirst()) {
            expectBetween(lower, try key(lower, upper, generator.next()), upper)
        }
    }

    @Test func `behind two equal keys is a place`() throws {
        let one = try key(nil, nil, 5)
        expectBetween(one, try key(one, one), nil)
    }

    @Test(arguments: [
        "", "a", "0", "9x", "b1", "a0é", "a00", "a0-", "a1\u{0}1", "_0", " a0",
        "A00000000000000000000000000",
    ])
    func `what is no key is refused`(text: String) throws {
        #expect(PositionKey(stored: text) == nil)
        let json = try JSONEncoder().encode([text])
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode([PositionKey].self, from: json)
        }
    }

    @Test func `a key is its text in JSON, and sorts by its bytes`() throws {
        let keys = try ["Zz0001", "a00001", "a0V0001", "b00"].map {
            try #require(PositionKey(stored: $0))
        }
        #expect(keys == keys.shuffled().sorted())
        let json = try JSONEncoder().encode(keys)
        #expect(String(decoding: json, as: UTF8.self) == #"["Zz0001","a00001","a0V0001","b00"]"#)
        #expect(try JSONDecoder().decode([PositionKey].self, from: json) == keys)
    }

    @Test func `keys in the wrong order are refused`() {
        let error = #expect(throws: PositionKey.Failure.self) { try key("a2", "a1") }
        #expect(error?.code == .wrongOrder)
    }

    @Test func `the ends of the numbers have places before and behind them`() throws {
        let least = "A00000000000000000000000000" + "V"
        expectBetween(nil, try key(nil, least), least)
        let most = "z" + String(repeating: "z", count: 26)
        expectBetween(most, try key(most, nil), nil)
    }
}
