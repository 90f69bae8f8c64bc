/// `Double`.
enum DoubleTraits: FloatingTraits {
    static let type = AttributeType.double

    static func value(stored field: _FieldValue) -> RecordValue? {
        field.storedDouble.map { .double($0) }
    }

    static func value(service value: RecordValue) -> RecordValue? {
        switch value {
        case .double: value
        case .int64(let number): .double(Double(number))
        default: nil
        }
    }

    static func isReadable(_ value: RecordValue) -> Bool { self.value(service: value) != nil }
}

/// The types that keep their values as floating-point numbers of 64 bits.
protocol FloatingTraits: AttributeTraits where Content == Double {}

extension FloatingTraits {
    static var tag: FieldTag { .double }
    static var serviceType: ServiceFieldType { .double }

    static func content(of value: RecordValue) -> Double? {
        if case .double(let number) = value { number } else { nil }
    }

    static func value(_ content: Double) -> RecordValue { .double(content) }

    static func append(_ content: Double, to output: inout ByteBuffer) throws(FieldError) {
        guard content.isFinite else { throw FieldError(.notFinite) }
        output.append(little: content.bitPattern)
    }

    static func content(stored payload: UnsafeRawBufferPointer) throws(FieldError) -> Double {
        guard payload.count == 8 else { throw FieldError(.damaged) }
        return unsafe Double(bitPattern: payload.little(UInt64.self, at: 0))
    }

    static func appendKey(_ content: Double, to output: inout ByteBuffer, textBytesMax: Int) {
        OrderedKey.appendDouble(content, to: &output)
    }

    static func keyByteCount(in bytes: UnsafeRawBufferPointer) -> Int? { 9 }

    static func converted(_ value: RecordValue) -> RecordValue? {
        switch value {
        case .double: value
        case .int64(let number): Double(exactly: number).map { .double($0) }
        default: nil
        }
    }

    static func violation(of content: Double) -> String? {
        content.isFinite ? nil : "the number is NaN or infinite"
    }

    static func serviceValue(_ content: Double, isLossless: Bool) -> ServiceValue {
        .double(content)
    }

    static func text(_ content: Double) -> String { "\(content)" }

    // The shortest text that reads as the same number.
    static func appendJSON(_ content: Double, to output: inout ByteBuffer) {
        output.append(utf8: "\(content)")
    }

    static func content(json: JSONValue) throws(ValueError) -> Double? {
        guard case .number(let text) = json else { return nil }
        return try TaggedJSON.double(text)
    }

    static func literal(_ text: String, isQuoted: Bool) -> RecordValue? {
        guard !isQuoted, !text.hasPrefix("0x"), let number = Double(text), number.isFinite else {
            return nil
        }
        return .double(number)
    }

    static var literalExample: String { "4.5" }
    static var isNumber: Bool { true }
}
