import Backstitch
import BackstitchCore

/// What a literal means beside an attribute of a type.
enum ConditionLiteral {
    struct Misfit: Error {
        let message: String
    }

    static func value(
        _ token: ConditionToken.Kind, as type: AttributeType
    ) throws(Misfit) -> RecordValue {
        let value: RecordValue?
        switch token {
        case .word(let word):
            let word = word.lowercased()
            if word == "null" { return .null }
            let isTruth = word == "true" || word == "false"
            value = isTruth ? type.traits?.literal(word, isQuoted: false) : nil
        case .number(let text): value = type.traits?.literal(text, isQuoted: false)
        case .string(let text): value = type.traits?.literal(text, isQuoted: true)
        default: throw Misfit(message: "Here a value is missing.")
        }
        guard let value else {
            let example = type.traits?.literalExample ?? noLiteral
            throw Misfit(
                message: "This is not a value of the type \(type). Write it as \(example).")
        }
        return value
    }

    private static let noLiteral = "null; locations and lists are compared with nothing else"
}
