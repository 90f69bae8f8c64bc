import Foundation
import Terminal

/// A piece of a condition's text.
struct ConditionToken: Hashable {
    enum Kind: Hashable {
        /// A keyword or a name.
        case word(String)
        /// A name between backticks, which is no keyword.
        case name(String)
        case string(String)
        case number(String)
        case symbol(String)
        case end
    }

    let kind: Kind
    /// Where it begins, in characters.
    let position: Int
}

/// Why a text is no condition.
struct ConditionError: Error, Hashable {
    let message: String
    /// Where, in characters.
    let position: Int

    /// The message, and the place in the text with a mark under it.
    func description(in text: String) -> String {
        let characters = Array(text)
        let start = max(0, position - 50)
        let shown = characters[start..<min(characters.count, position + 20)]
        // One column for each character, whatever a terminal makes of it.
        let line = String(shown.map { $0.isNewline || $0 == "\t" ? " " : $0 }).printable
        let before = String(
            characters[start..<min(position, characters.count)].map {
                $0.isNewline || $0 == "\t" ? " " : $0
            }
        ).printable
        return message + "\n  " + line + "\n  " + String(repeating: " ", count: before.count) + "^"
    }
}

/// Cuts the text of a condition into tokens.
struct ConditionLexer {
    private let characters: [Character]
    private var position = 0

    private init(_ text: String) { characters = Array(text) }

    static func tokens(_ text: String) throws(ConditionError) -> [ConditionToken] {
        var lexer = ConditionLexer(text)
        var tokens: [ConditionToken] = []
        repeat { tokens.append(try lexer.token()) } while tokens.last?.kind != .end
        return tokens
    }

    private var next: Character? { position < characters.count ? characters[position] : nil }

    private mutating func token() throws(ConditionError) -> ConditionToken {
        while let character = next, character.isWhitespace { position += 1 }
        let start = position
        guard let character = next else { return ConditionToken(kind: .end, position: start) }
        let kind: ConditionToken.Kind =
            switch character {
            case "\"", "'": .string(try quoted(by: character))
            case "`": .name(try quoted(by: character))
            case "(", ")", ",", ".": .symbol(take { _ in false })
            case "=": .symbol(take { _ in false })
            case "<", ">", "!": .symbol(take { $0 == "=" })
            case "-", "0"..."9":
                .number(take { $0.isASCII && ($0.isNumber || $0.isLetter || "+-.".contains($0)) })
            case _ where character.isLetter || character == "_":
                .word(take { $0.isLetter || $0.isNumber || $0 == "_" })
            case "&", "|":
                throw ConditionError(
                    message: "Write '\(character == "&" ? "and" : "or")' in words.", position: start
                )
            default:
                throw ConditionError(
                    message: "This character has no meaning here.", position: start)
            }
        return ConditionToken(kind: kind, position: start)
    }

    /// Takes a character, and those behind it that go with it.
    private mutating func take(while isPart: (Character) -> Bool) -> String {
        let start = position
        position += 1
        while let character = next, isPart(character) { position += 1 }
        return String(characters[start..<position])
    }

    private mutating func quoted(by quote: Character) throws(ConditionError) -> String {
        let start = position
        position += 1
        var text = ""
        while let character = next {
            position += 1
            if character == quote { return text }
            text.append(character == "\\" ? try escape() : character)
        }
        throw ConditionError(message: "The closing quote is missing.", position: start)
    }

    private mutating func escape() throws(ConditionError) -> Character {
        let escapes: [Character: Character] = [
            "\\": "\\", "\"": "\"", "'": "'", "`": "`", "n": "\n", "r": "\r", "t": "\t",
        ]
        guard let character = next, let meaning = escapes[character] else {
            throw ConditionError(
                message: "There is no such escape. There are \\\\ \\\" \\' \\` \\n \\r \\t.",
                position: position - 1)
        }
        position += 1
        return meaning
    }
}
