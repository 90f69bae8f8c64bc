import Foundation
import TestBudget
import Testing

@testable import BackstitchCore

/// Indexes of several attributes and of folded texts, and queries of folded texts and of periods, against
/// plain evaluation of the samples.
///
/// `QUERY_ROUNDS` sets the number of queries.
@Suite(.budgeted) struct QueryIndexTests {
    static let compounds: [[String]] = [
        ["fold(name)"], ["level", "name"], ["isOn", "age", "born"], ["fold(nick)", "grade"],
        ["boss", "name", "nick"], ["name", "nick", "blob", "link"], ["price", "token"],
        ["flag", "score", "fold(name)"], ["seen", "ratio", "bonus"],
    ]

    struct Failed: Error, CustomStringConvertible {
        var description: String
    }

    /// A condition by names, and what it means.
    struct Leaf {
        var condition: RecordQuery.Condition
        var holds: (Sample) -> Bool
    }

    @Test(arguments: 0..<max(1, QueryTreeTests.rounds / 100))
    func `answers by indexes of several attributes and folded texts are those of evaluation`(
        seed: Int
    ) throws {
        var generator = SeededGenerator(seed: UInt64(seed) &+ 77)
        let samples = generator.samples(count: 80)
        let sources = [
            try MemorySource(
                samples, binding: Sample.binding(isIndexed: false, compounds: Self.compounds)),
            try MemorySource(samples, binding: Sample.binding(compounds: Self.compounds)),
            try MemorySource(samples, binding: Sample.binding(isIndexed: false)),
        ]
        for _ in 0..<100 {
            var query = RecordQuery(entity: "Sample")
            var expected = samples
            for _ in 0..<generator.pick([0, 1, 2, 2, 3]) {
                let leaf = generator.leaf(samples)
                query = query.where(leaf.condition)
                expected = expected.filter(leaf.holds)
            }
            var sorts: [(name: String, isReversed: Bool)] = []
            for _ in 0..<generator.pick([0, 1, 1, 2]) {
                let sort = (generator.pick(Self.sorts), generator.chance(0.5))
                query = query.sorted(by: sort.0, order: sort.1 ? .reverse : .forward)
                sorts.append(sort)
            }
            expected.sort { left, right in
                for sort in sorts {
                    let order = Self.order(left, right, sort.name)
                    if order != 0 { return sort.isReversed ? order > 0 : order < 0 }
                }
                return left.id < right.id
            }
            if generator.chance(0.3) {
                let (offset, limit) = (
                    Int.random(in: 0...6, using: &generator),
                    Int.random(in: 1...10, using: &generator)
                )
                query = query.offset(offset).limit(limit)
                expected = Array(expected.dropFirst(offset).prefix(limit))
            }
            for source in sources {
                let size = Int.random(in: 1...9, using: &generator)
                for (way, found) in [
                    ("by form", try source.fetch(query)),
                    ("by count", try source.fetch(query, counting: .random(&generator))),
                    ("in pages", try source.pages(query, size: size)),
                ] where found != expected {
                    let plan = try QueryPlan(query, in: source.binding, on: source)
                    throw Failed(
                        description: "seed \(seed) \(way): \(found.map(\.id)) instead of "
                            + "\(expected.map(\.id)); \(plan.explanation); \(query)")
                }
            }
        }
    }

    static let sorts = [
        "fold(name)", "fold(nick)", "name", "nick", "age", "born", "level", "grade", "token",
        "score", "ratio", "day(born)", "month(seen)",
    ]

    /// The value of a sort key, as `OrderedKey` orders it.
    static func key(_ sample: Sample, _ name: String) -> [UInt8] {
        let value: RecordValue
        let type: AttributeType
        switch name {
        case "fold(name)": (value, type) = (.string(TextFolding.fold(sample.name)), .string)
        case "fold(nick)":
            (value, type) = (sample.nick.map { .string(TextFolding.fold($0)) } ?? .null, .string)
        case "name": (value, type) = (.string(sample.name), .string)
        case "nick": (value, type) = (sample.nick._recordValue, .string)
        case "age": (value, type) = (sample.age._recordValue, .int64)
        case "born": (value, type) = (sample.born._recordValue, .date)
        case "level": (value, type) = (sample.level._recordValue, .int64)
        case "grade": (value, type) = (sample.grade._recordValue, .int16)
        case "token": (value, type) = (sample.token._recordValue, .uuid)
        case "score": (value, type) = (sample.score._recordValue, .double)
        case "ratio": (value, type) = (sample.ratio._recordValue, .float)
        case "day(born)":
            (value, type) = (DatePeriod.day.start(of: sample.born)._recordValue, .date)
        default:
            (value, type) = (
                sample.seen.map { DatePeriod.month.start(of: $0) }._recordValue, .date
            )
        }
        var buffer = ByteBuffer()
        OrderedKey.append(value, type: type, to: &buffer, textBytesMax: .max)
        return [UInt8](buffer.bytes)
    }

    static func order(_ left: Sample, _ right: Sample, _ name: String) -> Int {
        let (left, right) = (key(left, name), key(right, name))
        return left == right ? 0 : left.lexicographicallyPrecedes(right) ? -1 : 1
    }

    @Test func `an equality and a range read only the entries between them`() throws {
        var generator = SeededGenerator(seed: 3)
        var samples = generator.samples(count: 400)
        for index in samples.indices {
            samples[index].isOn = index % 2 == 0
            samples[index].age = index
        }
        let source = try MemorySource(
            samples, binding: Sample.binding(isIndexed: false, compounds: [["isOn", "age"]]))
        let query = RecordQuery(entity: "Sample").where(.equal("isOn", .bool(true)))
            .where(.atLeast("age", .int64(100))).where(.less("age", than: .int64(120)))
            .sorted(by: "age")
        #expect(try source.fetch(query).map(\.age) == Array(stride(from: 100, to: 120, by: 2)))
        #expect(source.entryReadCount == 10 && source.rowReadCount == 10)
        let plan = try QueryPlan(query, in: source.binding)
        #expect(
            plan.explanation.description
                == "index (isOn, age) isOn = true and age ≥ 100 and age < 120")
        // The order alone, of those with one value.
        let first = RecordQuery(entity: "Sample").where(.equal("isOn", .bool(false)))
            .sorted(by: "age", order: .reverse).limit(3)
        #expect(try source.fetch(first).map(\.age) == [399, 397, 395])
        #expect(
            try QueryPlan(first, in: source.binding).explanation.steps.first
                == "index (isOn, age) isOn = false backwards")
        #expect(source.rowReadCount < 20)
    }

    @Test func `a folded index answers equality, prefix and order, and explain says so`() throws {
        var generator = SeededGenerator(seed: 4)
        var samples = generator.samples(count: 6)
        let names = ["Ångström", "ANGSTROM", "angel", "Zoë", "zoe", "Ærø"]
        for (index, name) in names.enumerated() { samples[index].name = name }
        let source = try MemorySource(
            samples, binding: Sample.binding(isIndexed: false, compounds: [["fold(name)"]]))
        func found(_ query: RecordQuery) throws -> [String] {
            try source.fetch(query).map(\.name)
        }
        let all = RecordQuery(entity: "Sample")
        let same = all.where(.equal("fold(name)", .string("aNGSTRÖM")))
        #expect(try Set(found(same)) == ["Ångström", "ANGSTROM"])
        #expect(
            try QueryPlan(same, in: source.binding).explanation.description
                == "index fold(name) = \"angstrom\"")
        #expect(
            try Set(found(all.where(.starts("fold(name)", with: "ANG"))))
                == ["Ångström", "ANGSTROM", "angel"])
        #expect(try found(all.sorted(by: "fold(name)").sorted(by: "name")).first == "angel")
        #expect(try Set(found(all.where(.contains("fold(name)", "OE")))) == ["Zoë", "zoe"])
        #expect(
            try Set(found(all.where(.member("fold(name)", of: [.string("ZOË"), .string("x")]))))
                == ["Zoë", "zoe"])
        #expect(
            try Set(found(all.where(.notEqual("fold(name)", .string("ZOE")))))
                == Set(names).subtracting(["Zoë", "zoe"]))
    }

    @Test(arguments: [
        ("fold(age)", QueryError.Code.typeMismatch), ("fold(x)", .unknownAttribute),
        ("day(name)", .typeMismatch), ("hour(born)", .unknownAttribute),
        ("day(born, Nowhere/Land)", .unknownAttribute), ("fold(fold(name))", .typeMismatch),
        ("fold()", .unknownAttribute), ("week(born, GMT, iso8601, 9)", .unknownAttribute),
    ])
    func `what can't be derived is an error`(name: String, code: QueryError.Code) {
        let query = RecordQuery(entity: "Sample").where(.equal(name, .null))
        let error = #expect(throws: QueryError.self) {
            _ = try QueryPlan(query, in: Sample.binding())
        }
        #expect(error?.code == code)
    }
}

extension SeededGenerator {
    /// A test of an attribute that some index has.
    fileprivate mutating func leaf(_ samples: [Sample]) -> QueryIndexTests.Leaf {
        let sample = pick(samples)
        let text = chance(0.5) ? sample.name : text()
        let folded = TextFolding.fold(text)
        switch Int.random(in: 0..<14, using: &self) {
        case 0:
            return QueryIndexTests.Leaf(condition: .equal("fold(name)", .string(text))) {
                TextFolding.fold($0.name) == folded
            }
        case 1:
            let nick = chance(0.3) ? nil : chance(0.5) ? sample.nick : text
            return QueryIndexTests.Leaf(condition: .equal("fold(nick)", nick._recordValue)) {
                $0.nick.map(TextFolding.fold) == nick.map(TextFolding.fold)
            }
        case 2:
            return QueryIndexTests.Leaf(condition: .starts("fold(name)", with: text)) {
                TextFolding.fold($0.name).starts(with: folded)
            }
        case 3:
            return QueryIndexTests.Leaf(condition: .contains("fold(name)", text)) {
                TextConstant.characters(of: TextFolding.fold($0.name), contain: folded)
            }
        case 4:
            return QueryIndexTests.Leaf(condition: .less("fold(name)", than: .string(text))) {
                TextFolding.fold($0.name).precedesInNormalForm(folded)
            }
        case 5:
            return QueryIndexTests.Leaf(condition: .equal("name", .string(text))) {
                $0.name == text
            }
        case 6:
            let level = Int.random(in: 4...9, using: &self)
            return QueryIndexTests.Leaf(condition: .equal("level", .int64(Int64(level)))) {
                $0.level == level
            }
        case 7:
            let isOn = chance(0.5)
            return QueryIndexTests.Leaf(condition: .equal("isOn", .bool(isOn))) {
                $0.isOn == isOn
            }
        case 8:
            let age = integer()
            return QueryIndexTests.Leaf(condition: .atLeast("age", .int64(Int64(age)))) {
                $0.age >= age
            }
        case 9:
            let age = chance(0.7) ? sample.age : integer()
            return QueryIndexTests.Leaf(condition: .equal("age", .int64(Int64(age)))) {
                $0.age == age
            }
        case 10:
            let boss = chance(0.3) ? sample.boss : id()
            return QueryIndexTests.Leaf(condition: .equal("boss", boss._recordValue)) {
                $0.boss == boss
            }
        case 11:
            let flag = optional { $0.chance(0.5) }
            return QueryIndexTests.Leaf(condition: .equal("flag", flag._recordValue)) {
                $0.flag == flag
            }
        case 12:
            let day = DatePeriod.day.start(of: date())
            return QueryIndexTests.Leaf(condition: .equal("day(born)", day._recordValue)) {
                DatePeriod.day.start(of: $0.born) == day
            }
        default:
            let price = chance(0.5) ? sample.price : decimal()
            return QueryIndexTests.Leaf(condition: .equal("price", price._recordValue)) {
                $0.price == price
            }
        }
    }
}
