import Foundation
import TestBudget
import Testing

@testable import BackstitchCore

/// Typed conditions: they answer as Swift does, whatever is indexed.
@Suite(.budgeted) struct QueryConditionTests {
    private struct Case {
        let name: String
        let query: Query<Sample>
        let holds: (Sample) -> Bool

        init(
            _ name: String, _ query: Query<Sample>, _ holds: @escaping (Sample) -> Bool
        ) {
            self.name = name
            self.query = query
            self.holds = holds
        }
    }

    private static func cases(_ some: Sample, _ other: Sample) -> [Case] {
        let all = Query<Sample>()
        let (low, high) = (min(some.age, other.age), max(some.age, other.age))
        let (early, late) = (min(some.born, other.born), max(some.born, other.born))
        let between = some.born.addingTimeInterval(0.000_4)
        let seen = some.seen ?? other.born
        let grade = some.grade ?? 3
        let start = String(some.name.prefix(1))
        let label = some.labels.first ?? "none"
        return [
            Case("is", all.where(\.age, is: some.age)) { $0.age == some.age },
            Case("is, id", all.where(\.id, is: some.id)) { $0.id == some.id },
            Case("is, optional", all.where(\.nick, is: some.nick)) { $0.nick == some.nick },
            Case("is nil", all.where(\.nick, is: nil)) { $0.nick == nil },
            Case("is, list", all.where(\.labels, is: some.labels)) { $0.labels == some.labels },
            Case("is, place", all.where(\.place, is: some.place)) { $0.place == some.place },
            Case("is, data", all.where(\.blob, is: some.blob)) { $0.blob == some.blob },
            Case("is, reference", all.where(\.boss, is: some.boss)) { $0.boss == some.boss },
            Case("is, between milliseconds", all.where(\.born, is: between)) {
                $0.born == some.born
            },
            Case("is not", all.where(\.token, isNot: some.token)) { $0.token != some.token },
            Case("is not, optional", all.where(\.grade, isNot: grade)) { $0.grade != grade },
            Case("is not nil", all.where(\.seen, isNot: nil)) { $0.seen != nil },
            Case("less", all.where(\.score, lessThan: some.score)) { $0.score < some.score },
            Case("at most", all.where(\.price, atMost: some.price)) { $0.price <= some.price },
            Case("greater", all.where(\.size, greaterThan: some.size)) { $0.size > some.size },
            Case("at least, optional", all.where(\.grade, atLeast: grade)) {
                $0.grade.map { $0 >= grade } ?? false
            },
            Case("less, between milliseconds", all.where(\.born, lessThan: between)) {
                $0.born < some.born
            },
            Case("at least, optional date", all.where(\.seen, atLeast: seen)) {
                $0.seen.map { $0 >= seen } ?? false
            },
            Case("range", all.where(\.age, in: low..<high)) { (low..<high).contains($0.age) },
            Case("closed range", all.where(\.born, in: early...late)) {
                (early...late).contains($0.born)
            },
            Case("range of an optional", all.where(\.grade, in: 0..<grade.magnitudeOrOne)) {
                $0.grade.map { (0..<grade.magnitudeOrOne).contains($0) } ?? false
            },
            Case("values", all.where(\.name, in: [some.name, other.name])) {
                [some.name, other.name].contains($0.name)
            },
            Case("values with nil", all.where(\.nick, in: [some.nick, nil])) {
                [some.nick, nil].contains($0.nick)
            },
            Case("values, dates", all.where(\.born, in: [between, other.born])) {
                $0.born == some.born || $0.born == other.born
            },
            Case("no values", all.where(\.age, in: [])) { _ in false },
            Case("contains", all.where(\.name, contains: start)) {
                start.isEmpty || $0.name.contains(Character(start))
            },
            Case("starts", all.where(\.name, startsWith: start)) { $0.name.starts(with: start) },
            Case("starts, optional", all.where(\.nick, startsWith: "a")) {
                $0.nick?.starts(with: "a") ?? false
            },
            Case("contains, optional", all.where(\.nick, contains: "a")) {
                $0.nick.map { Array($0).contains("a") } ?? false
            },
            Case("element", all.where(\.labels, contains: label)) { $0.labels.contains(label) },
            Case("element of an optional list", all.where(\.shorts, contains: 1)) {
                $0.shorts?.contains(1) ?? false
            },
            Case("two", all.where(\.age, atLeast: low).where(\.isOn, is: true)) {
                $0.age >= low && $0.isOn
            },
            Case(
                "any, all, not",
                all.where(
                    .any([
                        .all([
                            QueryCondition().where(\.age, is: low),
                            QueryCondition().where(\.isOn, is: false),
                        ]),
                        .not(QueryCondition().where(\.grade, is: nil).where(\.age, lessThan: high)),
                    ]))
            ) { ($0.age == low && !$0.isOn) || !($0.grade == nil && $0.age < high) },
            Case("none of any", all.where(.any([]))) { _ in false },
            Case("all of none", all.where(.all([]))) { _ in true },
            Case("no condition", all.where(QueryCondition())) { _ in true },
            Case("beside a predicate", all.where(#Predicate { $0.isOn }).where(\.age, atMost: high))
            {
                $0.isOn && $0.age <= high
            },
        ]
    }

    @Test(arguments: 0..<40)
    func `typed conditions answer as Swift does`(seed: Int) throws {
        var generator = SeededGenerator(seed: UInt64(seed) &* 7_919 &+ 3)
        let samples = generator.samples(count: 50)
        let sources = [
            try MemorySource(samples),
            try MemorySource(samples, binding: Sample.binding(isIndexed: false)),
        ]
        for test in Self.cases(samples[seed % 50], samples[(seed * 7 + 1) % 50]) {
            let expected = samples.filter(test.holds).map(\.id).sorted()
            for source in sources {
                let found = try source.fetch(test.query).map(\.id).sorted()
                #expect(found == expected, "\(test.name)")
            }
        }
    }

    /// Typed conditions with NaN, each beside the predicate that says the same.
    private static let nanCases:
        [(name: String, typed: Query<Sample>, predicate: Predicate<Sample>)] = {
            let (odd, small, none) = (Double.nan, Float.nan, Decimal.nan)
            let all = Query<Sample>()
            return [
                ("is", all.where(\.score, is: odd), #Predicate { $0.score == odd }),
                ("is not", all.where(\.score, isNot: odd), #Predicate { $0.score != odd }),
                ("less", all.where(\.score, lessThan: odd), #Predicate { $0.score < odd }),
                ("at most", all.where(\.score, atMost: odd), #Predicate { $0.score <= odd }),
                ("greater", all.where(\.score, greaterThan: odd), #Predicate { $0.score > odd }),
                ("at least", all.where(\.score, atLeast: odd), #Predicate { $0.score >= odd }),
                (
                    "values", all.where(\.score, in: [odd, 1]),
                    #Predicate { [odd, 1].contains($0.score) }
                ),
                (
                    "not less", all.where(.not(QueryCondition().where(\.score, lessThan: odd))),
                    #Predicate { !($0.score < odd) }
                ),
                ("is, Float?", all.where(\.ratio, is: small), #Predicate { $0.ratio == small }),
                (
                    "is not, Float?", all.where(\.ratio, isNot: small),
                    #Predicate { $0.ratio != small }
                ),
                ("is, Decimal", all.where(\.price, is: none), #Predicate { $0.price == none }),
                (
                    "is not, Decimal", all.where(\.price, isNot: none),
                    #Predicate { $0.price != none }
                ),
                (
                    "less, Decimal", all.where(\.price, lessThan: none),
                    #Predicate { $0.price < none }
                ),
                (
                    "at least, Decimal", all.where(\.price, atLeast: none),
                    #Predicate { $0.price >= none }
                ),
            ]
        }()

    @Test func `conditions with NaN answer as predicates do`() throws {
        var generator = SeededGenerator(seed: 11)
        let samples = generator.samples(count: 60)
        for isIndexed in [true, false] {
            let source = try MemorySource(samples, binding: Sample.binding(isIndexed: isIndexed))
            for test in Self.nanCases {
                let expected = try samples.filter { try test.predicate.evaluate($0) }
                let typed = try source.fetch(test.typed).map(\.id).sorted()
                let translated = try source.fetch(Query<Sample>().where(test.predicate))
                #expect(typed == expected.map(\.id).sorted(), "\(test.name)")
                #expect(typed == translated.map(\.id).sorted(), "\(test.name)")
            }
        }
    }

    @Test func `conditions that a loop collects are one list`() throws {
        var generator = SeededGenerator(seed: 12)
        let samples = generator.samples(count: 40)
        let source = try MemorySource(samples)
        var any = QueryCondition<Sample>().where(\.age, is: -1)
        var named = RecordQuery.Condition.equal("age", .int64(-1))
        for number in 0..<5_000 {
            any = .any([any, QueryCondition<Sample>().where(\.age, is: number)])
            named = .any([named, .equal("age", .int64(Int64(number)))])
        }
        var all = QueryCondition<Sample>()
        for number in 0..<500 { all = all.where(\.age, isNot: number) }
        let found = samples.filter { (-1..<5_000).contains($0.age) }.map(\.id).sorted()
        let others = samples.filter { !(0..<500).contains($0.age) }.map(\.id).sorted()
        #expect(try source.fetch(Query<Sample>().where(any)).map(\.id).sorted() == found)
        let query = RecordQuery(entity: "Sample").where(named)
        #expect(try source.fetch(query).map(\.id).sorted() == found)
        #expect(try source.fetch(Query<Sample>().where(all)).map(\.id).sorted() == others)
    }

    /// Conditions that are nested in turn, so that no two lists of one kind meet.
    private func nested(
        _ count: Int
    ) -> (typed: QueryCondition<Sample>, named: RecordQuery.Condition) {
        let three = QueryCondition<Sample>().where(\.age, is: 3)
        let four = QueryCondition<Sample>().where(\.age, is: 4)
        var typed = three
        var named = RecordQuery.Condition.equal("age", .int64(3))
        for _ in 0..<count {
            typed = .any([.all([typed, .not(four)]), three])
            named = .any([
                .all([named, .notEqual("age", .int64(4))]), .equal("age", .int64(3)),
            ])
        }
        return (typed, named)
    }

    @Test func `conditions may be nested, and too deep is an error`() throws {
        var generator = SeededGenerator(seed: 13)
        let samples = generator.samples(count: 40)
        let source = try MemorySource(samples)
        let some = nested(20)
        let found = samples.filter { $0.age == 3 }.map(\.id).sorted()
        #expect(try source.fetch(Query<Sample>().where(some.typed)).map(\.id).sorted() == found)
        let query = RecordQuery(entity: "Sample").where(some.named)
        #expect(try source.fetch(query).map(\.id).sorted() == found)
        let many = nested(1_000)
        var related = QueryCondition<Sample>()
        for _ in 0..<1_000 { related = QueryCondition<Sample>().where(\.boss, fulfils: related) }
        for query in [Query<Sample>().where(many.typed), Query<Sample>().where(related)] {
            let error = #expect(throws: QueryError.self) { _ = try source.fetch(query) }
            #expect(error?.code == .unsupportedExpression)
            #expect(error?.message.contains("200") == true)
        }
        let named = RecordQuery(entity: "Sample").where(many.named)
        let error = #expect(throws: QueryError.self) { _ = try source.fetch(named) }
        #expect(error?.message.contains("200") == true)
        #expect(throws: QueryError.self) { _ = try QueryFilter(named, in: source.binding) }
    }

    @Test func `a key path that is not stored and a date that is none fail when the query runs`() {
        func code(_ query: Query<Sample>) -> QueryError.Code? {
            do {
                _ = try query.lowered()
                return nil
            } catch {
                return (error as? QueryError)?.code
            }
        }
        #expect(code(Query().where(\.initial, is: "a")) == .unknownAttribute)
        #expect(
            code(Query().where(\.born, lessThan: Date(timeIntervalSince1970: .nan)))
                == .typeMismatch)
        #expect(code(Query().where(.not(QueryCondition().where(\.initial, is: "a")))) != nil)
    }
}

extension Int16 {
    fileprivate var magnitudeOrOne: Int16 { Swift.max(1, self == .min ? .max : abs(self)) }
}
