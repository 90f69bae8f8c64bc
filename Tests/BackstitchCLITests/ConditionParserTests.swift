import Backstitch
import BackstitchCore
import Foundation
import Terminal
import TestBudget
import Testing

@testable import BackstitchCLI

@Entity("Thing") struct ConditionThing {
    var id = ID()
    var text: String
    var flag: Bool
    var number: Int
    var real: Double
    var price: Decimal
    var day: Date
    var code: UUID
    var bytes: Data
    var lap: Duration
    var other: ID?
    var words: [String]
    var and: Int
}

@Suite(.budgeted) struct ConditionParserTests {
    static let catalog: [CatalogEntity] = {
        let store = try? Store.inMemory(schema: StoreSchema(ConditionThing.self))
        return store?.catalog.entities ?? []
    }()
    static var entity: CatalogEntity? { catalog.first }

    private func parse(_ text: String) throws -> RecordQuery.Condition {
        try ConditionParser.parse(text, of: try #require(Self.entity), in: Self.catalog)
    }

    private func failure(_ text: String) throws -> ConditionError? {
        do {
            _ = try parse(text)
            return nil
        } catch {
            return error as? ConditionError
        }
    }

    @Test(
        arguments: [
            ("number = 1", .equal("number", .int64(1))),
            ("number != -1", .notEqual("number", .int64(-1))),
            ("real<1.5e3", .less("real", than: .double(1500))),
            ("price >= 0.1", .atLeast("price", .decimal(Decimal(string: "0.1") ?? 0))),
            ("flag = TRUE", .equal("flag", .bool(true))),
            ("text = 'it\\'s'", .equal("text", .string("it's"))),
            ("text = \"a\\n'b'\"", .equal("text", .string("a\n'b'"))),
            ("text contains 'x'", .contains("text", "x")),
            ("text StartsWith \"x\"", .starts("text", with: "x")),
            ("other is null", .equal("other", .null)),
            ("words is empty", .count("words", 0)),
            ("text is not empty", .count("text", 1...)),
            ("count(words) >= 2", .count("words", 2...)),
            ("any(words)", .count("words", 1...)),
            (
                "any(words where value > 'a' and value startsWith 'b')",
                .anyElement(
                    of: "words",
                    .all([
                        .greater(RecordQuery.Condition.element, than: .string("a")),
                        .starts(RecordQuery.Condition.element, with: "b"),
                    ]))
            ),
            ("other.number = 1", .equal("other.number", .int64(1))),
            ("other . other.`and` < 2", .less("other.other.and", than: .int64(2))),
            (
                "other.recordName = 'a'", .equal("other", .reference(RecordKey(RecordName("a"))))
            ),
            (
                "any(Thing.other where number = 1) or flag = true",
                .any([
                    .referrers(
                        "Thing", by: "other", 1..., fulfilling: .equal("number", .int64(1))),
                    .equal("flag", .bool(true)),
                ])
            ),
            ("count(Thing.other) <= 3", .referrers("Thing", by: "other", ...3)),
            ("other IS NOT NULL", .notEqual("other", .null)),
            ("other = 'a'", .equal("other", .reference(RecordKey(RecordName("a"))))),
            ("day > '1970-01-02'", .greater("day", than: .date(milliseconds: 86_400_000))),
            ("day = '1970-01-01T00:00:01Z'", .equal("day", .date(milliseconds: 1000))),
            ("day = '1970-01-01T00:00:01.005Z'", .equal("day", .date(milliseconds: 1005))),
            ("lap > 1.5s", .greater("lap", than: .duration(nanoseconds: 1_500_000_000))),
            ("lap = -20ms", .equal("lap", .duration(nanoseconds: -20_000_000))),
            ("lap < 2h", .less("lap", than: .duration(nanoseconds: 7_200_000_000_000))),
            (
                "lap = 9223372036854775807ns",
                .equal("lap", .duration(nanoseconds: .max))
            ),
            ("bytes = 'AQI='", .equal("bytes", .bytes(Data([1, 2])))),
            ("number in (1, 2,null)", .member("number", of: [.int64(1), .int64(2), .null])),
            ("number not in (1)", .not(.member("number", of: [.int64(1)]))),
            ("`and` = 1", .equal("and", .int64(1))),
            ("recordName = 'a'", .records([RecordKey(RecordName("a"))])),
            (
                "recordName in ('a', 'b')",
                .records([RecordKey(RecordName("a")), RecordKey(RecordName("b"))])
            ),
            (
                "number between 1 and 2 and flag = true",
                .all([
                    .all([.atLeast("number", .int64(1)), .atMost("number", .int64(2))]),
                    .equal("flag", .bool(true)),
                ])
            ),
            (
                "number = 1 or number = 2 and not flag = true",
                .any([
                    .equal("number", .int64(1)),
                    .all([.equal("number", .int64(2)), .not(.equal("flag", .bool(true)))]),
                ])
            ),
            (
                "(number = 1 or number = 2) and flag = true",
                .all([
                    .any([.equal("number", .int64(1)), .equal("number", .int64(2))]),
                    .equal("flag", .bool(true)),
                ])
            ),
        ] as [(String, RecordQuery.Condition)])
    func `text is read as documented`(text: String, expected: RecordQuery.Condition) throws {
        #expect(try parse(text) == expected)
    }

    @Test(
        arguments: [
            ("", 0), ("number", 6), ("number =", 8), ("number = 'x'", 9), ("number = 1.5", 9),
            ("number = 9223372036854775808", 9), ("nothing = 1", 0), ("number = 1 flag", 11),
            ("(number = 1", 11), ("number ! 1", 7), ("text = 'x", 7), ("text = '\\x'", 8),
            ("text contains 1", 14), ("number contains 'x'", 7), ("number in 1", 10),
            ("number in (1", 12), ("number in ()", 11), ("day = '1970-13-01'", 6),
            ("code = 'x'", 7),
            ("bytes = '*'", 8), ("flag = 2", 7), ("number is 1", 10), ("number between 1 or 2", 17),
            ("recordName < 'a'", 11), ("recordName is null", 11), ("number = #", 9),
            ("real = 1e999", 7), ("number is empty", 7), ("number.text = 'x'", 0),
            ("other.nothing = 1", 6), ("any(number)", 4), ("any(Thing.number)", 10),
            ("any(words where number = 1)", 16), ("count(words) = 'a'", 15), ("count(words)", 12),
            ("any(words", 9),
        ] as [(String, Int)])
    func `an error points at its place`(text: String, position: Int) throws {
        #expect(try failure(text)?.position == position, "\(text)")
    }

    @Test func `an error is shown with a mark under its place`() throws {
        let text = "number = 1 and nothing = 2"
        #expect(
            try failure(text)?.description(in: text).hasSuffix(
                "\n  number = 1 and nothing = 2\n                 ^") == true)
    }

    @Test func `depth and length are bounded`() throws {
        let deep = String(repeating: "(", count: 10_000) + "number = 1"
        #expect(try failure(deep)?.message.contains("50 parentheses") == true)
        let negated = String(repeating: "not ", count: 10_000) + "number = 1"
        #expect(try failure(negated) != nil)
        let long = String(repeating: " ", count: ConditionParser.lengthMax + 1)
        #expect(try failure(long)?.message.contains("65536 characters") == true)
        let wide = Array(repeating: "number = 1", count: 4_000).joined(separator: " or ")
        #expect(try failure(wide) == nil)
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `a random condition is read as it was written`(seed: UInt64) throws {
        var random = ConditionRandom(seed: seed)
        for _ in 0..<30 {
            let (text, condition) = random.condition(depth: 3)
            #expect(try parse(text) == condition, "seed \(seed): \(text)")
        }
    }
}

/// Random conditions with their text, the same for the same seed.
private struct ConditionRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return (state >> 32) | (state << 32)
    }

    mutating func condition(depth: Int) -> (String, RecordQuery.Condition) {
        switch Int.random(in: 0..<(depth > 0 ? 7 : 4), using: &self) {
        case 0: return comparison()
        case 1:
            let literals = (0..<Int.random(in: 1...4, using: &self)).map { _ in literal("number") }
            let list = literals.map(\.0).joined(separator: ", ")
            return ("number in (\(list))", .member("number", of: literals.map(\.1)))
        case 2:
            let (quoted, value) = literal("text")
            guard case .string(let text) = value else { return comparison() }
            return Bool.random(using: &self)
                ? ("text contains \(quoted)", .contains("text", text))
                : ("text startsWith \(quoted)", .starts("text", with: text))
        case 3:
            return Bool.random(using: &self)
                ? ("other is null", .equal("other", .null))
                : ("other is not null", .notEqual("other", .null))
        case 4:
            let inner = condition(depth: depth - 1)
            return ("not (\(inner.0))", .not(inner.1))
        case let kind:
            let parts = (0..<Int.random(in: 2...3, using: &self)).map { _ in
                condition(depth: depth - 1)
            }
            let word = kind == 5 ? " and " : " or "
            let text = parts.map { "(\($0.0))" }.joined(separator: word)
            return (text, kind == 5 ? .all(parts.map(\.1)) : .any(parts.map(\.1)))
        }
    }

    private mutating func comparison() -> (String, RecordQuery.Condition) {
        let names = ["text", "flag", "number", "real", "price", "day", "code", "bytes", "other"]
        let name = names[Int.random(in: 0..<names.count, using: &self)]
        let (text, value) = literal(name)
        return switch Int.random(in: 0..<6, using: &self) {
        case 0: ("\(name) = \(text)", .equal(name, value))
        case 1: ("\(name) != \(text)", .notEqual(name, value))
        case 2: ("\(name) < \(text)", .less(name, than: value))
        case 3: ("\(name) <= \(text)", .atMost(name, value))
        case 4: ("\(name) > \(text)", .greater(name, than: value))
        default: ("\(name) >= \(text)", .atLeast(name, value))
        }
    }

    private mutating func literal(_ name: String) -> (String, RecordValue) {
        switch name {
        case "flag":
            let bool = Bool.random(using: &self)
            return ("\(bool)", .bool(bool))
        case "number":
            let number = Int64(bitPattern: next())
            return ("\(number)", .int64(number))
        case "real":
            let number = Double.random(in: -1e30...1e30, using: &self)
            return ("\(number)", .double(number))
        case "price":
            let number = Decimal(next()) / 1000
            return ("\(number)", .decimal(number))
        case "day":
            let seconds = Int64.random(in: 0...4_000_000_000, using: &self)
            let date = Date(timeIntervalSince1970: Double(seconds))
            return ("'\(date.utc)'", .date(milliseconds: seconds * 1000))
        case "code":
            let uuid = UUID(uuid: unsafeBitCast((next(), next()), to: uuid_t.self))
            return ("'\(uuid)'", .uuid(uuid))
        case "bytes":
            let data = withUnsafeBytes(of: next()) { Data($0) }
            return ("'\(data.base64EncodedString())'", .bytes(data))
        case "other":
            return ("'r\(state)'", .reference(RecordKey(RecordName("r\(state)"))))
        default:
            let parts = ["a", "'", "\"", "\\", "\n", "é", "😀", " and "]
            let text = (0..<4).map { _ in parts[Int.random(in: 0..<parts.count, using: &self)] }
                .joined()
            let quote: Character = Bool.random(using: &self) ? "'" : "\""
            var quoted = String(quote)
            for character in text {
                switch character {
                case quote, "\\": quoted += "\\\(character)"
                case "\n": quoted += "\\n"
                default: quoted.append(character)
                }
            }
            return (quoted + String(quote), .string(text))
        }
    }
}
