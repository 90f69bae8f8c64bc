import Foundation
import TestBudget
import Testing

@testable import BackstitchCore

@Suite(.budgeted) struct JSONParserTests {
    @Test(arguments: [
        ("null", JSONValue.null), (" true\n", .bool(true)), ("false", .bool(false)),
        ("\"\"", .string("")), ("[]", .array([])), ("{ }", .object([])),
        ("-0", .number("-0")), ("12.50e+3", .number("12.50e+3")), ("1E9", .number("1E9")),
        ("9223372036854775808", .number("9223372036854775808")),
        ("[1 ,\t\"a\"]", .array([.number("1"), .string("a")])),
        (
            "{\"b\":null,\"a\":{}}",
            .object([
                JSONValue.Member(name: "b", value: .null),
                JSONValue.Member(name: "a", value: .object([])),
            ])
        ),
        (#""\"\\\/\b\f\n\r\t""#, .string("\"\\/\u{8}\u{C}\n\r\t")),
        (#""é \u00e9 \u00E9 \ud83d\ude00!""#, .string("é é é 😀!")),
        (#""plain\u0000behind""#, .string("plain\u{0}behind")),
    ])
    func reads(text: String, value: JSONValue) throws {
        #expect(try JSONParser.parse(Array(text.utf8)) == value)
    }

    @Test(arguments: [
        ("", 0, "ends too early"), ("  ", 2, "ends too early"), ("nul", 0, "no JSON value"),
        ("truE", 0, "no JSON value"), ("?", 0, "no JSON value"), ("1 2", 2, "more behind"),
        ("01", 0, "needless zero"), ("-", 1, "digit is missing"), ("1.", 2, "digit is missing"),
        ("1e", 2, "digit is missing"), ("[1", 2, "closing bracket"), ("[1,]", 3, "no JSON value"),
        ("{\"a\" 1}", 5, "colon"), ("{\"a\":1", 6, "closing brace"), ("{1:2}", 1, "name in quotes"),
        ("{\"a\":1,\"b\":2,\"a\":3}", 13, "\"a\" is there twice"),
        ("\"a", 0, "no closing quote"), ("\"a\\", 3, "inside an escape"),
        ("\"\\x\"", 2, "no such escape"), ("\"\\u12G4\"", 3, "four hexadecimal digits"),
        ("\"\\u12", 3, "four hexadecimal digits"), ("\"\\ud800\"", 3, "surrogate"),
        ("\"\\udc00\"", 3, "surrogate"), ("\"\\ud800\\u0041\"", 3, "surrogate"),
        ("\"a\nb\"", 2, "control character"), ("\"\\n\u{1}\"", 3, "control character"),
    ])
    func refuses(text: String, offset: Int, reason: String) {
        let error = #expect(throws: JSONError.self) {
            try JSONParser.parse(Array(text.utf8))
        }
        #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
        #expect(error?.offset == offset)
    }

    @Test(arguments: [
        [0x22, 0xFF, 0x22], [0x22, 0x5C, 0x6E, 0xC3, 0x22], [0xEF, 0xBB, 0xBF, 0x31],
    ])
    func refusesWhatIsNotUTF8(bytes: [UInt8]) {
        #expect(throws: JSONError.self) { try JSONParser.parse(bytes) }
    }

    @Test(arguments: [2, 15, 16, 17, 18, 40])
    func findsANameThatIsThereTwice(count: Int) throws {
        let names = (0..<count).map { "\"n\($0)\":\($0)" }
        let whole = try JSONParser.parse(Array("{\(names.joined(separator: ","))}".utf8))
        guard case .object(let members) = whole else {
            Issue.record("An object was read as another value.")
            return
        }
        #expect(members.map(\.name) == (0..<count).map { "n\($0)" })
        for again in [0, count / 2, count - 1] {
            let text = "{\(names.joined(separator: ",")),\"n\(again)\":0}"
            #expect(throws: JSONError.self) { try JSONParser.parse(Array(text.utf8)) }
        }
        // Two spellings of one text: dictionaries could hold only one.
        let twice = "{\(names.joined(separator: ",")),\"\u{E9}\":0,\"e\u{301}\":0}"
        #expect(throws: JSONError.self) { try JSONParser.parse(Array(twice.utf8)) }
    }

    @Test func boundsTheDepth() throws {
        let most = JSONParser.depthMax
        func nested(_ depth: Int) -> [UInt8] {
            Array(repeating: UInt8(ascii: "["), count: depth)
                + Array(repeating: UInt8(ascii: "]"), count: depth)
        }
        _ = try JSONParser.parse(nested(most))
        #expect(throws: JSONError.self) { try JSONParser.parse(nested(most + 1)) }
        // What was closed does not count.
        let wide = Array("[[[]],[[]],{\"a\":[]}]".utf8)
        #expect(throws: Never.self) { try JSONParser.parse(wide) }
    }

    /// Texts with bytes changed at random: what one parser reads, the other one reads too, and alike.
    @Test(arguments: 1...20)
    func readsWhatFoundationReads(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let text =
            #"{"a":[1,-2.5e3,true,null],"b":{"c":"x\u00e9\n y","d":""},"é":[{"e":"\ud83d\ude00"}]}"#
        var readCount = 0
        for _ in 0..<300 {
            var bytes = Array(text.utf8)
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                let spot = Int.random(in: bytes.indices, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[spot] = bytes.randomElement(using: &random) ?? 0
                case 1: bytes.remove(at: spot)
                default: bytes.insert(UInt8.random(in: 0x20..<0x7F, using: &random), at: spot)
                }
            }
            guard let mine = try? JSONParser.parse(bytes) else { continue }
            readCount += 1
            let other = try JSONSerialization.jsonObject(
                with: Data(bytes), options: [.fragmentsAllowed])
            #expect(Self.isSame(mine, other), "\(String(decoding: bytes, as: UTF8.self))")
        }
        #expect(readCount > 75, "\(readCount)")
    }

    static func isSame(_ mine: JSONValue, _ other: Any) -> Bool {
        switch mine {
        case .null: other is NSNull
        case .bool(let flag): (other as? NSNumber)?.boolValue == flag
        case .number(let text): (other as? NSNumber)?.doubleValue == Double(text)
        case .string(let text): (other as? String) == text
        case .array(let elements):
            (other as? [Any]).map { others in
                others.count == elements.count && zip(elements, others).allSatisfy(isSame)
            } ?? false
        case .object(let members):
            (other as? [String: Any]).map { others in
                others.count == members.count
                    && members.allSatisfy { isSame($0.value, others[$0.name] ?? NSNull()) }
            } ?? false
        }
    }
}
