/// `Bool`.
enum BoolTraits: AttributeTraits {
    static let type = AttributeType.bool
    static let tag = FieldTag.bool
    static let serviceType = ServiceFieldType.int64

    static func content(of value: RecordValue) -> Bool? {
        if case .bool(let bool) = value { bool } else { nil }
    }

    static func value(_ content: Bool) -> RecordValue { .bool(content) }

    static func append(_ content: Bool, to output: inout ByteBuffer) throws(FieldError) {
        output.append(content ? 1 : 0)
    }

    static func content(stored payload: UnsafeRawBufferPointer) throws(FieldError) -> Bool {
        guard payload.count == 1 else { throw FieldError(.damaged) }
        return unsafe payload[0] != 0
    }

    static func value(stored field: _FieldValue) -> RecordValue? {
        field.storedBool.map { .bool($0) }
    }

    static func isBefore(_ left: Bool, _ right: Bool) -> Bool { !left && right }

    static func appendKey(_ content: Bool, to output: inout ByteBuffer, textBytesMax: Int) {
        OrderedKey.appendBool(content, to: &output)
    }

    static func keyByteCount(in bytes: UnsafeRawBufferPointer) -> Int? { 2 }

    static func converted(_ value: RecordValue) -> RecordValue? {
        switch value {
        case .bool: value
        case .int64(let number): number == 0 || number == 1 ? .bool(number == 1) : nil
        default: nil
        }
    }

    static func isReadable(_ value: RecordValue) -> Bool { converted(value) != nil }

    static func serviceValue(_ content: Bool, isLossless: Bool) -> ServiceValue {
        .int64(content ? 1 : 0)
    }

    static func text(_ content: Bool) -> String { "\(content)" }

    static func appendJSON(_ content: Bool, to output: inout ByteBuffer) {
        output.append(utf8: "\(content)")
    }

    static func content(json: JSONValue) throws(ValueError) -> Bool? {
        if case .bool(let bool) = json { bool } else { nil }
    }

    static func literal(_ text: String, isQuoted: Bool) -> RecordValue? {
        switch text {
        case _ where isQuoted: nil
        case "true", "1": .bool(true)
        case "false", "0": .bool(false)
        default: nil
        }
    }

    static let literalExample = "true or false"
}
