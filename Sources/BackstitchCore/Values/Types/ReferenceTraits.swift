/// The id of another record.
enum ReferenceTraits: AttributeTraits {
    static let type = AttributeType.reference
    static let tag = FieldTag.reference
    static let serviceType = ServiceFieldType.reference

    static func content(of value: RecordValue) -> RecordKey? {
        if case .reference(let key) = value { key } else { nil }
    }

    static func value(_ content: RecordKey) -> RecordValue { .reference(content) }

    static func append(_ content: RecordKey, to output: inout ByteBuffer) throws(FieldError) {
        if let violation = content.name.violation {
            throw FieldError(.invalidReference(violation))
        }
        output.append(content)
    }

    static func content(stored payload: UnsafeRawBufferPointer) throws(FieldError) -> RecordKey {
        try unsafe _FieldValue(tag: tag, payload: payload).reference()
    }

    static func appendKey(
        _ content: RecordKey, to output: inout ByteBuffer, textBytesMax: Int
    ) {
        unsafe content.bytes.withUnsafeBytes {
            unsafe OrderedKey.appendReference($0, to: &output, textBytesMax: textBytesMax)
        }
    }

    static func keyByteCount(in bytes: UnsafeRawBufferPointer) -> Int? {
        unsafe OrderedKey.referenceByteCount(in: bytes)
    }

    static func violation(of content: RecordKey) -> String? { content.name.violation }

    static func serviceValue(
        _ content: RecordKey, isLossless: Bool
    ) -> ServiceValue {
        .reference(ServiceReference(recordName: content.name.description, action: .none))
    }

    static func text(_ content: RecordKey) -> String { "\(content)" }

    static func appendJSON(_ content: RecordKey, to output: inout ByteBuffer) {
        output.append(jsonText: content.text)
    }

    static func content(json: JSONValue) throws(ValueError) -> RecordKey? {
        if case .string(let text) = json { RecordKey(text: text) } else { nil }
    }

    static func encode(
        _ content: RecordKey, into container: inout KeyedEncodingContainer<ValueKey>,
        _ key: ValueKey
    ) throws {
        try container.encode(content.text, forKey: key)
    }

    static func content(
        from container: KeyedDecodingContainer<ValueKey>, _ key: ValueKey
    ) throws -> RecordKey {
        RecordKey(text: try container.decode(String.self, forKey: key))
    }

    static func literal(_ text: String, isQuoted: Bool) -> RecordValue? {
        isQuoted ? .reference(RecordKey(RecordName(text))) : nil
    }

    static let literalExample = "a record name in quotes"
}
