/// `String`.
enum StringTraits: TextTraits {
    static let type = AttributeType.string
}

/// The types that keep their values as text.
protocol TextTraits: AttributeTraits where Content == String {}

extension TextTraits {
    static var tag: FieldTag { .string }
    static var serviceType: ServiceFieldType { .string }

    static func content(of value: RecordValue) -> String? {
        if case .string(let text) = value { text } else { nil }
    }

    static func value(_ content: String) -> RecordValue { .string(content) }

    static func append(_ content: String, to output: inout ByteBuffer) throws(FieldError) {
        output.append(utf8: content)
    }

    static func content(stored payload: UnsafeRawBufferPointer) throws(FieldError) -> String {
        unsafe String(stored: payload)
    }

    static func appendKey(_ content: String, to output: inout ByteBuffer, textBytesMax: Int) {
        var text = content
        output.append(OrderedKey.present)
        text.withUTF8 {
            unsafe OrderedKey.appendText(
                UnsafeRawBufferPointer($0), to: &output, bytesMax: textBytesMax)
        }
    }

    static func keyByteCount(in bytes: UnsafeRawBufferPointer) -> Int? {
        unsafe OrderedKey.textByteCount(in: bytes)
    }

    static func serviceValue(_ content: String, isLossless: Bool) -> ServiceValue {
        .string(content)
    }

    static func text(_ content: String) -> String {
        content.count > 40 ? "\"\(content.prefix(40))…\"" : "\"\(content)\""
    }

    static func appendJSON(_ content: String, to output: inout ByteBuffer) {
        output.append(jsonText: content)
    }

    static func content(json: JSONValue) throws(ValueError) -> String? {
        if case .string(let text) = json { text } else { nil }
    }

    static func literal(_ text: String, isQuoted: Bool) -> RecordValue? {
        isQuoted ? .string(text) : nil
    }

    static var literalExample: String { "'text'" }
}
