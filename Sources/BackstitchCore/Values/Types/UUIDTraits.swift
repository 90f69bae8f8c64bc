import Foundation

/// `UUID`.
enum UUIDTraits: AttributeTraits {
    static let type = AttributeType.uuid
    static let tag = FieldTag.uuid
    static let serviceType = ServiceFieldType.string

    static func content(of value: RecordValue) -> UUID? {
        if case .uuid(let uuid) = value { uuid } else { nil }
    }

    static func value(_ content: UUID) -> RecordValue { .uuid(content) }

    static func append(_ content: UUID, to output: inout ByteBuffer) throws(FieldError) {
        unsafe output.extend(by: 16).storeBytes(of: content.uuid, as: uuid_t.self)
    }

    static func content(stored payload: UnsafeRawBufferPointer) throws(FieldError) -> UUID {
        guard payload.count == 16 else { throw FieldError(.damaged) }
        return unsafe UUID(uuid: payload.loadUnaligned(as: uuid_t.self))
    }

    static func value(stored field: _FieldValue) -> RecordValue? {
        field.storedUUID.map { .uuid($0) }
    }

    static func isBefore(_ left: UUID, _ right: UUID) -> Bool {
        unsafe withUnsafeBytes(of: left.uuid) { one in
            unsafe withUnsafeBytes(of: right.uuid) { unsafe one.lexicographicallyPrecedes($0) }
        }
    }

    static func appendKey(_ content: UUID, to output: inout ByteBuffer, textBytesMax: Int) {
        OrderedKey.appendUUID(content, to: &output)
    }

    static func keyByteCount(in bytes: UnsafeRawBufferPointer) -> Int? { 17 }

    static func converted(_ value: RecordValue) -> RecordValue? {
        switch value {
        case .uuid: value
        case .string(let text): UUID(uuidString: text).map { .uuid($0) }
        default: nil
        }
    }

    static func isReadable(_ value: RecordValue) -> Bool { converted(value) != nil }

    static func serviceValue(_ content: UUID, isLossless: Bool) -> ServiceValue {
        .string(content.canonicalText)
    }

    static func text(_ content: UUID) -> String { content.uuidString }

    static func appendJSON(_ content: UUID, to output: inout ByteBuffer) {
        output.append(jsonText: content.uuidString)
    }

    static func content(json: JSONValue) throws(ValueError) -> UUID? {
        guard case .string(let text) = json else { return nil }
        return try TaggedJSON.required(UUID(uuidString: text), "that is no UUID.")
    }

    static func literal(_ text: String, isQuoted: Bool) -> RecordValue? {
        isQuoted ? UUID(uuidString: text).map { .uuid($0) } : nil
    }

    static let literalExample = "'00000000-0000-0000-0000-000000000000'"
}
