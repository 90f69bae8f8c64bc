import TestBudget
import Testing

@testable import BackstitchCore

/// Texts that are made at random, read by the parser and by the reference. `JSON_ROUNDS` says how many;
/// `JSON_SEED` where to begin.
@Suite(.budgeted) struct JSONDifferentialTests {
    /// A value, or why there is none.
    private typealias Outcome = Result<JSONValue, JSONError>

    private static let rounds = Load.count("JSON_ROUNDS", else: 20_000)
    private static let first = Load.count("JSON_SEED", else: 1)

    @Test func `a text has the value, or the error, that the reference finds`() {
        var readCount = 0
        for seed in Self.first..<(Self.first + Self.rounds) {
            var generator = SeededGenerator(seed: UInt64(seed))
            let bytes = generator.jsonText()
            let expected = Outcome { () throws(JSONError) in try ReferenceJSONParser.parse(bytes) }
            let document = Result { () throws(JSONError) in try JSONDocument(bytes) }
            if case .success = expected { readCount += 1 }
            let isSame = document.map(\.root.value) == expected
            let isFound = (try? document.get().root).map(Self.findsMembers) ?? true
            guard !isSame || !isFound else { continue }
            let text = String(decoding: bytes, as: UTF8.self)
            Issue.record("JSON_SEED=\(seed): \(text), \(document.map(\.root.value)), \(expected)")
            return
        }
        // Texts of both kinds are frequent.
        #expect(readCount > Self.rounds / 5 && readCount < Self.rounds * 4 / 5, "\(readCount)")
    }

    /// Whether a member is found by its name, in every object, as it is in the tree.
    private static func findsMembers(_ item: JSONItem) -> Bool {
        guard item.elements.allSatisfy(findsMembers) else { return false }
        guard case .object(let members) = item.value else { return true }
        for name in members.map(\.name) + ["a", "K", "\u{212A}", "é", "e\u{301}"] {
            let expected = members.first { $0.name == name }?.value
            guard item.member(name)?.value == expected else { return false }
        }
        var isFound = true
        item.visitMembers { _, value in isFound = isFound && findsMembers(value) }
        return isFound
    }
}
