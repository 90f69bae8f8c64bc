import Foundation

/// Values as objects with one member that is named by the kind, as `Codable` has them too; exact.
extension RecordValue {
    /// Appends the value as JSON.
    package func write(taggedInto output: inout ByteBuffer) {
        switch self {
        case .null: output.append(utf8: "null")
        case .list(let elements):
            output.append(utf8: "{\"list\":[")
            for (index, element) in elements.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                element.write(taggedInto: &output)
            }
            output.append(utf8: "]}")
        case .unknown(let value):
            output.append(utf8: "{\"unknown\":{\"typeName\":")
            output.append(jsonText: value.typeName)
            output.append(utf8: ",\"json\":")
            output.append(jsonText: value.json)
            output.append(utf8: "}}")
        default:
            output.append(utf8: "{\"\(tag.name)\":")
            traits?.appendJSON(of: self, to: &output)
            output.append(UInt8(ascii: "}"))
        }
    }

    /// Reads a value.
    package init(tagged json: JSONValue) throws(ValueError) {
        if case .null = json {
            self = .null
            return
        }
        guard case .object(let members) = json, members.count == 1 else {
            throw Self.failure(
                "a value is null or an object with one member, such as {\"int64\":1}.")
        }
        let (kind, content) = (members[0].name, members[0].value)
        switch (kind, content) {
        case ("list", .array(let elements)):
            var values: [RecordValue] = []
            for element in elements { values.append(try RecordValue(tagged: element)) }
            self = .list(values)
        case ("unknown", .object(let parts)): self = .unknown(try Self.unknown(parts))
        default:
            if let value = try AttributeTypes[kind: kind]?.value(json: content) {
                self = value
                return
            }
            throw Self.failure(
                Self.kinds.contains(kind)
                    ? "the member \"\(kind)\" has content of another type."
                    : "there is no kind \"\(kind)\". The kinds are: "
                        + Self.kinds.joined(separator: ", ") + ".")
        }
    }

    private static var kinds: [String] { AttributeTypes.kinds + ["list", "unknown"] }

    private static func failure(_ reason: String) -> ValueError {
        ValueError(reason: reason)
    }

    private static func unknown(
        _ parts: [JSONValue.Member]
    ) throws(ValueError) -> UnknownValue {
        var texts: [String: String] = [:]
        for part in parts {
            guard case .string(let text) = part.value else { continue }
            texts[part.name] = text
        }
        guard parts.count == 2, let typeName = texts["typeName"], let json = texts["json"] else {
            throw failure("a value of an unknown type has the texts typeName and json.")
        }
        let value = UnknownValue(typeName: typeName, json: json)
        if let violation = value.violation { throw failure("\(violation).") }
        return value
    }
}

/// Parts of values in JSON that have to be exact.
enum TaggedJSON {
    static func required<Part>(
        _ part: Part?, _ reason: String
    ) throws(ValueError) -> Part {
        guard let part else { throw ValueError(reason: reason) }
        return part
    }

    static func integer(_ text: String) throws(ValueError) -> Int64 {
        try required(
            Int64(text), "the number \(text.prefix(40)) is no whole number of 64 bits.")
    }

    static func double(_ text: String) throws(ValueError) -> Double {
        guard let number = Double(text), number.isFinite else {
            throw ValueError(
                reason: "the number \(text.prefix(40)) is out of the range of a double.")
        }
        return number
    }

    static func decimal(_ text: String) throws(ValueError) -> Decimal {
        // `Decimal` reads what it understands of a text, and rounds: both would lose something.
        guard isDecimal(text), let decimal = Decimal(string: text), decimal.isFinite else {
            throw ValueError(reason: "that is no decimal number.")
        }
        return decimal
    }

    private static func isDecimal(_ text: String) -> Bool {
        guard case .number? = try? JSONParser.parse(Array(text.utf8)) else { return false }
        return text.utf8.allSatisfy { $0 > 0x20 }
    }
}
