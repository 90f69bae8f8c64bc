import Foundation
import TestBudget
import Testing

@testable import BackstitchCore

/// Answers from encoded rows against `Predicate.evaluate` and Swift's own sort.
@Suite(.budgeted) struct QueryDifferentialTests {
    /// A sort key: how a query asks for it, and how Swift compares by it.
    struct Sort: Sendable {
        var add: @Sendable (Query<Sample>, SortOrder) -> Query<Sample>
        var order: @Sendable (Sample, Sample) -> Int
    }

    static func order<Value: Comparable>(_ left: Value?, _ right: Value?) -> Int {
        switch (left, right) {
        case (nil, nil): 0
        case (nil, _): -1
        case (_, nil): 1
        case (let left?, let right?): left < right ? -1 : left == right ? 0 : 1
        }
    }

    static let sorts: [Sort] = [
        Sort(
            add: { $0.sorted(by: \.name, order: $1) },
            order: { order(Text($0.name), Text($1.name)) }),
        Sort(
            add: { $0.sorted(by: \.nick, order: $1) },
            order: { order($0.nick.map(Text.init), $1.nick.map(Text.init)) }),
        Sort(add: { $0.sorted(by: \.age, order: $1) }, order: { order($0.age, $1.age) }),
        Sort(add: { $0.sorted(by: \.grade, order: $1) }, order: { order($0.grade, $1.grade) }),
        Sort(add: { $0.sorted(by: \.size, order: $1) }, order: { order($0.size, $1.size) }),
        Sort(add: { $0.sorted(by: \.score, order: $1) }, order: { order($0.score, $1.score) }),
        Sort(add: { $0.sorted(by: \.ratio, order: $1) }, order: { order($0.ratio, $1.ratio) }),
        Sort(add: { $0.sorted(by: \.price, order: $1) }, order: { order($0.price, $1.price) }),
        Sort(add: { $0.sorted(by: \.bonus, order: $1) }, order: { order($0.bonus, $1.bonus) }),
        Sort(add: { $0.sorted(by: \.born, order: $1) }, order: { order($0.born, $1.born) }),
        Sort(add: { $0.sorted(by: \.seen, order: $1) }, order: { order($0.seen, $1.seen) }),
        Sort(
            add: { $0.sorted(by: \.isOn, order: $1) },
            order: { order($0.isOn ? 1 : 0, $1.isOn ? 1 : 0) }),
        Sort(add: { $0.sorted(by: \.token, order: $1) }, order: { order($0.token, $1.token) }),
        Sort(add: { $0.sorted(by: \.boss, order: $1) }, order: { order($0.boss, $1.boss) }),
        Sort(add: { $0.sorted(by: \.level, order: $1) }, order: { order($0.level, $1.level) }),
        Sort(add: { $0.sorted(by: \.id, order: $1) }, order: { order($0.id, $1.id) }),
    ]

    /// Text in the order that Swift documents; see `Comparison.holds` on strings.
    struct Text: Comparable {
        var text: String
        init(_ text: String) { self.text = text }
        static func < (left: Text, right: Text) -> Bool {
            left.text.precedesInNormalForm(right.text)
        }
    }

    struct Bytes: Comparable {
        var data: Data
        init(_ data: Data) { self.data = data }
        static func < (left: Bytes, right: Bytes) -> Bool {
            left.data.lexicographicallyPrecedes(right.data)
        }
    }

    @Test(arguments: Load.some(of: 0..<12, oneOf: 5))
    func `answers and their order are those of Predicate and Swift`(seed: Int) throws {
        var generator = SeededGenerator(seed: UInt64(seed))
        let samples = generator.samples(count: 120)
        let indexed = try MemorySource(samples)
        let plain = try MemorySource(samples, binding: Sample.binding(isIndexed: false))
        for _ in 0..<250 {
            var query = Query<Sample>()
            var expected = samples
            var predicates: [Predicate<Sample>] = []
            for _ in 0..<generator.pick([0, 1, 1, 1, 2, 3]) {
                // Rows have no other dates than rounded ones, so those of a query count as rounded.
                var rounding = generator
                rounding.roundsDates = true
                let (predicate, meant) = (generator.predicate(), rounding.predicate())
                predicates.append(predicate)
                query = query.where(predicate)
                expected = try expected.filter { try meant.evaluate($0) }
            }
            var comparisons: [(Sort, SortOrder)] = []
            for _ in 0..<generator.pick([0, 1, 1, 2]) {
                let sort = generator.pick(Self.sorts)
                let direction: SortOrder = generator.chance(0.5) ? .forward : .reverse
                query = sort.add(query, direction)
                comparisons.append((sort, direction))
            }
            expected.sort { left, right in
                for (sort, direction) in comparisons {
                    let order = sort.order(left, right)
                    if order != 0 { return direction == .forward ? order < 0 : order > 0 }
                }
                return left.id < right.id
            }
            let total = expected.count
            if generator.chance(0.3) {
                let offset = Int.random(in: 0...6, using: &generator)
                query = query.offset(offset)
                expected = Array(expected.dropFirst(offset))
            }
            if generator.chance(0.5) {
                let limit = Int.random(in: 0...10, using: &generator)
                query = query.limit(limit)
                expected = Array(expected.prefix(limit))
            }
            for source in [indexed, plain] {
                let found = try source.fetch(query)
                if found != expected {
                    let plan = try QueryPlan(query.lowered(), in: source.binding)
                    Issue.record(
                        """
                        seed \(seed): \(plan.explanation); \(predicates.map(\.description)); \
                        of \(total), \(found.map(\.id)) instead of \(expected.map(\.id))
                        """)
                    return
                }
                #expect(try source.count(query) == expected.count)
            }
        }
    }
}

extension Predicate {
    fileprivate var description: String { "\(expression)" }
}
