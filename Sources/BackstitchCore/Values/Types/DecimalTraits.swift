import Foundation

/// `Decimal`.
enum DecimalTraits: AttributeTraits {
    static let type = AttributeType.decimal
    static let tag = FieldTag.decimal
    static let serviceType = ServiceFieldType.double

    static func content(of value: RecordValue) -> Decimal? {
        if case .decimal(let decimal) = value { decimal } else { nil }
    }

    static func value(_ content: Decimal) -> RecordValue { .decimal(content) }

    static func append(_ content: Decimal, to output: inout ByteBuffer) throws(FieldError) {
        guard content.isFinite else { throw FieldError(.notFinite) }
        output.append(utf8: content.description)
    }

    static func content(stored payload: UnsafeRawBufferPointer) throws(FieldError) -> Decimal {
        try unsafe _FieldValue(tag: tag, payload: payload).decimal()
    }

    static func value(stored field: _FieldValue) -> RecordValue? {
        (try? field.decimal()).map { .decimal($0) }
    }

    static func appendKey(_ content: Decimal, to output: inout ByteBuffer, textBytesMax: Int) {
        OrderedKey.appendDecimal(content, to: &output)
    }

    static func keyByteCount(in bytes: UnsafeRawBufferPointer) -> Int? {
        unsafe OrderedKey.decimalByteCount(in: bytes)
    }

    static func converted(_ value: RecordValue) -> RecordValue? {
        switch value {
        case .decimal: value
        case .int64(let number): .decimal(Decimal(number))
        case .double(let number): Decimal(string: "\(number)").map { .decimal($0) }
        default: nil
        }
    }

    static func value(service value: RecordValue) -> RecordValue? {
        if case .string(let text) = value { return Decimal(whole: text).map { .decimal($0) } }
        return converted(value)
    }

    static func isReadable(_ value: RecordValue) -> Bool { self.value(service: value) != nil }

    static func violation(of content: Decimal) -> String? {
        content.isFinite ? nil : "the number is NaN"
    }

    static func serviceValue(_ content: Decimal, isLossless: Bool) -> ServiceValue {
        let text = content.description
        if isLossless { return .string(text) }
        return Double(text).map { .double($0) } ?? .string(text)
    }

    static func text(_ content: Decimal) -> String { "\(content)" }

    static func appendJSON(_ content: Decimal, to output: inout ByteBuffer) {
        output.append(jsonText: content.description)
    }

    static func content(json: JSONValue) throws(ValueError) -> Decimal? {
        guard case .string(let text) = json else { return nil }
        return try TaggedJSON.decimal(text)
    }

    static func encode(
        _ content: Decimal, into container: inout KeyedEncodingContainer<ValueKey>, _ key: ValueKey
    ) throws {
        try container.encode(content.description, forKey: key)
    }

    static func content(
        from container: KeyedDecodingContainer<ValueKey>, _ key: ValueKey
    ) throws -> Decimal {
        guard let decimal = Decimal(string: try container.decode(String.self, forKey: key)) else {
            throw DecodingError.dataCorruptedError(
                forKey: key, in: container, debugDescription: "That is no decimal number.")
        }
        return decimal
    }

    static func literal(_ text: String, isQuoted: Bool) -> RecordValue? {
        guard !isQuoted, Double(text) != nil else { return nil }
        return Decimal(string: text).map { .decimal($0) }
    }

    static let literalExample = "4.5"
    static let isNumber = true
}
