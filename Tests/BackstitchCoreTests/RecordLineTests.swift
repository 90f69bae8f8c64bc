import BackstitchCore
import Foundation
import TestBudget
import Testing

@Suite(.budgeted) struct RecordLineTests {
    private func text(_ line: RecordLine) -> String {
        var buffer = ByteBuffer()
        line.write(into: &buffer)
        return String(decoding: buffer.bytes, as: UTF8.self)
    }

    private func reason(_ text: String) -> String? {
        do throws(RecordLine.Failure) {
            _ = try RecordLine(Array(text.utf8))
            return nil
        } catch {
            return error.reason
        }
    }

    @Test func `a record is written as documented`() {
        let line = RecordLine(
            entity: "Note", key: RecordKey(.text("n0")),
            values: ["title": .string("a\"b"), "stars": .int64(.max)])
        #expect(
            text(line) == """
                {"entity":"Note","record":"n0","values":{"stars":{"int64":9223372036854775807},\
                "title":{"string":"a\\"b"}}}

                """)
    }

    @Test func `a line ends with a line feed, and no other separator in a text is one`() throws {
        let title = "a\u{2028}b\u{2029}c\u{85}d\r\n"
        let line = RecordLine(
            entity: "Note", key: RecordKey(.text("n")), values: ["title": .string(title)])
        let lines = Array(text(line).utf8).split(separator: 0x0A)
        #expect(lines.count == 1)
        #expect(try RecordLine(Array(lines[0])).values == ["title": .string(title)])
    }

    @Test(arguments: 0..<20)
    func `what is written is read back exactly`(seed: UInt64) throws {
        var random = RandomValues(seed: seed)
        for _ in 0..<50 {
            var values: [String: RecordValue] = [:]
            for _ in 0..<Int.random(in: 0...6, using: &random.generator) {
                values[random.text()] = random.value()
            }
            let line = RecordLine(
                entity: "E" + random.text(), key: random.key(), values: values)
            let bytes = Array(text(line).utf8.dropLast())
            #expect(!bytes.contains(0x0A))
            let read = try RecordLine(bytes)
            #expect(read == line, "seed \(seed)")
            #expect(text(read) == text(line), "seed \(seed)")
        }
    }

    @Test(arguments: [
        ("", "No JSON at byte 1: the text ends too early."),
        ("{\"entity\":", "No JSON at byte 11: the text ends too early."),
        (
            "\u{FEFF}{}",
            "No JSON at byte 1: it begins with a byte order mark; write it without one."
        ),
        ("[]", "The line is no JSON object."),
        ("{} x", "No JSON at byte 4: there is more behind the end of the value."),
        ("{\"a\":1,\"a\":2}", "No JSON at byte 8: the name \"a\" is there twice."),
        ("{\"a\":01}", "No JSON at byte 6: a number starts with a needless zero."),
        ("{\"a\":\"\\x\"}", "No JSON at byte 8: there is no such escape."),
        ("{\"a\":\"\\uD800\"}", "No JSON at byte 9: half of a surrogate pair is missing."),
        ("{\"extra\":1}", "There is no member \"extra\" in a record's line."),
        ("{\"record\":\"a\"}", "The member \"entity\" with the entity's name is missing."),
        ("{\"entity\":\"N\"}", "The member \"record\" with the record's name is missing."),
        (
            "{\"entity\":\"N\",\"record\":\"a\"}",
            "The member \"values\" with the record's values is missing."
        ),
        (
            "{\"entity\":\"N\",\"record\":\"a\",\"zone\":256,\"values\":{}}",
            "The member \"zone\" is no number from 0 to 255."
        ),
    ])
    func `a line that is no record is told why`(line: String, expected: String) {
        #expect(reason(line) == expected)
    }

    @Test(arguments: [
        ("5", "a value is null or an object with one member"),
        ("{\"int64\":9223372036854775808}", "no whole number of 64 bits"),
        ("{\"int64\":1.5}", "no whole number of 64 bits"),
        ("{\"int64\":\"1\"}", "the member \"int64\" has content of another type"),
        ("{\"double\":1e999}", "out of the range of a double"),
        ("{\"decimal\":\"1x\"}", "no decimal number"),
        ("{\"bytes\":\"*\"}", "no Base64"),
        ("{\"uuid\":\"1\"}", "no UUID"),
        ("{\"location\":{\"latitude\":1}}", "a location has the numbers"),
        ("{\"blob\":1}", "there is no kind \"blob\""),
    ])
    func `a value that can't be read is told why`(value: String, expected: String) throws {
        let line = "{\"entity\":\"N\",\"record\":\"a\",\"values\":{\"x\":\(value)}}"
        let found = try #require(reason(line))
        #expect(found.hasPrefix("The value of \"x\" can't be read: "))
        #expect(found.contains(expected), "\(found)")
    }

    @Test func `text that is not UTF-8 is refused`() {
        let bytes = Array("{\"entity\":\"".utf8) + [0xFF] + Array("\"}".utf8)
        #expect(throws: RecordLine.Failure.self) { try RecordLine(bytes) }
    }

    @Test func `depth is bounded`() {
        let deep = String(repeating: "[", count: 100_000)
        #expect(reason(deep)?.contains("32 arrays and objects") == true)
    }

    @Test func `escapes mean what JSON says`() throws {
        let value = try JSONParser.parse(Array(#""\u0041\n\/\uD83D\uDE00\t\\""#.utf8))
        #expect(value == .string("A\n/😀\t\\"))
    }

    @Test(arguments: [1, 2, 3, 100])
    func `lines are found whatever the chunks are`(size: Int) {
        var splitter = LineSplitter(bytesMax: 4)
        let bytes = Array("ab\n\nabcde\nabcd\nx".utf8)
        var lines: [LineSplitter.Line] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            splitter.take(Array(bytes[start..<min(start + size, bytes.count)])) { lines.append($0) }
        }
        #expect(
            lines == [
                .whole(Array("ab".utf8)), .whole([]), .tooLong, .whole(Array("abcd".utf8)),
            ])
        #expect(splitter.finish() == .whole(Array("x".utf8)))
        #expect(splitter.finish() == nil)
    }
}
