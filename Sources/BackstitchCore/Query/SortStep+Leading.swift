/// How the first bytes of a sort key are made from a row without making the key.
///
/// Most rows of a sort with a limit are dropped for them before anything is copied. It holds no
/// reference, so that looking at a row counts none.
struct SortLeading {
    let field: FieldID
    let type: AttributeType
    let isReversed: Bool

    /// The least first eight bytes that the sort key of a row can have, as a number that sorts as they
    /// do; nil if only making the key tells.
    @inline(__always)
    func least(of fields: PackedFields) throws(FieldError) -> UInt64? {
        let row = unsafe RowBytes(key: UnsafeRawBufferPointer(start: nil, count: 0), fields: fields)
        guard let value = try row.value(of: field) else { return nil }
        let first = UInt64(OrderedKey.present) << 56
        switch type {
        case .string, .url:
            guard value.tag == .string, let start = unsafe Self.start(of: value.payload),
                // What follows the end of a short text is not inverted.
                unsafe !isReversed || value.payload.count >= 5
            else { return nil }
            return leading(first | start >> 8)
        case .int16, .int32, .int64:
            return value.storedInt64.map {
                leading(first | (UInt64(bitPattern: $0) ^ 1 << 63) >> 8)
            }
        case .date:
            return value.storedMilliseconds.map {
                leading(first | (UInt64(bitPattern: $0) ^ 1 << 63) >> 8)
            }
        default:
            return nil
        }
    }

    /// The first eight bytes of a text, with zeros after its end; nil unless they are plain ASCII.
    @inline(__always)
    private static func start(of text: UnsafeRawBufferPointer) -> UInt64? {
        guard text.count < 8 else {
            let bytes = unsafe UInt64(bigEndian: text.loadUnaligned(as: UInt64.self))
            // The eighth shows that no mark follows the seventh.
            guard bytes & 0x8080_8080_8080_8080 == 0,
                (bytes &- 0x0101_0101_0101_0101) & 0x8080_8080_8080_8080 == 0
            else { return nil }
            return bytes
        }
        var bytes: UInt64 = 0
        for at in 0..<text.count {
            let byte = unsafe text[at]
            guard byte &- 1 < 0x7F else { return nil }
            bytes = bytes << 8 | UInt64(byte)
        }
        return unsafe text.isEmpty ? 0 : bytes << UInt64(8 * (8 - text.count))
    }

    @inline(__always)
    private func leading(_ number: UInt64) -> UInt64 { isReversed ? ~number : number }
}

extension QueryPlan.Step {
    /// How the first bytes of the step's keys are made; nil for the record key.
    var leading: SortLeading? {
        guard let attribute, attribute.derivation == nil else { return nil }
        return SortLeading(
            field: attribute.field, type: attribute.type, isReversed: isReversed)
    }
}
