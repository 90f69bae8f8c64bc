/// ``Location``, which has no order.
enum LocationTraits: AttributeTraits {
    static let type = AttributeType.location
    static let tag = FieldTag.location
    static let serviceType = ServiceFieldType.location
    static let isOrdered = false
    static let readsAll = false

    static func content(of value: Value) -> Location? {
        if case .location(let place) = value { place } else { nil }
    }

    static func value(_ content: Location) -> Value { .location(content) }

    static func append(_ content: Location, to output: inout ByteBuffer) throws(FieldError) {
        guard content.latitude.isFinite, content.longitude.isFinite else {
            throw FieldError(.notFinite)
        }
        output.append(little: content.latitude.bitPattern)
        output.append(little: content.longitude.bitPattern)
    }

    static func content(stored payload: UnsafeRawBufferPointer) throws(FieldError) -> Location {
        try FieldValue(tag: tag, payload: payload).location()
    }

    static func isBefore(_ left: Location, _ right: Location) -> Bool { false }

    static func appendKey(_ content: Location, to output: inout ByteBuffer, textBytesMax: Int) {
        output.append(OrderedKey.null)
    }

    static func keyByteCount(in bytes: UnsafeRawBufferPointer) -> Int? { nil }

    static func value(service value: Value) -> Value? { isReadable(value) ? value : nil }

    static func isReadable(_ value: Value) -> Bool { content(of: value)?.isValid ?? false }

    static func violation(of content: Location) -> String? {
        content.isValid ? nil : "the place is not on earth"
    }

    static func serviceValue(
        _ content: Location, isLossless: Bool
    ) -> ServiceValue {
        .location(content)
    }

    static func text(_ content: Location) -> String {
        "\(content.latitude), \(content.longitude)"
    }

    static func appendJSON(_ content: Location, to output: inout ByteBuffer) {
        output.append(utf8: "{\"latitude\":\(content.latitude),")
        output.append(utf8: "\"longitude\":\(content.longitude)}")
    }

    static func content(json: JSONValue) throws(ValueMisfit) -> Location? {
        guard case .object(let parts) = json else { return nil }
        var numbers: [String: Double] = [:]
        for part in parts {
            guard case .number(let text) = part.value else { continue }
            numbers[part.name] = try TaggedJSON.double(text)
        }
        guard parts.count == 2, let latitude = numbers["latitude"],
            let longitude = numbers["longitude"]
        else {
            throw ValueMisfit(
                reason: "a location has the numbers latitude and longitude.")
        }
        return Location(latitude: latitude, longitude: longitude)
    }

    static func literal(_ text: String, isQuoted: Bool) -> Value? { nil }

    static let literalExample = "null; locations and lists are compared with nothing else"
}
