/// Tests of texts without case and accents.
extension BoundCondition {
    /// The test of a folded attribute against a text, which is folded too; nil for other conditions.
    static func foldedTest(_ attribute: AttributeBinding, _ condition: Condition) -> Test? {
        guard attribute.derivation == .folded else { return nil }
        let holds: @Sendable (UnsafeRawBufferPointer) -> Bool
        switch condition {
        case .comparison(.attribute, let comparison, .constant(.string(let constant))):
            let constant = TextConstant(constant)
            unsafe holds = { unsafe constant.holds(comparison, $0) }
        case .contains(.attribute, .constant(.string(let part))):
            let part = TextConstant(part)
            unsafe holds = { unsafe part.isContained(in: $0) }
        case .prefix(.attribute, .constant(.string(let part))):
            let part = TextConstant(part)
            unsafe holds = { unsafe part.starts($0) }
        default: return nil
        }
        let field = attribute.field
        let without = unsafe test(attribute.defaultValue, condition, holds)
        return { row in
            guard let value = try row.value(of: field) else { return without }
            guard value.tag == .string else { return unsafe test(.null, condition, holds) }
            return unsafe withFolded(value.payload, holds)
        }
    }

    /// The result for a value that is a text or none.
    private static func test(
        _ value: RecordValue, _ condition: Condition,
        _ holds: (UnsafeRawBufferPointer) -> Bool
    ) -> Bool {
        if case .string(var text) = value {
            return text.withUTF8 { unsafe holds(UnsafeRawBufferPointer($0)) }
        }
        // Null differs from every text.
        if case .comparison(_, .notEqual, _) = condition { return true }
        return false
    }

    /// Calls `body` with a text folded; a short one needs no memory of its own.
    private static func withFolded(
        _ utf8: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Bool
    ) -> Bool {
        guard unsafe utf8.isASCII else {
            var output = ByteBuffer(capacity: utf8.count)
            unsafe TextFolding.fold(utf8, into: &output)
            return unsafe body(output.bytes)
        }
        return unsafe withUnsafeTemporaryAllocation(byteCount: utf8.count + 1, alignment: 1) {
            buffer in
            for index in 0..<utf8.count {
                unsafe buffer[index] = TextFolding.lowered(utf8[index])
            }
            return unsafe body(UnsafeRawBufferPointer(rebasing: buffer[..<utf8.count]))
        }
    }
}

extension AttributeBinding {
    /// Appends the ordered key of what is derived from the attribute's value in a row.
    ///
    /// - Throws: `FieldError` if the value's bounds are damaged.
    func appendDerivedKey(
        of fields: PackedFields, to output: inout ByteBuffer, textBytesMax: Int
    ) throws(FieldError) {
        guard let value = try fields.value(of: field), value.tag != .null else {
            return OrderedKey.append(
                defaultValue, type: type, to: &output, textBytesMax: textBytesMax)
        }
        guard derivation == .folded else {
            return OrderedKey.append(
                effective(value), type: type, to: &output, textBytesMax: textBytesMax)
        }
        OrderedKey.appendFolded(value, to: &output, textBytesMax: textBytesMax)
    }
}

extension OrderedKey {
    /// Appends a stored text without case and accents; nil, and what is no text, is null.
    package static func appendFolded(
        _ value: _FieldValue?, to output: inout ByteBuffer, textBytesMax: Int
    ) {
        guard let value, value.tag == .string else { return output.append(null) }
        var folded = unsafe ByteBuffer(capacity: value.payload.count)
        unsafe TextFolding.fold(value.payload, into: &folded)
        output.append(present)
        unsafe appendText(folded.bytes, to: &output, bytesMax: textBytesMax)
    }
}
