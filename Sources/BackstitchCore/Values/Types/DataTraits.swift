import Foundation

/// `Data`.
enum DataTraits: AttributeTraits {
    static let type = AttributeType.data
    static let tag = FieldTag.bytes
    static let serviceType = ServiceFieldType.bytes

    static func content(of value: RecordValue) -> Data? {
        if case .bytes(let data) = value { data } else { nil }
    }

    static func value(_ content: Data) -> RecordValue { .bytes(content) }

    static func append(_ content: Data, to output: inout ByteBuffer) throws(FieldError) {
        unsafe content.withUnsafeBytes { unsafe output.append($0) }
    }

    static func content(stored payload: UnsafeRawBufferPointer) throws(FieldError) -> Data {
        unsafe Data(payload)
    }

    static func isBefore(_ left: Data, _ right: Data) -> Bool {
        left.lexicographicallyPrecedes(right)
    }

    static func appendKey(_ content: Data, to output: inout ByteBuffer, textBytesMax: Int) {
        output.append(OrderedKey.present)
        unsafe content.withUnsafeBytes {
            unsafe OrderedKey.appendBytes($0, to: &output, bytesMax: textBytesMax)
        }
    }

    static func keyByteCount(in bytes: UnsafeRawBufferPointer) -> Int? {
        unsafe OrderedKey.textByteCount(in: bytes)
    }

    static func serviceValue(_ content: Data, isLossless: Bool) -> ServiceValue {
        .bytes(content)
    }

    static func text(_ content: Data) -> String { "\(content.count) bytes" }

    static func appendJSON(_ content: Data, to output: inout ByteBuffer) {
        output.append(jsonText: content.base64EncodedString())
    }

    static func content(json: JSONValue) throws(ValueError) -> Data? {
        guard case .string(let text) = json else { return nil }
        return try TaggedJSON.required(Data(base64Encoded: text), "that is no Base64.")
    }

    static func literal(_ text: String, isQuoted: Bool) -> RecordValue? {
        isQuoted ? Data(base64Encoded: text).map { .bytes($0) } : nil
    }

    static let literalExample = "Base64 in quotes"
}
