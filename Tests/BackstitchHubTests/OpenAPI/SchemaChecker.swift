import BackstitchCore
import CloudKitWire
import Foundation

/// Checks values against schemas.
struct SchemaChecker: Sendable {
    /// The schemas that others refer to, by name.
    let schemas: [String: JSONSchema]

    /// What is wrong with a value; nothing where it is one of the schema.
    func problems(_ value: JSONValue, _ schema: JSONSchema, at place: String = "$") -> [String] {
        if let name = schema.reference {
            guard let target = schemas[name] else { return ["\(place): there is no \(name)"] }
            return problems(value, target, at: place)
        }
        var found: [String] = []
        if let types = schema.types, types.isDisjoint(with: value.types) {
            found.append("\(place): \(value.types.sorted()) instead of \(types.sorted())")
        }
        if let allowed = schema.allowed, !allowed.contains(value) {
            found.append("\(place): \(value) is not one of those allowed")
        }
        switch value {
        case .object(let members): found += problems(members, schema, at: place)
        case .array(let elements):
            if !schema.counts.contains(elements.count) {
                found.append("\(place): \(elements.count) elements")
            }
            guard let items = schema.items.first else { break }
            for (index, element) in elements.enumerated() {
                found += problems(element, items, at: "\(place)[\(index)]")
            }
        case .string(let text): found += problems(text, schema, at: place)
        case .number(let text):
            let number = Double(text) ?? .nan
            if let minimum = schema.minimum, !(number >= minimum) {
                found.append("\(place): \(text) is below \(minimum)")
            }
            if let maximum = schema.maximum, !(number <= maximum) {
                found.append("\(place): \(text) is above \(maximum)")
            }
        case .bool, .null: break
        }
        return found + combinedProblems(value, schema, at: place)
    }

    private func problems(
        _ members: [JSONValue.Member], _ schema: JSONSchema, at place: String
    ) -> [String] {
        var found: [String] = []
        for name in schema.required where !members.contains(where: { $0.name == name }) {
            found.append("\(place): '\(name)' is missing")
        }
        for member in members {
            let inside = "\(place).\(member.name)"
            if let property = schema.properties[member.name] {
                found += problems(member.value, property, at: inside)
            } else if let additional = schema.additional {
                guard let other = additional.first else {
                    found.append("\(inside): is not described")
                    continue
                }
                found += problems(member.value, other, at: inside)
            }
        }
        return found
    }

    private func problems(_ text: String, _ schema: JSONSchema, at place: String) -> [String] {
        var found: [String] = []
        if schema.lengths != 0...Int.max, !schema.lengths.contains(text.unicodeScalars.count) {
            found.append("\(place): \(text.unicodeScalars.count) characters")
        }
        if let pattern = schema.pattern,
            text.range(of: pattern, options: .regularExpression) == nil
        {
            found.append("\(place): '\(text)' is not like \(pattern)")
        }
        return found
    }

    private func combinedProblems(
        _ value: JSONValue, _ schema: JSONSchema, at place: String
    ) -> [String] {
        var found = schema.allOf.flatMap { problems(value, $0, at: place) }
        if !schema.anyOf.isEmpty {
            let each = schema.anyOf.map { problems(value, $0, at: place) }
            if each.allSatisfy({ !$0.isEmpty }) { found += Self.nearest(each, at: place) }
        }
        if !schema.oneOf.isEmpty {
            let each = schema.oneOf.map { problems(value, $0, at: place) }
            let count = each.count(where: \.isEmpty)
            if count == 0 { found += Self.nearest(each, at: place) }
            if count > 1 { found.append("\(place): \(count) of the schemas fit instead of one") }
        }
        for excluded in schema.excluded where problems(value, excluded, at: place).isEmpty {
            found.append("\(place): is what it must not be")
        }
        return found
    }

    /// The problems with the alternative that fits best.
    private static func nearest(_ each: [[String]], at place: String) -> [String] {
        ["\(place): fits no alternative"] + (each.min { $0.count < $1.count } ?? [])
    }
}

extension JSONValue {
    /// The names of the types that the value is of.
    fileprivate var types: Set<String> {
        switch self {
        case .null: ["null"]
        case .bool: ["boolean"]
        // A number without a fraction is an integer however it is written, as in JSON Schema.
        case .number(let text): Self.isWhole(text) ? ["number", "integer"] : ["number"]
        case .string: ["string"]
        case .array: ["array"]
        case .object: ["object"]
        }
    }

    private static func isWhole(_ text: String) -> Bool {
        guard Int64(text) == nil, let number = Double(text) else { return true }
        return number.rounded() == number && number.magnitude < 0x1p63
    }
}
