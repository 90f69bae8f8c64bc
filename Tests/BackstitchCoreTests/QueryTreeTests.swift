import Foundation
import TestBudget
import Testing

@testable import BackstitchCore

/// Random trees of conditions, sorts, limits and offsets against Foundation and Swift.
///
/// `QUERY_ROUNDS` sets the number of queries.
@Suite(.budgeted) struct QueryTreeTests {
    static let rounds = Load.count("QUERY_ROUNDS", else: 100)
    static let perSeed = 100

    struct Failed: Error, CustomStringConvertible {
        var description: String
    }

    struct Case {
        var typed: Query<Sample>
        var named: RecordQuery
        /// The records that match, in order, without offset and limit.
        var matches: [Sample]
        /// The answer.
        var expected: [Sample]
        var isWhole: Bool
    }

    static func makeCase(
        _ samples: [Sample], _ generator: inout SeededGenerator
    ) throws -> Case {
        var condition: RecordQuery.Condition?
        var source = generator
        let predicate = Predicate<Sample> { model in
            let tree = source.tree(model)
            condition = tree.condition
            return tree.expression
        }
        generator = source
        var typed = Query<Sample>().where(predicate)
        var named = RecordQuery(entity: "Sample")
        if let condition { named = named.where(condition) }
        var matches = try samples.filter { try predicate.evaluate($0) }
        var comparisons: [(QueryDifferentialTests.Sort, SortOrder)] = []
        for _ in 0..<generator.pick([0, 1, 1, 2]) {
            let sort = generator.pick(QueryDifferentialTests.sorts)
            let direction: SortOrder = generator.chance(0.5) ? .forward : .reverse
            typed = sort.add(typed, direction)
            comparisons.append((sort, direction))
        }
        matches.sort { left, right in
            for (sort, direction) in comparisons {
                let order = sort.order(left, right)
                if order != 0 { return direction == .forward ? order < 0 : order > 0 }
            }
            return left.id < right.id
        }
        var expected = matches
        var isWhole = true
        if generator.chance(0.2) {
            let offset = Int.random(in: 0...6, using: &generator)
            typed = typed.offset(offset)
            expected = Array(expected.dropFirst(offset))
            isWhole = false
        }
        if generator.chance(0.3) {
            let limit = Int.random(in: 0...20, using: &generator)
            typed = typed.limit(limit)
            expected = Array(expected.prefix(limit))
            isWhole = false
        }
        for step in try typed.lowered().sortSteps { named = named.adding(step) }
        return Case(
            typed: typed, named: named, matches: matches, expected: expected, isWhole: isWhole)
    }

    static func check(
        _ found: [Sample], _ expected: [Sample], _ what: String, _ query: RecordQuery,
        _ source: MemorySource
    ) throws {
        guard found != expected else { return }
        let plan = try QueryPlan(query, in: source.binding, on: source)
        throw Failed(
            description: "\(what): \(found.map(\.id)) instead of \(expected.map(\.id)); "
                + "\(plan.explanation); \(query)")
    }

    static func check(_ test: Case, _ source: MemorySource, _ generator: inout SeededGenerator)
        throws
    {
        let query = try test.typed.lowered()
        try check(source.fetch(query), test.expected, "by form", query, source)
        try check(
            source.fetch(query, counting: .random(&generator)), test.expected, "by count", query,
            source)
        try check(
            source.fetch(test.named, counting: .random(&generator)), test.matches, "by names",
            test.named, source)
        let plan = try QueryPlan(query, in: source.binding, needsRows: false, on: source)
        let count = try QueryExecutor.count(plan, on: source)
        guard count == test.expected.count else {
            throw Failed(description: "count \(count), not \(test.expected.count); \(query)")
        }
        let size = Int.random(in: 1...30, using: &generator)
        try check(source.pages(query, size: size), test.expected, "in pages", query, source)
        try checkAggregates(test, query, source)
    }

    private static func checkAggregates(
        _ test: Case, _ query: RecordQuery, _ source: MemorySource
    ) throws {
        let found = try QueryExecutor.groups(
            of: query, by: [], [.count, .minimum("age"), .maximum("born"), .average("size")],
            in: source.binding, on: source)
        let rows = test.expected
        let sum = rows.reduce(0) { $0 + Int($1.size) }
        let expected: [RecordValue] = [
            .int64(Int64(rows.count)), rows.map(\.age).min()?._recordValue ?? .null,
            rows.map(\.born).max()?._recordValue ?? .null,
            rows.isEmpty ? .null : .double(Double(sum) / Double(rows.count)),
        ]
        guard found.map(\.values) == [expected] else {
            throw Failed(description: "aggregates \(found), not \(expected); \(query)")
        }
        let ends = try QueryExecutor.groups(
            of: query, by: [], [.count, .minimum("grade"), .maximum("age")], in: source.binding,
            on: source)
        let expectedEnds: [RecordValue] = [
            .int64(Int64(rows.count)), rows.compactMap(\.grade).min()?._recordValue ?? .null,
            rows.map(\.age).max()?._recordValue ?? .null,
        ]
        guard ends.map(\.values) == [expectedEnds] else {
            throw Failed(description: "ends \(ends), not \(expectedEnds); \(query)")
        }
        let groups = try QueryExecutor.groups(
            of: query, by: ["grade", "isOn"], [.count, .sum("size")], in: source.binding, on: source
        )
        struct Key: Hashable {
            var grade: Int16?
            var isOn: Bool
        }
        let byKey = Dictionary(grouping: rows) { Key(grade: $0.grade, isOn: $0.isOn) }
        let expectedGroups = byKey.sorted { left, right in
            let order = QueryDifferentialTests.order(left.key.grade, right.key.grade)
            return order != 0 ? order < 0 : !left.key.isOn && right.key.isOn
        }.map { key, rows in
            RecordQuery.Group(
                keys: [key.grade._recordValue, key.isOn._recordValue],
                values: [
                    .int64(Int64(rows.count)), .int64(rows.reduce(0) { $0 + Int64($1.size) }),
                ])
        }
        guard groups == expectedGroups else {
            throw Failed(description: "groups \(groups), not \(expectedGroups); \(query)")
        }
        let distinct = try QueryExecutor.groups(
            of: query, by: ["level"], [], in: source.binding, on: source)
        guard distinct.map(\.keys) == Set(rows.map(\.level)).sorted().map({ [$0._recordValue] })
        else {
            throw Failed(description: "distinct \(distinct); \(query)")
        }
    }

    @Test(arguments: 0..<max(1, rounds / perSeed))
    func `trees of conditions give what Predicate gives, in order, in pages and in groups`(
        seed: Int
    ) throws {
        var generator = SeededGenerator(seed: UInt64(seed) &* 7919 &+ 1)
        let samples = generator.samples(count: 90)
        let sources = [
            try MemorySource(samples),
            try MemorySource(samples, binding: Sample.binding(isIndexed: false)),
        ]
        for round in 0..<Self.perSeed {
            let test = try Self.makeCase(samples, &generator)
            do {
                try Self.check(test, sources[round % 2], &generator)
            } catch {
                Issue.record("seed \(seed), round \(round): \(error)")
                return
            }
        }
    }
}

extension PlanningCosts {
    /// Costs that lead to every kind of plan with few records.
    static func random(_ generator: inout SeededGenerator) -> PlanningCosts {
        var costs = PlanningCosts()
        costs.rowCostInScannedRows = generator.pick([0, 1, 12])
        costs.firstBound = generator.pick([1, 8, 64])
        costs.lastBound = generator.pick([1, 32, 262_144])
        costs.intersectionCountMin = generator.pick([0, 4])
        return costs
    }
}
