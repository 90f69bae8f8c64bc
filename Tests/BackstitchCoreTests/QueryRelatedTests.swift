import Foundation
import TestBudget
import Testing

@testable import BackstitchCore

/// Conditions on lists and related records, and sorts by them: they answer as Swift does, whatever is
/// indexed or looked up beforehand.
@Suite(.budgeted) struct QueryRelatedTests {
    /// Samples with what is at the ends of their relationships.
    private struct World {
        let samples: [Sample]
        private let byID: [EntityID<Sample>: Sample]
        private let teams: [EntityID<Sample>: [Sample]]

        init(_ samples: [Sample]) {
            self.samples = samples
            byID = Dictionary(uniqueKeysWithValues: samples.map { ($0.id, $0) })
            teams = Dictionary(grouping: samples.filter { $0.boss != nil }) { $0.boss ?? $0.id }
        }

        func boss(_ sample: Sample) -> Sample? { sample.boss.flatMap { byID[$0] } }
        func team(_ sample: Sample) -> [Sample] { teams[sample.id] ?? [] }
    }

    private struct Case {
        let name: String
        let query: Query<Sample>
        /// The same condition by names.
        let condition: RecordQuery.Condition
        let holds: (Sample) -> Bool

        init(
            _ name: String, _ query: Query<Sample>, _ condition: RecordQuery.Condition,
            _ holds: @escaping (Sample) -> Bool
        ) {
            self.name = name
            self.query = query
            self.condition = condition
            self.holds = holds
        }
    }

    // MARK: Lists

    private static let star = RecordQuery.Condition.element

    private static func lists(_ number: Int) -> [Case] {
        let all = Query<Sample>()
        let word = Int32(number)
        return [
            Case("empty", all.where(\.labels, isEmpty: true), .count("labels", 0)) {
                $0.labels.isEmpty
            },
            Case("not empty", all.where(\.days, isEmpty: false), .count("days", 1...)) {
                !$0.days.isEmpty
            },
            Case(
                "empty, optional", all.where(\.shorts, isEmpty: true), .count("shorts", 0)
            ) {
                $0.shorts?.isEmpty ?? false
            },
            Case("count", all.where(\.spots, count: 2), .count("spots", 2)) {
                $0.spots.count == 2
            },
            Case(
                "at most, optional", all.where(\.shorts, count: ...1),
                .count("shorts", ...1)
            ) { $0.shorts.map { $0.count <= 1 } ?? false },
            Case("range", all.where(\.nums, count: 1...2), .count("nums", 1...2)) {
                (1...2).contains($0.nums.count)
            },
            Case(
                "predicate, count", all.where(#Predicate { $0.nums.count >= number }),
                .count("nums", number...)
            ) { $0.nums.count >= number },
            Case(
                "predicate, empty", all.where(#Predicate { $0.links.isEmpty }),
                .count("links", 0)
            ) { $0.links.isEmpty },
            Case(
                "predicate, optional", all.where(#Predicate { ($0.shorts?.count ?? 3) > 1 }),
                .any([.count("shorts", .greater, 1), .equal("shorts", .null)])
            ) { ($0.shorts?.count ?? 3) > 1 },
            Case(
                "predicate, element",
                all.where(#Predicate { $0.nums.contains { $0 > 0 && $0 <= number } }),
                .anyElement(
                    of: "nums",
                    .all([
                        .greater(star, than: .int64(0)), .atMost(star, .int64(Int64(number))),
                    ]))
            ) { $0.nums.contains { $0 > 0 && $0 <= number } },
            Case(
                "predicate, all", all.where(#Predicate { $0.words.allSatisfy { $0 >= word } }),
                .not(.anyElement(of: "words", .less(star, than: .int64(Int64(word)))))
            ) { $0.words.allSatisfy { $0 >= word } },
            Case(
                "predicate, element and attribute",
                all.where(#Predicate { sample in sample.nums.contains { $0 == sample.level - 6 } }),
                .any([
                    .all([
                        .equal("level", .int64(7)),
                        .anyElement(of: "nums", .equal(star, .int64(1))),
                    ]),
                    .all([
                        .equal("level", .int64(6)),
                        .anyElement(of: "nums", .equal(star, .int64(0))),
                    ]),
                    .all([
                        .equal("level", .int64(5)),
                        .anyElement(of: "nums", .equal(star, .int64(-1))),
                    ]),
                ])
            ) { sample in sample.nums.contains { $0 == sample.level - 6 } },
            Case(
                "predicate, two lists",
                all.where(
                    #Predicate { sample in
                        sample.nums.contains { one in sample.nums.contains { $0 == one - 1 } }
                    }),
                .any([
                    .all([
                        .anyElement(of: "nums", .equal(star, .int64(0))),
                        .anyElement(of: "nums", .equal(star, .int64(-1))),
                    ]),
                    .all([
                        .anyElement(of: "nums", .equal(star, .int64(1))),
                        .anyElement(of: "nums", .equal(star, .int64(0))),
                    ]),
                ])
            ) { sample in sample.nums.contains { one in sample.nums.contains { $0 == one - 1 } } },
            Case(
                "text",
                all.where(\.labels, containsWhere: #Predicate { $0.starts(with: "a") }),
                .anyElement(of: "labels", .starts(star, with: "a"))
            ) { $0.labels.contains { $0.starts(with: "a") } },
            Case(
                "element of an optional",
                all.where(\.shorts, containsWhere: #Predicate { $0 < 1 }),
                .anyElement(of: "shorts", .less(star, than: .int64(1)))
            ) { $0.shorts?.contains { $0 < 1 } ?? false },
            Case(
                "list within a list",
                all.where(\.labels, isEmpty: false).where(
                    \.marks, containsWhere: #Predicate { $0 }),
                .anyElement(
                    of: "labels",
                    .all([
                        .anyElement(of: "marks", .equal(star, .bool(true))),
                        .atLeast(star, .string("")),
                    ]))
            ) { !$0.labels.isEmpty && $0.marks.contains(true) },
        ]
    }

    // MARK: Related records

    private static func related(_ world: World, _ number: Int) -> [Case] {
        let all = Query<Sample>()
        let grown = QueryCondition<Sample>().where(\.age, atLeast: number)
        let oneLevel = QueryCondition<Sample>().where(\.level, is: 7)
        let id = EntityID<Sample>("r\(number)")
        return [
            Case(
                "boss", all.where(\.boss, fulfils: grown),
                .atLeast("boss.age", .int64(Int64(number)))
            ) { world.boss($0).map { $0.age >= number } ?? false },
            Case(
                "boss by predicate",
                all.where(\.boss, fulfils: #Predicate { $0.isOn && $0.age < number }),
                .related(
                    "boss",
                    fulfils: .all([
                        .equal("isOn", .bool(true)), .less("age", than: .int64(Int64(number))),
                    ]))
            ) { world.boss($0).map { $0.isOn && $0.age < number } ?? false },
            Case(
                "no such boss", all.where(.not(QueryCondition().where(\.boss, fulfils: grown))),
                .not(.atLeast("boss.age", .int64(Int64(number))))
            ) { !(world.boss($0).map { $0.age >= number } ?? false) },
            Case(
                "boss's nick is nil, or there is none",
                all.where(
                    .not(
                        QueryCondition().where(
                            \.boss, fulfils: QueryCondition().where(\.nick, isNot: nil)))),
                .equal("boss.nick", .null)
            ) { world.boss($0)?.nick == nil },
            Case(
                "boss's nick", all.where(\.boss, fulfils: #Predicate { $0.nick != nil }),
                .notEqual("boss.nick", .null)
            ) { world.boss($0)?.nick != nil },
            Case(
                "the boss's boss",
                all.where(\.boss, fulfils: QueryCondition().where(\.boss, fulfils: oneLevel)),
                .equal("boss.boss.level", .int64(7))
            ) { world.boss($0).flatMap { world.boss($0) }?.level == 7 },
            Case(
                "boss's list",
                all.where(\.boss, fulfils: #Predicate { $0.nums.contains { $0 == 1 } }),
                .anyElement(of: "boss.nums", .equal(star, .int64(1)))
            ) { world.boss($0)?.nums.contains(1) ?? false },
            Case(
                "one of values",
                all.where(\.boss, fulfils: QueryCondition().where(\.level, in: [5, 6])),
                .member("boss.level", of: [.int64(5), .int64(6)])
            ) { world.boss($0).map { [5, 6].contains($0.level) } ?? false },
            Case(
                "text", all.where(\.boss, fulfils: QueryCondition().where(\.name, contains: "a")),
                .contains("boss.name", "a")
            ) { world.boss($0)?.name.contains(Character("a")) ?? false },
            Case("no team", all.where(\.team, isEmpty: true), referrers(0)) {
                world.team($0).isEmpty
            },
            Case("team", all.where(\.team, isEmpty: false), referrers(1...)) {
                !world.team($0).isEmpty
            },
            Case("two", all.where(\.team, count: 2), referrers(2)) {
                world.team($0).count == 2
            },
            Case("at most", all.where(\.team, count: ...1), referrers(...1)) {
                world.team($0).count <= 1
            },
            Case(
                "some of the team", all.where(\.team, containsWhere: grown),
                referrers(1..., .atLeast("age", .int64(Int64(number))))
            ) { world.team($0).contains { $0.age >= number } },
            Case(
                "some by predicate", all.where(\.team, containsWhere: #Predicate { $0.isOn }),
                referrers(1..., .equal("isOn", .bool(true)))
            ) { world.team($0).contains(where: \.isOn) },
            Case(
                "two of the team", all.where(\.team, count: 2..., of: oneLevel),
                referrers(2..., .equal("level", .int64(7)))
            ) { world.team($0).filter { $0.level == 7 }.count >= 2 },
            Case(
                "all of the team",
                all.where(\.team, count: 0, of: .not(grown)),
                referrers(0, .less("age", than: .int64(Int64(number))))
            ) { world.team($0).allSatisfy { $0.age >= number } },
            Case(
                "somebody's team",
                all.where(
                    \.team, containsWhere: QueryCondition().where(\.team, isEmpty: false)),
                referrers(1..., referrers(1...))
            ) { world.team($0).contains { !world.team($0).isEmpty } },
            Case(
                "either",
                all.where(
                    .any([
                        QueryCondition().where(\.id, is: id),
                        QueryCondition().where(\.boss, fulfils: grown).where(\.isOn, is: true),
                    ])),
                .any([
                    .records(named: [id.key.name.description]),
                    .all([
                        .atLeast("boss.age", .int64(Int64(number))), .equal("isOn", .bool(true)),
                    ]),
                ])
            ) { $0.id == id || $0.isOn && (world.boss($0).map { $0.age >= number } ?? false) },
            Case(
                "the boss refers to this one",
                all.where(\.age, atMost: number).where(\.boss, fulfils: oneLevel),
                .all([.atMost("age", .int64(Int64(number))), .equal("boss.level", .int64(7))])
            ) { $0.age <= number && world.boss($0)?.level == 7 },
        ]
    }

    private static func referrers(
        _ count: some _QueryCount, _ condition: RecordQuery.Condition? = nil
    ) -> RecordQuery.Condition {
        .referrers("Sample", by: "boss", count, fulfilling: condition)
    }

    @Test(arguments: Load.some(of: 0..<30, oneOf: 9))
    func `conditions on lists and related records answer as Swift does`(seed: Int) throws {
        var generator = SeededGenerator(seed: UInt64(seed) &* 104_729 &+ 1)
        let samples = generator.samples(count: 60)
        let world = World(samples)
        let sources = [
            try MemorySource(samples),
            try MemorySource(samples, binding: Sample.binding(isIndexed: false)),
        ]
        let number = Int.random(in: -1...5, using: &generator)
        // Nothing is looked up beforehand with the second.
        var without = PlanningCosts()
        without.relatedBound = 0
        // Every row is asked whether it refers to what was looked up.
        var scanning = PlanningCosts()
        scanning.scanBound = 0
        scanning.rowCostInScannedRows = 10_000
        for test in Self.lists(number % 3) + Self.related(world, number) {
            let expected = samples.filter(test.holds).map(\.id).sorted()
            let named = RecordQuery(entity: "Sample").where(test.condition)
            for source in sources {
                for query in [try test.query.lowered(), named] {
                    let answers = try [nil, PlanningCosts(), without, scanning].map {
                        try source.fetch(query, counting: $0).map(\.id)
                    }
                    for answer in answers {
                        #expect(answer.sorted() == expected, "\(test.name), seed \(seed)")
                    }
                    #expect(answers[0] == expected, "\(test.name): not in the order of keys")
                    let filter = try QueryFilter(query, in: source.binding)
                    let kept = try samples.filter { try source.fits($0, filter) }
                    #expect(kept.map(\.id).sorted() == expected, "\(test.name), one by one")
                }
            }
        }
    }

    @Test(arguments: Load.some(of: 0..<20, oneOf: 5))
    func `sorts by related records are those of Swift, in pages too`(seed: Int) throws {
        var generator = SeededGenerator(seed: UInt64(seed) &* 15_485_863 &+ 5)
        let samples = generator.samples(count: 60)
        let world = World(samples)
        let source = try MemorySource(samples)
        for order in [SortOrder.forward, .reverse] {
            func directed(_ result: Int) -> Bool { order == .forward ? result < 0 : result > 0 }
            func compare<Value: Comparable>(
                _ query: Query<Sample>, _ value: (Sample) -> Value?
            ) throws {
                let expected = samples.sorted { left, right in
                    let result = QueryDifferentialTests.order(value(left), value(right))
                    return result == 0 ? left.id < right.id : directed(result)
                }.map(\.id)
                #expect(try source.fetch(query).map(\.id) == expected, "seed \(seed)")
                #expect(
                    try source.pages(query.lowered(), size: 7).map(\.id) == expected,
                    "seed \(seed)")
                let some = try source.fetch(query.offset(3).limit(10)).map(\.id)
                #expect(some == Array(expected.dropFirst(3).prefix(10)))
            }
            let all = Query<Sample>()
            try compare(all.sorted(by: \.boss, \.age, order: order)) { world.boss($0)?.age }
            try compare(all.sorted(by: \.boss, \.grade, order: order)) {
                world.boss($0)?.grade
            }
            try compare(all.sorted(by: \.boss, \.name, order: order)) {
                world.boss($0).map { QueryDifferentialTests.Text($0.name) }
            }
            let named = RecordQuery(entity: "Sample").sorted(by: "boss.boss.level", order: order)
            let expected = samples.sorted { left, right in
                let levels = [left, right].map { world.boss($0).flatMap { world.boss($0) }?.level }
                let result = QueryDifferentialTests.order(levels[0], levels[1])
                return result == 0 ? left.id < right.id : directed(result)
            }.map(\.id)
            #expect(try source.fetch(named).map(\.id) == expected)
            // Behind an index, whose groups are sorted.
            let both = all.sorted(by: \.level).sorted(by: \.boss, \.age, order: order).limit(25)
            let ordered = samples.sorted { left, right in
                if left.level != right.level { return left.level < right.level }
                let ages = [left, right].map { world.boss($0)?.age }
                let result = QueryDifferentialTests.order(ages[0], ages[1])
                return result == 0 ? left.id < right.id : directed(result)
            }.map(\.id)
            #expect(try source.fetch(both).map(\.id) == Array(ordered.prefix(25)))
        }
    }

    @Test func `a row that many refer to is read once`() throws {
        let samples = (0..<200).map { number in
            var sample = Sample(id: EntityID("n\(1000 + number)"))
            sample.age = number
            // Two bosses, and one that is not there.
            sample.boss = EntityID(number % 3 == 0 ? "none" : "n\(1000 + number % 3)")
            return sample
        }
        let sorted = try MemorySource(samples)
        let found = try sorted.fetch(Query().sorted(by: \.boss, \.age).limit(1))
        #expect(found.map(\.age) == [0])
        #expect(sorted.rowReadCount == 200 + 2 + 1)
        let asked = try MemorySource(samples)
        let grown = QueryCondition<Sample>().where(\.boss, fulfils: #Predicate { $0.age > 1 })
        #expect(try asked.fetch(Query().where(.not(grown))).count == 134)
        #expect(asked.rowReadCount == 200 + 2)
    }

    @Test func `a scan reads no other rows if those were looked up`() throws {
        let samples = (0..<200).map { number in
            var sample = Sample(id: EntityID("n\(1000 + number)"))
            sample.age = number
            sample.boss = number % 5 == 0 ? nil : EntityID("n\(1000 + number / 10)")
            return sample
        }
        var costs = PlanningCosts()
        costs.scanBound = 0
        let source = try MemorySource(samples)
        let some = QueryCondition<Sample>().where(\.age, atLeast: 4).where(\.age, lessThan: 17)
        let query = try Query<Sample>().where(\.boss, fulfils: some).lowered()
        let plan = try QueryPlan(query, in: source.binding, costs: costs, on: source)
        #expect(plan.access == .scan(isReversed: false))
        #expect(plan.explanation.steps.first?.hasPrefix("look up 13 Sample records") == true)
        #expect(plan.explanation.steps.last == "filter 1 condition")
        let before = source.rowReadCount
        var count = 0
        try QueryExecutor.run(plan, on: source) { _, _ in
            count += 1
            return true
        }
        #expect(count == 13 * 8)
        #expect(source.rowReadCount - before == 200)
    }

    // MARK: Plans

    private func plan(_ query: Query<Sample>) throws -> [String] {
        var samples = (0..<200).map { number in
            var sample = Sample(id: EntityID("n\(1000 + number)"))
            sample.age = number
            sample.boss = number == 0 ? nil : EntityID("n\(1000 + number / 10)")
            return sample
        }
        samples[5].isOn = true
        return try QueryPlan(
            query.lowered(), in: Sample.binding(), on: MemorySource(samples)
        ).explanation.steps
    }

    @Test func `few related records are looked up beforehand`() throws {
        #expect(
            try plan(Query().where(\.boss, fulfils: QueryCondition().where(\.age, is: 5))) == [
                "look up 1 Sample record: index age = 5", "inverse boss = n1005",
            ])
        #expect(
            try plan(
                Query().where(\.team, containsWhere: QueryCondition().where(\.age, is: 57))) == [
                    "look up 1 Sample record: index age = 57, filter 1 condition",
                    "record n1005",
                ])
        #expect(
            try plan(
                Query().where(\.id, is: "n1051").where(
                    \.boss, fulfils: QueryCondition().where(\.level, is: 7))
            ).last == "filter 1 condition")
    }

    // MARK: Mistakes

    private func code(_ query: RecordQuery) throws -> QueryError.Code? {
        do {
            _ = try QueryPlan(query, in: Sample.binding(), on: try MemorySource([]))
            return nil
        } catch {
            return (error as? QueryError)?.code
        }
    }

    @Test func `what leads nowhere is refused`() throws {
        let all = RecordQuery(entity: "Sample")
        #expect(try code(all.where(.equal("boss.age", .int64(1)))) == nil)
        #expect(try code(all.where(.equal("boss.none", .int64(1)))) == .unknownAttribute)
        #expect(try code(all.where(.equal("none.age", .int64(1)))) == .unknownAttribute)
        #expect(try code(all.where(.equal("age.age", .int64(1)))) == .typeMismatch)
        #expect(try code(all.where(.equal("boss.age", .string("1")))) == .typeMismatch)
        #expect(
            try code(
                all.where(
                    .less("boss.place", than: .location(GeoLocation(latitude: 1, longitude: 1)))))
                == .typeMismatch)
        #expect(try code(all.where(.count("age", 1))) == .typeMismatch)
        #expect(
            try code(all.where(.anyElement(of: "age", .equal(Self.star, .int64(1)))))
                == .typeMismatch)
        #expect(
            try code(all.where(.anyElement(of: "nums", .equal(Self.star, .string("a")))))
                == .typeMismatch)
        #expect(try code(all.where(.referrers("None", by: "boss", 1...))) == .unknownEntity)
        #expect(try code(all.where(.referrers("Sample", by: "age", 1...))) == .typeMismatch)
        #expect(try code(all.sorted(by: "boss.labels")) == .typeMismatch)
        #expect(try code(all.sorted(by: "age.age")) == .typeMismatch)
        #expect(try code(all.sorted(by: "boss.none")) == .unknownAttribute)
    }
}

extension MemorySource {
    fileprivate func fits(_ sample: Sample, _ filter: QueryFilter) throws -> Bool {
        try sample.id.key.bytes.withUnsafeBytes { key in
            try withRow(of: binding.number, key: key) {
                try filter.holds(key: key, body: $0, on: self)
            } ?? false
        }
    }
}
