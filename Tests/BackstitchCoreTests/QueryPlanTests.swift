import Foundation
import TestBudget
import Testing

@testable import BackstitchCore

@Suite(.budgeted) struct QueryPlanTests {
    private let entity = Sample.binding()

    private func plan(_ query: RecordQuery) throws -> QueryPlan {
        try QueryPlan(query, in: entity)
    }

    private func samples() -> RecordQuery { RecordQuery(entity: "Sample") }

    private func explained(_ query: RecordQuery) throws -> String {
        try plan(query).explanation.steps.joined(separator: ", then ")
    }

    private func code(_ query: RecordQuery) -> QueryError.Code? {
        do {
            _ = try plan(query)
            return nil
        } catch {
            return (error as? QueryError)?.code
        }
    }

    @Test func `a range of an indexed attribute is read from its index`() throws {
        let query = samples().where(.atLeast("age", .int64(30)))
            .where(.less("age", than: .int64(40))).where(.equal("size", .int64(1)))
            .sorted(by: "name")
        #expect(
            try explained(query)
                == "index age ≥ 30 and < 40, then filter 1 condition, then sort in memory by name")
        let attribute = try entity.attribute(named: "age")
        let range = try #require(KeyRange(.greaterOrEqual, .int64(30), type: .int64))
        let other = try #require(KeyRange(.less, .int64(40), type: .int64))
        #expect(
            try plan(query).access
                == .index(attribute, [range.intersection(other)], isReversed: false))
    }

    @Test func `the most selective access is chosen`() throws {
        let key = RecordKey(RecordName("r1"))
        #expect(try explained(samples()) == "scan Sample")
        #expect(
            try explained(samples().where(.records([key])).where(.equal("age", .int64(1))))
                == "record r1, then filter 1 condition")
        #expect(
            try explained(samples().where(.equal("boss", .reference(key)))) == "inverse boss = r1")
        #expect(
            try explained(
                samples().where(.greater("age", than: .int64(1)))
                    .where(.equal("size", .int64(1))).limit(0))
                == "nothing can match, then stop after 0")
        #expect(
            try explained(
                samples().where(.greater("age", than: .int64(1)))
                    .where(.equal("isOn", .bool(true))))
                == "index isOn = true, then filter 1 condition")
        #expect(
            try explained(samples().where(.starts("name", with: "a")))
                == "index name starting with \"a\", then filter 1 condition, "
                + "then sort in memory by record key")
        #expect(
            try explained(samples().where(.equal("nick", .null))) == "index nick = nil")
        #expect(
            try explained(
                samples().where(.any([.equal("age", .int64(1)), .equal("age", .int64(2))])))
                == "index age in 2 values, then sort in memory by record key")
        #expect(
            try explained(
                samples().where(.less("age", than: .int64(1)))
                    .where(.greater("age", than: .int64(3)))) == "nothing can match")
    }

    @Test func `an index gives the order where that saves work`() throws {
        #expect(try explained(samples().sorted(by: "age")) == "index age")
        #expect(
            try explained(samples().where(.equal("size", .int64(1))).sorted(by: "age"))
                == "scan Sample, then filter 1 condition, then sort in memory by age")
        #expect(
            try explained(
                samples().where(.equal("size", .int64(1))).sorted(by: "age", order: .reverse)
                    .limit(3))
                == "index age backwards, then filter 1 condition, "
                + "then sort records with the same age descending by record key, "
                + "then stop after 3")
        #expect(
            try explained(samples().sorted(by: "age").sorted(by: "size").limit(3).offset(1))
                == "index age, then sort records with the same age by size, then skip 1, "
                + "then stop after 3")
    }

    @Test func `an ordered read stops at the limit`() throws {
        var generator = SeededGenerator(seed: 9)
        let source = try MemorySource(generator.samples(count: 200))
        _ = try source.fetch(samples().sorted(by: "age").limit(5))
        #expect(source.entryReadCount == 5)
        #expect(source.rowReadCount == 5)
    }

    @Test func `a count by an exact index reads no row`() throws {
        var generator = SeededGenerator(seed: 9)
        let source = try MemorySource(generator.samples(count: 200))
        let plan = try plan(samples().where(.atLeast("age", .int64(3))))
        let count = try QueryExecutor.count(plan, on: source)
        #expect(count == source.entryReadCount)
        #expect(source.rowReadCount == 0)
    }

    @Test func `bad queries are refused with the reason`() {
        #expect(code(samples().limit(-1)) == .negativeCount)
        #expect(code(samples().offset(-1)) == .negativeCount)
        #expect(code(samples().where(.equal("wage", .int64(1)))) == .unknownAttribute)
        #expect(code(samples().sorted(by: "wage")) == .unknownAttribute)
        #expect(code(samples().where(.equal("age", .string("x")))) == .typeMismatch)
        #expect(code(samples().where(.contains("age", "x"))) == .typeMismatch)
        #expect(code(RecordQuery(entity: "Other")) == .unknownEntity)
    }

    @Test func `predicates and sorts that can't be translated are refused with the reason`() {
        func error(_ query: Query<Sample>) -> QueryError? {
            do {
                _ = try query.lowered()
                return nil
            } catch {
                return error as? QueryError
            }
        }
        let computed = error(Query().sorted(by: \.initial))
        #expect(computed?.code == .unknownAttribute)
        let last = error(Query().where(#Predicate<Sample> { $0.initial == "a" }))
        #expect(last?.code == .unknownAttribute)
        let scheme = error(Query().where(#Predicate<Sample> { $0.boss?.description == "a" }))
        #expect(scheme?.code == .unsupportedExpression)
        #expect(scheme?.message.contains("boss") == true)
    }

    @Test func `unwrapping nil and overflow are errors, not traps`() throws {
        var sample = Sample(id: "r1")
        sample.age = .max
        let source = try MemorySource([sample])
        // swift-format-ignore: NeverForceUnwrap
        let nilUnwrapped = Query<Sample>().where(#Predicate { $0.grade! > 1 })
        #expect(throws: QueryError.self) { try source.fetch(nilUnwrapped) }
        let overflow = Query<Sample>().where(#Predicate { $0.age + 1 > 1 })
        #expect(throws: QueryError.self) { try source.fetch(overflow) }
    }

    @Test func `a to-many relationship is a query over the inverse`() throws {
        var samples = [Sample(id: "r1"), Sample(id: "r2"), Sample(id: "r3")]
        samples[1].boss = "r1"
        let source = try MemorySource(samples)
        let team = ToMany<Sample>(owner: samples[0].id, inverse: \Sample.boss)
        #expect(try source.fetch(team.query.sorted(by: \.name)).map(\.id) == ["r2"])
        #expect(try explained(team.query.lowered()) == "inverse boss = r1")
    }

    private func counted(_ query: RecordQuery, count: Int = 2000) throws -> String {
        let samples = (0..<count).map { number in
            var sample = Sample(id: EntityID("r\(number)"))
            sample.age = number % 4
            sample.grade = Int16(number % 5)
            sample.size = Int32(number)
            sample.score = Double(number % 500)
            sample.isOn = number % 50 == 0
            return sample
        }
        let source = try MemorySource(samples)
        var costs = PlanningCosts()
        costs.rowCostInScannedRows = 3
        let plan = try QueryPlan(query, in: entity, costs: costs, on: source)
        return try plan.explanation(runningOn: source).steps.joined(separator: ", then ")
    }

    @Test func `counting finds the index with the fewest entries`() throws {
        #expect(
            try counted(
                samples().where(.equal("age", .int64(0))).where(.less("score", than: .double(3))))
                == "index score < 3.0, about 12 entries, then filter 1 condition, "
                + "then sort in memory by record key, "
                + "then read 12 index entries and 16 rows for 4 records")
    }

    @Test func `a scan is taken where most rows match`() throws {
        #expect(
            try counted(samples().where(.less("age", than: .int64(3))))
                == "scan Sample, then filter 1 condition, "
                + "then read 0 index entries and 2000 rows for 1500 records")
    }

    @Test(arguments: Comparison.allCases)
    func `a scan reads nothing beside bounds of the record key`(comparison: Comparison) throws {
        let samples = (0..<20).map { Sample(id: EntityID("n\(100 + $0)")) }
        let source = try MemorySource(samples)
        let bound = RecordKey("n107")
        let query = RecordQuery(entity: "Sample").adding(
            .comparison(.recordKey, comparison, .constant(.reference(bound))))
        let plan = try QueryPlan(query, in: source.binding, on: source)
        let before = source.rowReadCount
        var found: [RecordKey] = []
        try QueryExecutor.visitKeys(plan, on: source) {
            found.append(try #require(RecordKey(reading: $0)))
            return true
        }
        let expected = samples.map(\.id.key).filter { key in
            switch comparison {
            case .equal: key == bound
            case .notEqual: key != bound
            case .less: key < bound
            case .lessOrEqual: key <= bound
            case .greater: key > bound
            case .greaterOrEqual: key >= bound
            }
        }
        #expect(found == expected)
        if comparison.isOrder { #expect(source.rowReadCount - before == expected.count) }
    }

    @Test func `two indexes together read fewer rows`() throws {
        #expect(
            try counted(
                samples().where(.equal("age", .int64(0))).where(.equal("grade", .int64(0))))
                == "all of (index grade, index age), about 400 entries, "
                + "then read 900 index entries and 100 rows for 100 records")
    }

    @Test func `alternatives are put together from their indexes`() throws {
        #expect(
            try counted(
                samples().where(
                    .any([.less("score", than: .double(2)), .equal("isOn", .bool(true))])))
                == "any of (index score, index isOn), about 48 entries, "
                + "then read 48 index entries and 44 rows for 44 records")
        // One alternative without an index needs every row.
        #expect(
            try counted(
                samples().where(
                    .any([.equal("age", .int64(0)), .equal("size", .int64(1))])))
                == "scan Sample, then filter 1 condition, "
                + "then read 0 index entries and 2000 rows for 501 records")
    }

    @Test func `elements of captured collections are constants`() throws {
        let ages = [3, 5]
        let names = ["a": "x"]
        let query = try Query<Sample>()
            .where(#Predicate { $0.age == ages[1] && $0.nick == names["a"] }).lowered()
        #expect(
            try explained(query) == "index nick = \"x\", then filter 1 condition"
                || explained(query) == "index age = 5, then filter 1 condition")
    }
}
