@testable import BackstitchCore

/// A schema of the hub's description: the keywords of JSON Schema that it uses.
struct JSONSchema: Sendable {
    /// The name of the schema that this one stands for.
    var reference: String?
    var types: Set<String>?
    var properties: [String: JSONSchema] = [:]
    var required: [String] = []
    /// What members without a schema of their own must be like; none where the list is empty.
    var additional: [JSONSchema]?
    var items: [JSONSchema] = []
    var allowed: [JSONValue]?
    var allOf: [JSONSchema] = []
    var anyOf: [JSONSchema] = []
    var oneOf: [JSONSchema] = []
    var excluded: [JSONSchema] = []
    var minimum: Double?
    var maximum: Double?
    var lengths = 0...Int.max
    var counts = 0...Int.max
    var pattern: String?

    /// What is wrong with a schema.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    init(_ json: JSONValue, at place: String) throws {
        guard case .object(let members) = json else {
            throw Failure(description: "\(place) is no object.")
        }
        for member in members {
            try take(member.value, of: member.name, at: "\(place)/\(member.name)")
        }
    }

    private mutating func take(_ value: JSONValue, of keyword: String, at place: String) throws {
        switch keyword {
        case "$ref": reference = value.text.split(separator: "/").last.map(String.init)
        case "type": types = Set(value.elements.isEmpty ? [value.text] : value.elements.map(\.text))
        case "properties":
            for member in value.members {
                properties[member.name] = try JSONSchema(member.value, at: place)
            }
        case "required": required = value.elements.map(\.text)
        case "additionalProperties":
            additional = value == .bool(false) ? [] : [try JSONSchema(value, at: place)]
        case "items": items = [try JSONSchema(value, at: place)]
        case "enum": allowed = value.elements
        case "const": allowed = [value]
        case "allOf": allOf = try value.elements.map { try JSONSchema($0, at: place) }
        case "anyOf": anyOf = try value.elements.map { try JSONSchema($0, at: place) }
        case "oneOf": oneOf = try value.elements.map { try JSONSchema($0, at: place) }
        case "not": excluded = [try JSONSchema(value, at: place)]
        case "minimum": minimum = value.finite
        case "maximum": maximum = value.finite
        case "minLength": lengths = value.count...lengths.upperBound
        case "maxLength": lengths = lengths.lowerBound...value.count
        case "minItems": counts = value.count...counts.upperBound
        case "maxItems": counts = counts.lowerBound...value.count
        case "pattern": pattern = value.text
        case "description", "x-http-status": break
        default: throw Failure(description: "\(place) is a keyword that nothing checks.")
        }
    }

    /// The schemas inside of this one.
    var parts: [JSONSchema] {
        Array(properties.values) + (additional ?? []) + items + allOf + anyOf + oneOf + excluded
    }
}

extension JSONValue {
    /// The text of a text; empty for anything else.
    var text: String { if case .string(let text) = self { text } else { "" } }
    var elements: [JSONValue] { if case .array(let elements) = self { elements } else { [] } }
    var members: [Member] { if case .object(let members) = self { members } else { [] } }
    var finite: Double? { if case .number(let text) = self { Double(text) } else { nil } }
    var count: Int { finite.map { Int($0) } ?? 0 }

    subscript(_ name: String) -> JSONValue {
        members.first { $0.name == name }?.value ?? .null
    }

    /// The value without members that are null, which requests take as absent.
    var withoutNulls: JSONValue {
        switch self {
        case .object(let members):
            .object(
                members.filter { $0.value != .null }.map {
                    Member(name: $0.name, value: $0.value.withoutNulls)
                })
        case .array(let elements): .array(elements.map(\.withoutNulls))
        default: self
        }
    }
}
