import Foundation
import TestBudget
import Testing

@testable import BackstitchCore

/// A table of inputs, written from the grammar of RFC 8259: those that it forbids, those that it has, and
/// those that it leaves to the reader.
@Suite(.budgeted) struct JSONCaseTests {
    private static func refuse(_ bytes: [UInt8]) {
        let error = #expect(throws: JSONError.self) { try JSONParser.parse(bytes) }
        #expect(error.map { (0...bytes.count).contains($0.offset) } == true)
    }

    private static func read(_ text: String, as value: JSONValue) throws {
        #expect(try JSONParser.parse(Array(text.utf8)) == value)
    }

    /// Reads a text, and again with Foundation, whose value has to be the same.
    private static func compare(_ text: String, with value: JSONValue) throws {
        try read(text, as: value)
        let other = try JSONSerialization.jsonObject(
            with: Data(text.utf8), options: [.fragmentsAllowed])
        #expect(JSONParserTests.isSame(value, other))
    }

    private static func object(_ members: KeyValuePairs<String, JSONValue>) -> JSONValue {
        .object(members.map { JSONValue.Member(name: $0.key, value: $0.value) })
    }

    // MARK: Forbidden

    @Test(arguments: brokenStructure)
    func `brackets, commas, colons and names have to be where the grammar has them`(text: String) {
        Self.refuse(Array(text.utf8))
    }

    private static let brokenStructure: [String] = [
        "[", "]", "{", "}", "[[]", "[]]", "{{}}", "{[]}", "[}", "{]", "[1}", #"{"a":1]"#, "[{]}",
        #"{"a":[1}"#, ",", "[,]", "[,1]", "[1,,2]", "[1,", "[1 2]", #"["a" "b"]"#, "[[][]]",
        "[1;2]", "{,}", #"{,"a":1}"#, #"{"a":1,}"#, #"{"a":1,,"b":2}"#, #"{"a":1 "b":2}"#,
        #"{"a":1;"b":2}"#, "1,2", "1,", ":", "{:1}", #"{"a"}"#, #"{"a":}"#, #"{"a":,"b":1}"#,
        #"{"a"::1}"#, #"{"a",1}"#, #"{"a"=1}"#, #"{"a"=>1}"#, #"["a":1]"#, #"{"a":1:2}"#, #""a":1"#,
        "{a:1}", "{'a':1}", "{null:1}", "{true:1}", "{[]:1}", "{{}:1}", #"{"a":1,b:2}"#,
        #"{"a" "b":1}"#, #"{"a"#, #"{"a""#, #"{"a":"#, #"{"a":1,"#, #"{"a":1,"b"}"#,
    ]

    @Test(arguments: brokenWords)
    func `there are three words in lower case, and one value`(text: String) {
        Self.refuse(Array(text.utf8))
    }

    private static let brokenWords: [String] = [
        "NULL", "True", "FALSE", "nil", "undefined", "none", "yes", "tru", "fals", "nulll",
        "truefalse", "null null", "[nul]", "[True]", "t", #"{"a":nulls}"#, #""a""b""#, "[] []",
        "{}{}", "true false", #""a"1"#, #"1"a""#, "[]x", "{}#", "null,", "1}", "0]", "\"\"\"\"",
    ]

    @Test(arguments: brokenNumbers)
    func `a number has a digit in each part, and no other form`(text: String) {
        Self.refuse(Array(text.utf8))
    }

    private static let brokenNumbers: [String] = [
        "+1", "+0", ".5", "-.5", ".", "1.e5", "0.", "-0.", "1..2", "1.2.3", ".e1", "0.e1", "0e",
        "0e+", "1E-", "1e++1", "1e+-1", "1ee1", "1e1e1", "1e1.5", "1e.5", "e1", "-e1", "--1", "-+1",
        "+-1", "- 1", "1 .5", "1. 5", "1 e5", "1e 5", "00", "-00", "-01", "012", "00.5", "0x1",
        "0xFF", "1x", "0b1", "0o7", "1_000", "1,000.5", "1f", "1L", "1n", "1a", "NaN", "-NaN",
        "nan", "Infinity", "-Infinity", "inf", "1e1f", "1/2", "1+1", "$1", "1%", "[-]", "[1.]",
        "[+1]", "[.5]", #"{"a":01}"#, #"{"a":-}"#, "\u{661}", "\u{FF11}", "1\u{FF11}", "\u{2212}1",
        "\u{BD}", "1\u{B2}", "\u{221E}",
    ]

    @Test(arguments: brokenTexts)
    func `a text has double quotes, no raw control character and nine escapes`(text: String) {
        Self.refuse(Array(text.utf8))
    }

    private static let brokenTexts: [String] = [
        "'a'", "['a']", "`a`", "\u{201C}a\u{201D}", "a", "\"", #"[""#, #""a'"#, #"'a""#, #""\""#,
        #""a\\\""#, #"\"a""#, #""a"b""#, "\"\u{0}\"", "\"\t\"", "\"\r\n\"", "\"a\r\"", "\"\u{8}\"",
        "\"\u{C}\"", "\"\u{1B}\"", "\"\u{1F}\"", "[\"a\n\",1]", "{\"a\n\":1}", "\"\\\n\"", #""\a""#,
        #""\v""#, #""\0""#, #""\'""#, #""\e""#, #""\N""#, #""\ ""#, #""\x41""#, #""\101""#,
        #""\U0041""#, "\"\\\u{E9}\"", "\"\\\t\"", #"{"\q":1}"#, #""\u""#, #""\u1""#, #""\u12""#,
        #""\u123""#, #""\u 041""#, #""\u+041""#, #""\u-041""#, #""\u00 1""#, #""\u{41}""#,
        #""\u0x41""#, "\"\\u004\u{FF11}\"", "\"\\u004\u{E9}\"", #""\u\u0041""#, #""\u004"#, #""\u"#,
        #""\ud83d\u""#, #""\ud83d\ude0""#,
    ]

    @Test(arguments: brokenSurroundings)
    func `around a value are four kinds of space only, and no comment`(text: String) {
        Self.refuse(Array(text.utf8))
    }

    private static let brokenSurroundings: [String] = [
        " ", "\n", "\t\r\n", "\u{0}", "\u{B}", "\u{C}", "\u{B}1", "1\u{C}", "[1,\u{B}2]", "\u{A0}1",
        "1\u{A0}", "[\u{2003}1]", "{\u{2028}}", "1\u{2029}", "\u{3000}1", "\u{200B}1", "1\u{200B}",
        "\u{85}1", "[1\u{FEFF}]", "1\u{FEFF}", "[1]\u{0}", "\u{0}[1]", "1\u{1A}", "1\u{7F}", "//",
        "// a\n1", "1 // a", "/* a */1", "[1/* a */,2]", "{/**/}", "# a\n1", "1 # a", "-- a",
        "<!-- -->1", "; 1", "()", "(1)", "<1>", #"{"a":1}."#, "...", "[...]", "[1,...]", "@", "*",
        "/", #"\"#, #"[\n]"#, #"\u0031"#, "\u{E9}", "\u{1F600}", "[\u{1F600}]", "callback(1)",
        ")]}'\n1", "data: 1", "%7B%7D", "&quot;a&quot;", "[<null>]", "[1]\n,[2]", "1\n2", "{}\n{}",
        "\u{1E}1",
    ]

    @Test(arguments: brokenBytes)
    func `bytes that are no UTF-8 are refused`(bytes: [UInt8]) {
        Self.refuse(bytes)
    }

    /// Lone, overlong, truncated, of surrogates and above U+10FFFF, within texts and outside.
    private static let brokenBytes: [[UInt8]] = [
        [0x22, 0x80, 0x22], [0x22, 0xBF, 0x22], [0x22, 0xA0, 0x80, 0x22], [0x22, 0x61, 0x80, 0x22],
        [0x22, 0xC3, 0xA9, 0x80, 0x22], [0x22, 0xC0, 0xAF, 0x22], [0x22, 0xC0, 0x80, 0x22],
        [0x22, 0xC1, 0xBF, 0x22], [0x22, 0xE0, 0x80, 0xAF, 0x22], [0x22, 0xE0, 0x9F, 0xBF, 0x22],
        [0x22, 0xF0, 0x80, 0x80, 0xAF, 0x22], [0x22, 0xF0, 0x8F, 0xBF, 0xBF, 0x22],
        [0x22, 0xC3, 0x22], [0x22, 0xC3, 0x28, 0x22], [0x22, 0xE2, 0x82, 0x22],
        [0x22, 0xE2, 0x28, 0xA1, 0x22], [0x22, 0xE2, 0x82, 0x28, 0x22],
        [0x22, 0xF0, 0x9F, 0x98, 0x22], [0x22, 0xF0, 0x9F, 0x28, 0x80, 0x22],
        [0x22, 0xF0, 0x28, 0x98, 0x80, 0x22], [0x22, 0xC3, 0xC3, 0xA9, 0x22],
        [0x22, 0xED, 0xA0, 0x80, 0x22], [0x22, 0xED, 0xAF, 0xBF, 0x22],
        [0x22, 0xED, 0xB0, 0x80, 0x22], [0x22, 0xED, 0xBF, 0xBF, 0x22],
        [0x22, 0xED, 0xA0, 0xBD, 0xED, 0xB8, 0x80, 0x22], [0x22, 0xF4, 0x90, 0x80, 0x80, 0x22],
        [0x22, 0xF5, 0x80, 0x80, 0x80, 0x22], [0x22, 0xF7, 0xBF, 0xBF, 0xBF, 0x22],
        [0x22, 0xF8, 0x88, 0x80, 0x80, 0x80, 0x22],
        [0x22, 0xFC, 0x84, 0x80, 0x80, 0x80, 0x80, 0x22], [0x22, 0xFE, 0x22],
        [0x22, 0xFE, 0xFF, 0x22], [0x22, 0xE9, 0x22], [0x22, 0x5C, 0xFF, 0x22],
        [0x22, 0x5C, 0x74, 0xC3, 0x22], [0x22, 0xC3], [0x22, 0xE2, 0x82, 0xAC], [0xFF],
        [0x80, 0x31], [0x31, 0xFF], [0x31, 0x80], [0x5B, 0xC3, 0x5D], [0x5B, 0x31, 0xA0, 0x5D],
        [0x7B, 0x22, 0xFF, 0x22, 0x3A, 0x31, 0x7D],
        [0x7B, 0x22, 0x61, 0x22, 0x3A, 0x22, 0xE9, 0x22, 0x7D],
    ]

    @Test(arguments: otherEncodings)
    func `UTF-16, UTF-32, UTF-7 and EBCDIC are refused`(bytes: [UInt8]) {
        Self.refuse(bytes)
    }

    private static let otherEncodings: [[UInt8]] = [
        [0x31, 0x00], [0x00, 0x31], [0x5B, 0x00, 0x5D, 0x00], [0x00, 0x5B, 0x00, 0x5D],
        [0x22, 0x00, 0x61, 0x00, 0x22, 0x00], [0xFF, 0xFE, 0x5B, 0x00, 0x5D, 0x00],
        [0xFE, 0xFF, 0x00, 0x5B, 0x00, 0x5D], [0x31, 0x00, 0x00, 0x00], [0x00, 0x00, 0x00, 0x31],
        [0xFF, 0xFE, 0x00, 0x00, 0x31, 0x00, 0x00, 0x00],
        [0x00, 0x00, 0xFE, 0xFF, 0x00, 0x00, 0x00, 0x31], [0x2B, 0x41, 0x44, 0x45, 0x41, 0x2D],
        [0xC0, 0xD0], [0xF1],
    ]

    // MARK: Allowed

    @Test(arguments: numbers)
    func `a number keeps its spelling`(text: String) throws {
        try Self.compare(text, with: .number(text))
    }

    private static let numbers: [String] = [
        "0", "7", "-1", "10", "-10", "100", "1234567890", "999999999999999", "-999999999999999",
        "0.0", "-0.0", "0.5", "-0.5", "1.0", "10.01", "0.000001", "3.14159", "123456.789", "0e0",
        "0E0", "0e1", "0e-1", "-0e+1", "0.0e0", "0.00E+00", "1e0", "1E0", "1e+1", "1E+1", "1e-1",
        "1E-1", "1e01", "1e+007", "1e-0", "1.5e3", "-1.5E-3", "2.50", "1e22", "1e-22", "1e300",
        "1e-300",
    ]

    @Test(arguments: spaced)
    func `space may be around each value, name and mark`(text: String, value: JSONValue) throws {
        try Self.compare(text, with: value)
    }

    private static let spaced: [(String, JSONValue)] = [
        (" null ", .null), ("\tfalse", .bool(false)), ("\r\ntrue\r\n", .bool(true)),
        ("\n\n0\t", .number("0")), (#" "" "#, .string("")), (" [ ] ", .array([])),
        ("\t{\r\n}\t", object([:])), ("[ 1 , 2 ]", .array([.number("1"), .number("2")])),
        ("[\n\t1\n]", .array([.number("1")])), (#" { "a" : 1 } "#, object(["a": .number("1")])),
        ("{\t\"a\"\r:\n1 ,\"b\":2}", object(["a": .number("1"), "b": .number("2")])),
        (#"" a ""#, .string(" a ")),
    ]

    @Test(arguments: nested)
    func `arrays and objects hold values of all kinds in order`(
        text: String, value: JSONValue
    ) throws {
        try Self.compare(text, with: value)
    }

    private static let nested: [(String, JSONValue)] = [
        ("[[]]", .array([.array([])])), ("[{}]", .array([object([:])])),
        ("[[],[]]", .array([.array([]), .array([])])),
        ("[null,true,false]", .array([.null, .bool(true), .bool(false)])),
        (#"[0,-1,"a"]"#, .array([.number("0"), .number("-1"), .string("a")])),
        ("[1,1]", .array([.number("1"), .number("1")])),
        (#"["",""]"#, .array([.string(""), .string("")])),
        (
            "[[1],[2,[3]]]",
            .array([.array([.number("1")]), .array([.number("2"), .array([.number("3")])])])
        ),
        (#"{"":0}"#, object(["": .number("0")])), (#"{" ":0}"#, object([" ": .number("0")])),
        (#"{"":{"":{}}}"#, object(["": object(["": object([:])])])),
        (#"{"a":[]}"#, object(["a": .array([])])), (#"{"a":null}"#, object(["a": .null])),
        (#"{"null":true}"#, object(["null": .bool(true)])),
        (#"{"a":1,"A":2}"#, object(["a": .number("1"), "A": .number("2")])),
        (#"{"a":{"a":1}}"#, object(["a": object(["a": .number("1")])])),
        (
            #"[{"a":1},{"a":2}]"#,
            .array([object(["a": .number("1")]), object(["a": .number("2")])])
        ),
        (
            #"{"z":1,"y":2,"x":3}"#,
            object(["z": .number("1"), "y": .number("2"), "x": .number("3")])
        ),
        (#"{"1":1,"01":2}"#, object(["1": .number("1"), "01": .number("2")])),
        (#"{"a":"a"}"#, object(["a": .string("a")])),
        (#"{"a:b,c":"}"}"#, object(["a:b,c": .string("}")])),
        (#"["[","]"]"#, .array([.string("["), .string("]")])),
        (#"{"\u0061":1}"#, object(["a": .number("1")])),
        (#"{"\"":1}"#, object(["\"": .number("1")])),
        (#"{"a ":1,"a":2}"#, object(["a ": .number("1"), "a": .number("2")])),
    ]

    @Test(arguments: texts)
    func `a text has its characters, raw or escaped`(text: String, value: JSONValue) throws {
        try Self.compare(text, with: value)
    }

    private static let texts: [(String, JSONValue)] = [
        (#""a""#, .string("a")), (#""null""#, .string("null")), (#""//""#, .string("//")),
        (#""/* */""#, .string("/* */")), (#""'""#, .string("'")), (#""\u0041""#, .string("A")),
        (#""\u006A\u006b""#, .string("jk")), (#""\u000a""#, .string("\n")),
        (#""\u001F""#, .string("\u{1F}")), (#""\u007f""#, .string("\u{7F}")),
        ("\"\u{7F}\"", .string("\u{7F}")), (#""\u0022""#, .string("\"")),
        (#""\u005C""#, .string(#"\"#)), (#""\u005cn""#, .string(#"\n"#)),
        (#""\u002f""#, .string("/")), (#""\\u0041""#, .string(#"\u0041"#)),
        (#""\\\\""#, .string(#"\\"#)), (#""\\n""#, .string(#"\n"#)), (#""\\\"""#, .string(#"\""#)),
        (#""a\/b""#, .string("a/b")), (#""</""#, .string("</")), (#""\r\n""#, .string("\r\n")),
        (#""\t\t""#, .string("\t\t")), (#""\u00e9""#, .string("\u{E9}")),
        ("\"\u{E9}\"", .string("\u{E9}")), (#""\u20AC""#, .string("\u{20AC}")),
        ("\"\u{20AC}\"", .string("\u{20AC}")),
        ("\"\u{65E5}\u{672C}\"", .string("\u{65E5}\u{672C}")),
        ("\"\u{1F600}\"", .string("\u{1F600}")), (#""\uD83D\uDE00""#, .string("\u{1F600}")),
        (#""\uD800\uDC00""#, .string("\u{10000}")), (#""\uDBFF\uDFFD""#, .string("\u{10FFFD}")),
        (#""\uD7FF""#, .string("\u{D7FF}")), (#""\uE000""#, .string("\u{E000}")),
        ("\"\u{2028}\u{2029}\"", .string("\u{2028}\u{2029}")), (#""\u2028""#, .string("\u{2028}")),
        ("\"\u{A0}\"", .string("\u{A0}")), ("\"a\u{FEFF}b\"", .string("a\u{FEFF}b")),
        (#""\uFEFF""#, .string("\u{FEFF}")), ("\"\u{1D11E}\"", .string("\u{1D11E}")),
        (#""1\u00002""#, .string("1\u{0}2")), (#""e\u0301""#, .string("e\u{301}")),
        ("\"\u{200D}\"", .string("\u{200D}")), ("\"\u{80}\u{9F}\"", .string("\u{80}\u{9F}")),
    ]

    // MARK: Left open

    @Test(arguments: wideNumbers)
    func `a number may have any size and any count of digits`(text: String) throws {
        try Self.read(text, as: .number(text))
    }

    private static let wideNumbers: [String] = [
        "1e400", "-1e400", "1e-400", "1e99999999999", "-1e-99999999999", "0e99999999999",
        "9007199254740993", "18446744073709551616", "-9223372036854775809",
        "123456789012345678901234567890", "0.1000000000000000055511151231257827",
        "3.141592653589793238462643383279", "1.00000000000000000000",
        "9999999999999999999999999999999999999999.5",
    ]

    @Test(arguments: oddTexts)
    func `a text may have noncharacters, and a name may look like another`(
        text: String, value: JSONValue
    ) throws {
        try Self.read(text, as: value)
    }

    private static let oddTexts: [(String, JSONValue)] = [
        (#""\uFFFE""#, .string("\u{FFFE}")), (#""\uFFFF""#, .string("\u{FFFF}")),
        (#""\uDBFF\uDFFF""#, .string("\u{10FFFF}")), ("\"\u{FFFF}\"", .string("\u{FFFF}")),
        ("\"\u{FEFF}\"", .string("\u{FEFF}")), (#""\uFFFD""#, .string("\u{FFFD}")),
        (#"{"\u0000":0}"#, object(["\u{0}": .number("0")])),
        ("{\"\u{FB01}\":1,\"fi\":2}", object(["\u{FB01}": .number("1"), "fi": .number("2")])),
        ("{\"\u{DF}\":1,\"ss\":2}", object(["\u{DF}": .number("1"), "ss": .number("2")])),
        (#"{"a":1,"a\u200b":2}"#, object(["a": .number("1"), "a\u{200B}": .number("2")])),
        (#"{"b":1,"a":2}"#, object(["b": .number("1"), "a": .number("2")])),
        (#"{"__proto__":1}"#, object(["__proto__": .number("1")])),
    ]

    @Test(arguments: refusedChoices)
    func `halves of pairs, a name that is there twice and a byte order mark are refused`(
        text: String
    ) {
        Self.refuse(Array(text.utf8))
    }

    private static let refusedChoices: [String] = [
        #""\uDBFF""#, #""\uDFFF""#, #""\udead""#, #"["\uD834"]"#, #"{"\ud83d":1}"#,
        #""\ud83d\ud83d""#, #""\ude00\ud83d""#, #""\ud83da""#, #""\ud83d\n""#,
        #""\ud83d\ude00\ud83d""#, #""\ud83d\\ude00""#, #"{"a":1,"a":1}"#, #"{"a":1,"\u0061":2}"#,
        #"{"\u0061":1,"a":2}"#, #"{"\u0061":1,"\u0061":2}"#, #"{"/":1,"\/":2}"#,
        #"{"\n":1,"\u000A":2}"#, "{\"\u{E9}\":1,\"\\u00e9\":2}", #"{"":1,"":2}"#,
        #"{"a":{},"a":[]}"#, #"[{"b":{"a":1,"a":2}}]"#, "{\"\u{1F600}\":1,\"\\ud83d\\ude00\":2}",
        "{\"\u{C5}\":1,\"\u{212B}\":2}", "\u{FEFF}", "\u{FEFF}{}", " \u{FEFF}[]",
        "\u{FEFF}\u{FEFF}\"a\"",
    ]

    @Test(
        arguments: [(#"{"a":"#, "}"), (#"[{"a":"#, "}]"), (#"{"a":["#, "]}")] as [(String, String)])
    func `objects count to the depth as arrays do`(opening: String, closing: String) {
        let most = JSONParser.depthMax / closing.count
        func deep(_ count: Int, _ inner: String) -> [UInt8] {
            let openings = String(repeating: opening, count: count)
            return Array((openings + inner + String(repeating: closing, count: count)).utf8)
        }
        #expect(throws: Never.self) { try JSONParser.parse(deep(most, "0")) }
        Self.refuse(deep(most, "[]"))
        Self.refuse(deep(most, "{}"))
        // The depth is bounded before anything is closed.
        Self.refuse(Array(String(repeating: opening, count: 100_000).utf8))
    }
}
