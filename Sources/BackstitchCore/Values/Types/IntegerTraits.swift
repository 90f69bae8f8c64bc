/// What types have in common whose values are whole numbers of 64 bits.
package protocol IntegerTraits: AttributeTraits where Content == Int64 {
    /// The mean of so many values.
    static func mean(ofSum sum: Int128, count: Int) -> RecordValue
}

extension IntegerTraits {
    package static var serviceType: ServiceFieldType { .int64 }

    package static func append(
        _ content: Int64, to output: inout ByteBuffer
    ) throws(FieldError) {
        output.append(little: content)
    }

    package static func content(
        stored payload: UnsafeRawBufferPointer
    ) throws(FieldError) -> Int64 {
        guard payload.count == 8 else { throw FieldError(.damaged) }
        return unsafe payload.little(Int64.self, at: 0)
    }

    package static func appendKey(
        _ content: Int64, to output: inout ByteBuffer, textBytesMax: Int
    ) {
        OrderedKey.appendInteger(content, to: &output)
    }

    package static func keyByteCount(in bytes: UnsafeRawBufferPointer) -> Int? { 9 }

    package static func serviceValue(
        _ content: Int64, isLossless: Bool
    ) -> ServiceValue {
        .int64(content)
    }

    package static func text(_ content: Int64) -> String { "\(content)" }

    package static func appendJSON(_ content: Int64, to output: inout ByteBuffer) {
        output.append(decimal: content)
    }

    package static func content(json: JSONValue) throws(ValueError) -> Int64? {
        guard case .number(let text) = json else { return nil }
        return try TaggedJSON.integer(text)
    }

    package static func mean(ofSum sum: Int128, count: Int) -> RecordValue {
        .double(Double(sum) / Double(count))
    }
}

extension RecordValue {
    /// The whole number that the value is kept as; nil if it is kept otherwise.
    package var wholeNumber: Int64? {
        if case .int64(let number) = self { return number }
        return (traits as? any IntegerTraits.Type)?.content(of: self)
    }
}

extension AttributeType {
    /// The value that is kept as a whole number; null if the type keeps its values otherwise.
    package func value(wholeNumber: Int64) -> RecordValue {
        (traits as? any IntegerTraits.Type)?.value(wholeNumber) ?? .null
    }

    /// The mean of so many values that are kept as whole numbers.
    package func mean(ofSum sum: Int128, count: Int) -> RecordValue {
        (traits as? any IntegerTraits.Type)?.mean(ofSum: sum, count: count) ?? .null
    }
}
