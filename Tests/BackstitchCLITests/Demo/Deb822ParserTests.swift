import TestBudget
import Testing

@testable import BackstitchDemo

@Suite(.budgeted) struct Deb822ParserTests {
    /// What a parser makes of bytes that arrive in parts of a size.
    private func items(
        _ bytes: [UInt8], fields: Set<String>? = nil, partBytes: Int = .max
    ) -> [Deb822Parser.Item] {
        var parser = Deb822Parser(fields: fields)
        var items: [Deb822Parser.Item] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let part = Array(rest.prefix(partBytes))
            rest = rest.dropFirst(part.count)
            part.withUnsafeBytes { bytes in parser.add(bytes) { items.append($0) } }
        }
        parser.finish { items.append($0) }
        return items
    }

    private func items(_ text: String, fields: Set<String>? = nil) -> [Deb822Parser.Item] {
        items(Array(text.utf8), fields: fields)
    }

    private func stanza(_ line: Int, _ fields: [String: String]) -> Deb822Parser.Item {
        .stanza(Deb822Stanza(line: line, fields: fields))
    }

    @Test func `stanzas end at blank lines and at the end`() {
        #expect(
            items("A: 1\nB:2\n\n \t\nA:  3  ") == [
                stanza(1, ["A": "1", "B": "2"]), stanza(5, ["A": "3"]),
            ])
        #expect(items("") == [])
        #expect(items("\n\n") == [])
    }

    @Test func `continuations belong to the field above`() {
        #expect(
            items("Tag: a,\n b,\n\tc\nX:\n y\n") == [stanza(1, ["Tag": "a,\nb,\nc", "X": "\ny"])])
    }

    @Test func `a dropped field takes its continuations with it`() {
        #expect(items("A: 1\n x\nB: 2\n y\n", fields: ["B"]) == [stanza(1, ["B": "2\ny"])])
    }

    @Test func `CR LF and comments are read`() {
        #expect(
            items("A: 1\r\n# no\r\nB: 2\r\n\r\nA: 3\r\n") == [
                stanza(1, ["A": "1", "B": "2"]), stanza(5, ["A": "3"]),
            ])
    }

    @Test(arguments: [1, 2, 3, 7, 64])
    func `parts of any size give the same`(partBytes: Int) {
        let text = "Name: Zoë Łukasz 日本 👩‍👩‍👧\r\n more é\n\nName: b\nbad\n\nName: c\n"
        let bytes = Array(text.utf8)
        #expect(items(bytes, partBytes: partBytes) == items(bytes))
        #expect(
            items(bytes) == [
                stanza(1, ["Name": "Zoë Łukasz 日本 👩‍👩‍👧\nmore é"]),
                .malformed(Deb822Problem(line: 5, reason: "it is no 'Name: value'")),
                stanza(7, ["Name": "c"]),
            ])
    }

    @Test func `a malformed line drops its stanza and no other`() {
        #expect(
            items(" lost\nA: 1\n\nB: 1\nB: 2\nC: 3\n\nD: 4\n\n: 5\n") == [
                .malformed(Deb822Problem(line: 1, reason: "it continues nothing")),
                .malformed(Deb822Problem(line: 5, reason: "the field B is there twice")),
                stanza(8, ["D": "4"]),
                .malformed(Deb822Problem(line: 10, reason: "it is no 'Name: value'")),
            ])
    }

    @Test func `what is not UTF-8 is malformed`() {
        let bytes: [UInt8] = Array("A: ".utf8) + [0xC3, 0x28, 0x0A] + Array("\nB: 1".utf8)
        #expect(
            items(bytes) == [
                .malformed(Deb822Problem(line: 1, reason: "it is not UTF-8")),
                stanza(3, ["B": "1"]),
            ])
    }

    @Test func `a line has a greatest length`() {
        let long = "A: " + String(repeating: "x", count: Deb822Parser.lineBytesMax)
        let found = items(long + "\n\nB: 1\n")
        #expect(found.count == 2)
        #expect(found.last == stanza(3, ["B": "1"]))
        guard case .malformed(let problem)? = found.first else {
            Issue.record("The long line was taken.")
            return
        }
        #expect(problem.line == 1)
    }
}
