import Backstitch
import BackstitchCore
import Terminal

/// Reads a condition from text.
///
/// ```
/// condition  = conjunction { "or" conjunction }
/// conjunction = term { "and" term }
/// term       = "not" term | "(" condition ")" | subject test | "any" "(" relation ")"
///            | "count" "(" relation ")" ( "=" | "!=" | "<" | "<=" | ">" | ">=" ) number
/// subject    = name { "." name } | function "(" name { "." name } [ "," zone ] ")"
/// function   = "fold" | "day" | "week" | "month" | "year"
/// relation   = ( subject | entity "." name ) [ "where" condition ]
/// test       = ( "=" | "!=" | "<" | "<=" | ">" | ">=" ) value
///            | [ "not" ] "in" "(" value { "," value } ")"
///            | "contains" text | "startsWith" text
///            | "is" [ "not" ] ( "null" | "empty" ) | "between" value "and" value
/// ```
///
/// In a condition on the elements of a list, `value` is the element.
struct ConditionParser {
    /// The most characters of a text.
    static let lengthMax = 65_536
    /// The most parentheses and negations inside one another.
    static let depthMax = 50
    /// The name of a record, if no attribute has that name.
    static let recordName = "recordName"

    /// The name of a list's element.
    static let elementName = "value"

    private let tokens: [ConditionToken]
    private let catalog: [CatalogEntity]
    /// What names are looked up in: another one within the parentheses of a relation.
    private var scope: ConditionScope
    private var index = 0
    private var depth = 0

    /// The condition that a text spells on an entity's records.
    ///
    /// - Parameter catalog: The entities that conditions may lead to.
    static func parse(
        _ text: String, of entity: CatalogEntity, in catalog: [CatalogEntity]
    ) throws(ConditionError) -> RecordQuery.Condition {
        guard text.count <= lengthMax else {
            throw ConditionError(
                message: "The condition has more than \(lengthMax) characters.", position: 0)
        }
        var parser = ConditionParser(
            tokens: try ConditionLexer.tokens(text), catalog: catalog, scope: .entity(entity))
        let condition = try parser.condition()
        guard parser.next.kind == .end else {
            throw parser.error("Here 'and', 'or' or the end is missing.")
        }
        return condition
    }

    private init(tokens: [ConditionToken], catalog: [CatalogEntity], scope: ConditionScope) {
        self.tokens = tokens
        self.catalog = catalog
        self.scope = scope
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

    private mutating func condition() throws(ConditionError) -> RecordQuery.Condition {
        var parts = [try conjunction()]
        while take(word: "or") { parts.append(try conjunction()) }
        return parts.count == 1 ? parts[0] : .any(parts)
    }

    private mutating func conjunction() throws(ConditionError) -> RecordQuery.Condition {
        var parts = [try term()]
        while take(word: "and") { parts.append(try term()) }
        return parts.count == 1 ? parts[0] : .all(parts)
    }

    private mutating func term() throws(ConditionError) -> RecordQuery.Condition {
        guard depth < Self.depthMax else {
            throw error("More than \(Self.depthMax) parentheses are inside one another.")
        }
        depth += 1
        defer { depth -= 1 }
        if take(word: "not") { return .not(try term()) }
        if isFunction("any") { return try any() }
        if isFunction("count") { return try count() }
        guard take("(") else { return try test() }
        let inner = try condition()
        try require(")")
        return inner
    }

    // MARK: Relations

    /// Whether a word and a parenthesis come next, which no test of an attribute begins with.
    private func isFunction(_ name: String) -> Bool {
        guard case .word(let word) = next.kind, word.lowercased() == name else { return false }
        return tokens[min(index + 1, tokens.count - 1)].kind == .symbol("(")
    }

    /// Whether there is an element of a list, or a record that refers to this one.
    private mutating func any() throws(ConditionError) -> RecordQuery.Condition {
        _ = advance()
        try require("(")
        switch try relation() {
        case .list(let name, let type):
            let inner = try innerCondition(.element(type))
            return inner.map { .anyElement(of: name, $0) } ?? .count(name, 1...)
        case .referrers(let other, let reference):
            let inner = try innerCondition(.entity(other))
            return .referrers(other.name, by: reference, 1..., fulfilling: inner)
        }
    }

    /// How many elements a list has, or records refer to this one.
    private mutating func count() throws(ConditionError) -> RecordQuery.Condition {
        _ = advance()
        try require("(")
        switch try relation() {
        case .list(let name, _):
            try require(")")
            let (comparison, number) = try self.number()
            return .count(name, comparison, number)
        case .referrers(let other, let reference):
            let inner = try innerCondition(.entity(other))
            let (comparison, number) = try self.number()
            return .referrers(other.name, by: reference, comparison, number, fulfilling: inner)
        }
    }

    /// The condition behind 'where', if there is one, and the closing parenthesis.
    private mutating func innerCondition(
        _ inner: ConditionScope
    ) throws(ConditionError) -> RecordQuery.Condition? {
        var result: RecordQuery.Condition?
        if take(word: "where") {
            let outer = scope
            scope = inner
            result = try condition()
            scope = outer
        }
        try require(")")
        return result
    }

    private enum Relation {
        case list(String, of: AttributeType)
        case referrers(CatalogEntity, by: String)
    }

    private mutating func relation() throws(ConditionError) -> Relation {
        let token = next
        if case .entity(let entity) = scope, let name = token.name,
            entity.declaredAttribute(named: name) == nil,
            let other = catalog.first(where: { $0.name == name })
        {
            _ = advance()
            try require(".")
            let reference = advance()
            guard let name = reference.name,
                other.declaredAttribute(named: name)?.schema?.reference?.target == entity.name
            else {
                throw error(
                    "Here an attribute of \(other.name) is missing that refers to \(entity.name).",
                    at: reference)
            }
            return .referrers(other, by: name)
        }
        let subject = try self.subject()
        guard case .attribute(let name, let type) = subject, let element = type.element else {
            throw error(
                "Here a list is missing, or an entity and its reference, as in Employee.department.",
                at: token)
        }
        return .list(name, of: element)
    }

    private mutating func number() throws(ConditionError) -> (Comparison, Int) {
        let symbol = advance()
        let comparisons: [String: Comparison] = [
            "=": .equal, "!=": .notEqual, "<": .less, "<=": .lessOrEqual, ">": .greater,
            ">=": .greaterOrEqual,
        ]
        guard case .symbol(let text) = symbol.kind, let comparison = comparisons[text] else {
            throw error("Here one of = != < <= > >= is missing.", at: symbol)
        }
        let token = advance()
        guard case .number(let text) = token.kind, let number = Int(text) else {
            throw error("Here a whole number is missing.", at: token)
        }
        return (comparison, number)
    }

    // MARK: Tests

    private mutating func test() throws(ConditionError) -> RecordQuery.Condition {
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
                if take(word: "empty") {
                    let name = try subject.counted(at: token)
                    return isNegated ? .count(name, 1...) : .count(name, 0)
                }
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
    ) throws(ConditionError) -> RecordQuery.Condition {
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
    ) throws(ConditionError) -> RecordQuery.Condition {
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
        if let function = Self.functions.first(where: { isFunction($0) }) {
            return try derived(function)
        }
        let token = advance()
        guard let name = token.name else {
            throw error("Here the name of an attribute is missing.", at: token)
        }
        switch scope {
        case .element(let type):
            guard name == Self.elementName else {
                throw error(
                    "Here only \(Self.elementName) is known, the element of the list.", at: token)
            }
            return .attribute(RecordQuery.Condition.element, type)
        case .entity(let entity):
            return try subject(name, of: entity, at: token)
        }
    }

    /// What is derived from an attribute: a text without case and accents, or a period of dates.
    private static let functions = ["fold", "day", "week", "month", "year"]

    private mutating func derived(_ function: String) throws(ConditionError) -> ConditionSubject {
        let token = advance()
        try require("(")
        let inner = try subject()
        var zone: String?
        if function != "fold", take(",") { zone = try text() }
        try require(")")
        guard case .attribute(let path, let type) = inner,
            let name = DerivedName(function, path, type, zone: zone)
        else {
            throw error(
                "\(function) needs \(function == "fold" ? "a text" : "a date, and may have a time zone").",
                at: token)
        }
        return .attribute(name.text, name.type)
    }

    /// An attribute, or one of the record that a reference leads to.
    private mutating func subject(
        _ name: String, of entity: CatalogEntity, at token: ConditionToken
    ) throws(ConditionError) -> ConditionSubject {
        guard let attribute = entity.declaredAttribute(named: name), let schema = attribute.schema
        else {
            if name == Self.recordName { return .recordName }
            let known = entity.attributes.filter(\.isDeclared).map(\.name)
                .joined(separator: ", ")
            throw error(
                "\(entity.name) has no attribute '\(name.printable)'. It has: \(known); and "
                    + "\(Self.recordName).", at: token)
        }
        guard take(".") else { return .attribute(name, schema.type) }
        guard let target = catalog.first(where: { $0.name == schema.reference?.target }) else {
            throw error("\(name) leads to no other record.", at: token)
        }
        let behind = advance()
        guard let second = behind.name else {
            throw error("Here the name of an attribute is missing.", at: behind)
        }
        switch try subject(second, of: target, at: behind) {
        case .recordName: return .attribute(name, .reference)
        case .attribute(let rest, let type): return .attribute(name + "." + rest, type)
        }
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

/// What the names of a condition belong to.
enum ConditionScope {
    case entity(CatalogEntity)
    /// A list's element, which has one name.
    case element(AttributeType)
}

extension ConditionToken {
    /// The name that the token spells; nil if it spells no name.
    fileprivate var name: String? {
        switch kind {
        case .word(let name), .name(let name): name
        default: nil
        }
    }
}

extension CatalogEntity {
    fileprivate func declaredAttribute(named name: String) -> CatalogAttribute? {
        attribute(named: name).flatMap { $0.isDeclared && $0.schema != nil ? $0 : nil }
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

    func counted(at token: ConditionToken) throws(ConditionError) -> String {
        guard type == .string || type == .url || type == .data || type.element != nil else {
            throw ConditionError(
                message: "Only text, data and lists can be empty, and this is \(type).",
                position: token.position)
        }
        return try attribute(at: token)
    }
}
