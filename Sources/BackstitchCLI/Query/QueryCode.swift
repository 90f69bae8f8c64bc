import Backstitch
import BackstitchCore

/// Swift code of a query by names, which compiles without the types of an app.
enum QueryCode {
    /// - Parameter limit: The most records that the code asks for; nil for no limit.
    /// - Returns: nil for a condition that has no short form in code.
    static func text(_ query: RecordQuery, limit: Int?) -> String? {
        var text = "RecordQuery(entity: \(quoted(query.entity)))"
        for condition in query.conditions {
            guard let part = self.text(condition) else { return nil }
            text += "\n    .where(\(part))"
        }
        for step in query.sortSteps {
            let order = step.isReversed ? "order: .reverse" : ""
            if let attribute = step.attribute {
                let parts = ["by: " + quoted(attribute), order].filter { !$0.isEmpty }
                text += "\n    .sorted(\(parts.joined(separator: ", ")))"
            } else {
                text += "\n    .sortedByKey(\(order))"
            }
        }
        if let limit { text += "\n    .limit(\(limit))" }
        return text
    }

    private static func text(_ condition: BackstitchCore.Condition) -> String? {
        switch condition {
        case .comparison(let operand, let comparison, .constant(let value)):
            guard let path = path(operand), let value = text(value) else { return nil }
            return switch comparison {
            case .equal: ".equal(\(path), \(value))"
            case .notEqual: ".notEqual(\(path), \(value))"
            case .less: ".less(\(path), than: \(value))"
            case .lessOrEqual: ".atMost(\(path), \(value))"
            case .greater: ".greater(\(path), than: \(value))"
            case .greaterOrEqual: ".atLeast(\(path), \(value))"
            }
        case .membership(.recordKey, let values):
            let keys = values.map(text)
            guard !keys.contains(nil) else { return nil }
            let names = values.compactMap { value -> String? in
                guard case .reference(let key) = value else { return nil }
                return quoted("\(key.name)")
            }
            return ".records(named: [\(names.joined(separator: ", "))])"
        case .membership(let operand, let values):
            let texts = values.compactMap(text)
            guard let path = path(operand), texts.count == values.count else { return nil }
            return ".member(\(path), of: [\(texts.joined(separator: ", "))])"
        case .contains(let operand, .constant(.string(let text))):
            return path(operand).map { ".contains(\($0), \(quoted(text)))" }
        case .prefix(let operand, .constant(.string(let text))):
            return path(operand).map { ".starts(\($0), with: \(quoted(text)))" }
        case .all(let parts): return list(".all", parts)
        case .any(let parts): return list(".any", parts)
        case .not(let part): return text(part).map { ".not(\($0))" }
        default: return nil
        }
    }

    private static func list(_ name: String, _ parts: [BackstitchCore.Condition]) -> String? {
        let texts = parts.compactMap { text($0) }
        guard texts.count == parts.count else { return nil }
        return "\(name)([\(texts.joined(separator: ", "))])"
    }

    /// The name of an attribute, in quotes; with dots where it leads over references.
    private static func path(_ operand: Operand) -> String? {
        var names: [String] = []
        var rest = operand
        while case .related(let name, let next) = rest {
            names.append(name)
            rest = next
        }
        guard case .attribute(let name) = rest else { return nil }
        return quoted((names + [name]).joined(separator: "."))
    }

    private static func text(_ value: RecordValue) -> String? {
        switch value {
        case .null: ".null"
        case .bool(let value): "\(value)"
        case .int64(let number): "\(number)"
        case .double(let number) where number.isFinite: ".double(\(number))"
        case .string(let text): quoted(text)
        case .date(let milliseconds): ".date(milliseconds: \(milliseconds))"
        case .duration(let nanoseconds): ".duration(nanoseconds: \(nanoseconds))"
        case .reference(let key) where key.zone == 0:
            ".reference(RecordKey(\(quoted("\(key.name)"))))"
        default: nil
        }
    }

    /// A literal of Swift with a text.
    static func quoted(_ text: String) -> String {
        var literal = "\""
        for scalar in text.unicodeScalars {
            switch (scalar, scalar.properties.generalCategory) {
            case ("\"", _), ("\\", _): literal += "\\" + String(scalar)
            case (_, .control), (_, .format), (_, .lineSeparator), (_, .paragraphSeparator):
                literal += "\\u{" + String(scalar.value, radix: 16) + "}"
            default: literal.unicodeScalars.append(scalar)
            }
        }
        return literal + "\""
    }
}
