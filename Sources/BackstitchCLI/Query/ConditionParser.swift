import Backstitch
import Terminal

/// Reads a condition from text.
///
/// ```
/// condition  = conjunction { "or" conjunction }
/// conjunction = term { "and" term }
/// term       = "not" term | "(" condition ")" | name test
/// test       = ( "=" | "!=" | "<" | "<=" | ">" | ">=" ) value
///            | [ "not" ] "in" "(" value { "," value } ")"
///            | "contains" text | "startsWith" text
///            | "is" [ "not" ] "null" | "between" value "and" value
/// ```
struct ConditionParser {
    /// The most characters of a text.
    static let lengthMax = 65_536
    /// The most parentheses and negations inside one another.
    static let depthMax = 50
    /// The name of a record, if no attribute has that name.
    static let recordName = "recordName"

    private let tokens: [ConditionToken]
    private let entity: CatalogEntity
    private var index = 0
    private var depth = 0

    /// The condition that a text spells on an entity's records.
    static func parse(
        _ text: String, of entity: CatalogEntity
    ) throws(ConditionError) -> RecordCondition {
        guard text.count <= lengthMax else {
            throw ConditionError(
                message: "The condition has more than \(lengthMax) characters.", position: 0)
        }
        var parser = ConditionParser(
            tokens: try ConditionLexer.tokens(text), entity: entity)
        let condition = try parser.condition()
        guard parser.next.kind == .end else {
            throw parser.error("Here 'and', 'or' or the end is missing.")
        }
        return condition
    }

    private init(tokens: [ConditionToken], entity: CatalogEntity) {
        self.tokens = tokens
        self.entity = entity
    }

    private var next: ConditionToken { tokens[index] }

    private func error(_ message: String, at token: ConditionToken? = nil) -> ConditionError {
        ConditionError(message: message, position: (token ?? next).position)
    }

    private mutating func advance() -> ConditionToken {
        defer { if index < tokens.count - 1 { index += 1 } }
        return tokens[index]
    }

    private mutating func take(word: String) -> Bool {
        guard case .word(let found) = next.kind, found.lowercased() == word.lowercased() else {
            return false
        }
        _ = advance()
        return true
    }

    private mutating func require(word: String) throws(ConditionError) {
        guard take(word: word) else { throw error("Here '\(word)' is missing.") }
    }

    private mutating func take(_ symbol: String) -> Bool {
        guard next.kind == .symbol(symbol) else { return false }
        _ = advance()
        return true
    }

    private mutating func require(_ symbol: String) throws(ConditionError) {
        guard take(symbol) else { throw error("Here '\(symbol)' is missing.") }
    }

    // MARK: Grammar

    private mutating func condition() throws(ConditionError) -> RecordCondition {
        var parts = [try conjunction()]
        while take(word: "or") { parts.append(try conjunction()) }
        return parts.count == 1 ? parts[0] : .any(parts)
    }

    private mutating func conjunction() throws(ConditionError) -> RecordCondition {
        var parts = [try term()]
        while take(word: "and") { parts.append(try term()) }
        return parts.count == 1 ? parts[0] : .all(parts)
    }

    private mutating func term() throws(ConditionError) -> RecordCondition {
        guard depth < Self.depthMax else {
            throw error("More than \(Self.depthMax) parentheses are inside one another.")
        }
        depth += 1
        defer { depth -= 1 }
        if take(word: "not") { return .not(try term()) }
        guard take("(") else { return try test() }
        let inner = try condition()
        try require(")")
        return inner
    }

    private mutating func test() throws(ConditionError) -> RecordCondition {
        let subject = try self.subject()
        let token = advance()
        switch token.kind {
        case .symbol(let symbol):
            if symbol == "=", next.kind == .symbol("=") {
                throw error("'==' is written '=' here.", at: token)
            }
            return try comparison(subject, symbol, at: token)
        case .word(let word):
            switch word.lowercased() {
            case "is":
                let isNegated = take(word: "not")
                try require(word: "null")
                let attribute = try subject.attribute(at: token)
                return isNegated ? .notEqual(attribute, .null) : .equal(attribute, .null)
            case "in": return try membership(subject)
            case "not":
                try require(word: "in")
                return .not(try membership(subject))
            case "contains": return .contains(try subject.text(at: token), try text())
            case "startswith": return .starts(try subject.text(at: token), with: try text())
            case "between":
                let attribute = try subject.attribute(at: token)
                let low = try value(of: subject)
                try require(word: "and")
                return .all([.atLeast(attribute, low), .atMost(attribute, try value(of: subject))])
            default: break
            }
        default: break
        }
        throw error(
            "Here one of = != < <= > >= in, contains, startsWith, is, between is missing.",
            at: token)
    }

    private mutating func comparison(
        _ subject: ConditionSubject, _ symbol: String, at token: ConditionToken
    ) throws(ConditionError) -> RecordCondition {
        guard ["=", "!=", "<", "<=", ">", ">="].contains(symbol) else {
            throw error("This is no comparison.", at: token)
        }
        let value = try value(of: subject)
        if case .recordName = subject, case .reference(let key) = value {
            switch symbol {
            case "=": return .records([key])
            case "!=": return .not(.records([key]))
            default: throw error("Record names are in no order here.", at: token)
            }
        }
        let attribute = try subject.attribute(at: token)
        return switch symbol {
        case "=": .equal(attribute, value)
        case "!=": .notEqual(attribute, value)
        case "<": .less(attribute, than: value)
        case "<=": .atMost(attribute, value)
        case ">": .greater(attribute, than: value)
        default: .atLeast(attribute, value)
        }
    }

    private mutating func membership(
        _ subject: ConditionSubject
    ) throws(ConditionError) -> RecordCondition {
        try require("(")
        var values: [RecordValue] = []
        repeat { values.append(try value(of: subject)) } while take(",")
        try require(")")
        guard case .attribute(let name, _) = subject else {
            return .records(
                values.compactMap { value in
                    guard case .reference(let key) = value else { return nil }
                    return key
                })
        }
        return .member(name, of: values)
    }

    // MARK: Names and values

    private mutating func subject() throws(ConditionError) -> ConditionSubject {
        let token = advance()
        let name: String
        switch token.kind {
        case .word(let word): name = word
        case .name(let text): name = text
        default: throw error("Here the name of an attribute is missing.", at: token)
        }
        if let attribute = entity.attribute(named: name), attribute.isDeclared,
            let type = attribute.schema?.type
        {
            return .attribute(name, type)
        }
        if name == Self.recordName { return .recordName }
        let known = entity.attributes.filter(\.isDeclared).map(\.name).joined(separator: ", ")
        throw error(
            "\(entity.name) has no attribute '\(name.printable)'. It has: \(known); and "
                + "\(Self.recordName).", at: token)
    }

    private mutating func text() throws(ConditionError) -> String {
        let token = advance()
        guard case .string(let text) = token.kind else {
            throw error("Here text in quotes is missing.", at: token)
        }
        return text
    }

    private mutating func value(of subject: ConditionSubject) throws(ConditionError) -> RecordValue
    {
        let token = advance()
        do throws(ConditionLiteral.Misfit) {
            return try ConditionLiteral.value(token.kind, as: subject.type)
        } catch {
            throw self.error(error.message, at: token)
        }
    }
}

/// What a condition asks about.
enum ConditionSubject: Hashable {
    case recordName
    case attribute(String, AttributeType)

    var type: AttributeType {
        switch self {
        case .recordName: .reference
        case .attribute(_, let type): type
        }
    }

    func attribute(at token: ConditionToken) throws(ConditionError) -> String {
        guard case .attribute(let name, _) = self else {
            throw ConditionError(
                message: "A record name can only be compared with = != and in.",
                position: token.position)
        }
        return name
    }

    func text(at token: ConditionToken) throws(ConditionError) -> String {
        guard type == .string || type == .url else {
            throw ConditionError(
                message: "Only text can contain or start with text, and this is \(type).",
                position: token.position)
        }
        return try attribute(at: token)
    }
}
