import Foundation

/// Values as objects with one member that is named by the kind, as `Codable` has them too; exact.
extension Value {
    /// Appends the value as JSON.
    package func write(taggedInto output: inout ByteBuffer) {
        switch self {
        case .null: output.append(utf8: "null")
        case .bool(let bool): output.append(utf8: "{\"bool\":\(bool)}")
        case .int64(let number): output.append(utf8: "{\"int64\":\(number)}")
        // The shortest text that reads as the same number.
        case .double(let number): output.append(utf8: "{\"double\":\(number)}")
        case .string(let text): Self.write("string", text, &output)
        case .bytes(let data): Self.write("bytes", data.base64EncodedString(), &output)
        case .date(let milliseconds): output.append(utf8: "{\"date\":\(milliseconds)}")
        case .decimal(let decimal): Self.write("decimal", decimal.description, &output)
        case .uuid(let uuid): Self.write("uuid", uuid.uuidString, &output)
        case .reference(let key):
            Self.write("reference", EntityID<Never>(key: key).text, &output)
        case .location(let place):
            output.append(utf8: "{\"location\":{\"latitude\":\(place.latitude),")
            output.append(utf8: "\"longitude\":\(place.longitude)}}")
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
        }
    }

    private static func write(_ kind: String, _ text: String, _ output: inout ByteBuffer) {
        output.append(utf8: "{\"\(kind)\":")
        output.append(jsonText: text)
        output.append(UInt8(ascii: "}"))
    }

    /// Reads a value.
    package init(tagged json: JSONValue) throws(RecordLine.Failure) {
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
        case ("bool", .bool(let bool)): self = .bool(bool)
        case ("string", .string(let text)): self = .string(text)
        case ("int64", .number(let text)): self = .int64(try Self.integer(text))
        case ("date", .number(let text)): self = .date(milliseconds: try Self.integer(text))
        case ("double", .number(let text)): self = .double(try Self.double(text))
        case ("bytes", .string(let text)):
            self = .bytes(try Self.required(Data(base64Encoded: text), "that is no Base64."))
        case ("uuid", .string(let text)):
            self = .uuid(try Self.required(UUID(uuidString: text), "that is no UUID."))
        case ("decimal", .string(let text)): self = .decimal(try Self.decimal(text))
        case ("reference", .string(let text)): self = .reference(EntityID<Never>(text: text).key)
        case ("location", .object(let parts)): self = .location(try Self.location(parts))
        case ("list", .array(let elements)):
            var values: [Value] = []
            for element in elements { values.append(try Value(tagged: element)) }
            self = .list(values)
        case ("unknown", .object(let parts)): self = .unknown(try Self.unknown(parts))
        default:
            throw Self.failure(
                Self.kinds.contains(kind)
                    ? "the member \"\(kind)\" has content of another type."
                    : "there is no kind \"\(kind)\". The kinds are: "
                        + Self.kinds.joined(separator: ", ") + ".")
        }
    }

    private static let kinds = [
        "bool", "int64", "double", "string", "bytes", "date", "decimal", "uuid", "reference",
        "location", "list", "unknown",
    ]

    private static func failure(_ reason: String) -> RecordLine.Failure {
        RecordLine.Failure(reason: reason)
    }

    private static func required<Part>(
        _ part: Part?, _ reason: String
    ) throws(RecordLine.Failure) -> Part {
        guard let part else { throw failure(reason) }
        return part
    }

    private static func integer(_ text: String) throws(RecordLine.Failure) -> Int64 {
        try required(
            Int64(text), "the number \(text.prefix(40)) is no whole number of 64 bits.")
    }

    private static func double(_ text: String) throws(RecordLine.Failure) -> Double {
        guard let number = Double(text), number.isFinite else {
            throw failure("the number \(text.prefix(40)) is out of the range of a double.")
        }
        return number
    }

    private static func decimal(_ text: String) throws(RecordLine.Failure) -> Decimal {
        // `Decimal` reads what it understands of a text, and rounds: both would lose something.
        guard isDecimal(text), let decimal = Decimal(string: text), decimal.isFinite else {
            throw failure("that is no decimal number.")
        }
        return decimal
    }

    private static func isDecimal(_ text: String) -> Bool {
        guard case .number? = try? JSONParser.parse(Array(text.utf8)) else { return false }
        return text.utf8.allSatisfy { $0 > 0x20 }
    }

    private static func unknown(
        _ parts: [JSONValue.Member]
    ) throws(RecordLine.Failure) -> UnknownValue {
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

    private static func location(
        _ parts: [JSONValue.Member]
    ) throws(RecordLine.Failure) -> Location {
        var numbers: [String: Double] = [:]
        for part in parts {
            guard case .number(let text) = part.value else { continue }
            numbers[part.name] = try double(text)
        }
        guard parts.count == 2, let latitude = numbers["latitude"],
            let longitude = numbers["longitude"]
        else { throw failure("a location has the numbers latitude and longitude.") }
        return Location(latitude: latitude, longitude: longitude)
    }
}
