/// ``GeoLocation``, which has no order.
enum LocationTraits: AttributeTraits {
    static let type = AttributeType.location
    static let tag = FieldTag.location
    static let serviceType = ServiceFieldType.location
    static let isOrdered = false
    static let readsAll = false

    static func content(of value: RecordValue) -> GeoLocation? {
        if case .location(let place) = value { place } else { nil }
    }

    static func value(_ content: GeoLocation) -> RecordValue { .location(content) }

    static func append(_ content: GeoLocation, to output: inout ByteBuffer) throws(FieldError) {
        guard content.latitude.isFinite, content.longitude.isFinite else {
            throw FieldError(.notFinite)
        }
        output.append(little: content.latitude.bitPattern)
        output.append(little: content.longitude.bitPattern)
    }

    static func content(stored payload: UnsafeRawBufferPointer) throws(FieldError) -> GeoLocation {
        try unsafe _FieldValue(tag: tag, payload: payload).location()
    }

    static func isBefore(_ left: GeoLocation, _ right: GeoLocation) -> Bool { false }

    static func appendKey(_ content: GeoLocation, to output: inout ByteBuffer, textBytesMax: Int) {
        output.append(OrderedKey.null)
    }

    static func keyByteCount(in bytes: UnsafeRawBufferPointer) -> Int? { nil }

    static func value(service value: RecordValue) -> RecordValue? {
        isReadable(value) ? value : nil
    }

    static func isReadable(_ value: RecordValue) -> Bool { content(of: value)?.isValid ?? false }

    static func violation(of content: GeoLocation) -> String? {
        content.isValid ? nil : "the place is not on earth"
    }

    static func serviceValue(
        _ content: GeoLocation, isLossless: Bool
    ) -> ServiceValue {
        .location(content)
    }

    static func text(_ content: GeoLocation) -> String {
        "\(content.latitude), \(content.longitude)"
    }

    static func appendJSON(_ content: GeoLocation, to output: inout ByteBuffer) {
        output.append(utf8: "{\"latitude\":\(content.latitude),")
        output.append(utf8: "\"longitude\":\(content.longitude)}")
    }

    static func content(json: JSONValue) throws(ValueError) -> GeoLocation? {
        guard case .object(let parts) = json else { return nil }
        var numbers: [String: Double] = [:]
        for part in parts {
            guard case .number(let text) = part.value else { continue }
            numbers[part.name] = try TaggedJSON.double(text)
        }
        guard parts.count == 2, let latitude = numbers["latitude"],
            let longitude = numbers["longitude"]
        else {
            throw ValueError(
                reason: "a location has the numbers latitude and longitude.")
        }
        return GeoLocation(latitude: latitude, longitude: longitude)
    }

    static func literal(_ text: String, isQuoted: Bool) -> RecordValue? { nil }

    static let literalExample = "null; locations and lists are compared with nothing else"
}
