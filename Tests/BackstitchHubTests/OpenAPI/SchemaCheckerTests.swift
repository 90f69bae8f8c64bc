import BackstitchCore
import TestBudget
import Testing

@Suite("Checking JSON against schemas", .budgeted)
struct SchemaCheckerTests {
    /// Schemas with values that are theirs and values that are not.
    private static let cases: [(schema: String, good: [String], bad: [String])] = [
        (#"{"type":"string"}"#, [#""""#, #""a""#], ["1", "null", "[]"]),
        (#"{"type":["string","null"]}"#, [#""a""#, "null"], ["1"]),
        (
            #"{"type":"integer"}"#, ["1", "-9223372036854775808", "1.0", "1e3"],
            ["1.5", "1e-1", "1e30", "true"]
        ),
        (#"{"type":"number","minimum":0,"maximum":2}"#, ["0", "2", "1.5"], ["-0.1", "2.01"]),
        (#"{"type":"boolean"}"#, ["true", "false"], ["0", #""true""#]),
        (#"{"minLength":1,"maxLength":2}"#, [#""a""#, #""äö""#, "1"], [#""""#, #""abc""#]),
        (#"{"pattern":"^[0-9]+$"}"#, [#""12""#], [#""""#, #""1a""#]),
        (#"{"enum":["a",1]}"#, [#""a""#, "1"], [#""b""#, "2"]),
        (#"{"const":true}"#, ["true"], ["false", "1"]),
        (
            #"{"type":"object","required":["a"],"properties":{"a":{"type":"string"}}}"#,
            [#"{"a":"x"}"#, #"{"a":"x","b":1}"#], ["{}", #"{"a":1}"#]
        ),
        (
            #"{"properties":{"a":{}},"additionalProperties":false}"#, ["{}", #"{"a":1}"#],
            [#"{"b":1}"#]
        ),
        (
            #"{"additionalProperties":{"type":"string"}}"#, ["{}", #"{"a":"x"}"#],
            [#"{"a":1}"#]
        ),
        (
            #"{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":2}"#,
            [#"["a"]"#], ["[]", "[1]", #"["a","b","c"]"#]
        ),
        (#"{"anyOf":[{"type":"string"},{"const":1}]}"#, [#""a""#, "1"], ["2"]),
        (#"{"oneOf":[{"type":"number"},{"type":"integer"}]}"#, ["1.5"], ["1", #""a""#]),
        (#"{"allOf":[{"minimum":1},{"maximum":2}]}"#, ["1", "2"], ["0", "3"]),
        (#"{"not":{"type":"string"}}"#, ["1"], [#""a""#]),
        (##"{"$ref":"#/components/schemas/Name"}"##, [#""a""#], ["1"]),
        (##"{"$ref":"#/components/schemas/None"}"##, [], ["1"]),
    ]

    @Test("each keyword tells good values from bad ones", arguments: 0..<19)
    func keywords(index: Int) throws {
        let (text, good, bad) = Self.cases[index]
        let name = try JSONSchema(JSONParser.parse(Array(#"{"type":"string"}"#.utf8)), at: "Name")
        let checker = SchemaChecker(schemas: ["Name": name])
        let schema = try JSONSchema(JSONParser.parse(Array(text.utf8)), at: "schema")
        for value in good {
            let json = try JSONParser.parse(Array(value.utf8))
            #expect(checker.problems(json, schema) == [], "\(text) \(value)")
        }
        for value in bad {
            let json = try JSONParser.parse(Array(value.utf8))
            #expect(checker.problems(json, schema) != [], "\(text) \(value)")
        }
    }

    @Test("a keyword that nothing checks is an error")
    func unknownKeywords() throws {
        let json = try JSONParser.parse(Array(#"{"properties":{"a":{"multipleOf":2}}}"#.utf8))
        #expect(throws: JSONSchema.Failure.self) { try JSONSchema(json, at: "schema") }
        #expect(Self.cases.count == 19)
    }
}
