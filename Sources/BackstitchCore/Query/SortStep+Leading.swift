extension QueryPlan.Step {
    /// A number that is at most the first eight bytes that the order compares, found without
    /// encoding them; nil where that is not quick.
    ///
    /// Most rows of a sort with a limit are dropped for it before anything is copied.
    @inline(__always)
    func leastLeading(of fields: PackedFields) throws(FieldError) -> UInt64? {
        guard let attribute else { return nil }
        let row = RowBytes(key: UnsafeRawBufferPointer(start: nil, count: 0), fields: fields)
        guard let value = try row.value(of: attribute.field) else { return nil }
        let first = UInt64(OrderedKey.present) << 56
        switch attribute.type {
        case .string, .url:
            guard value.tag == .string, value.payload.count >= 8 else { return nil }
            let bytes = UInt64(bigEndian: value.payload.loadUnaligned(as: UInt64.self))
            // Eight bytes of plain ASCII: the eighth shows that no mark follows the seventh.
            guard bytes & 0x8080_8080_8080_8080 == 0,
                (bytes &- 0x0101_0101_0101_0101) & 0x8080_8080_8080_8080 == 0
            else { return nil }
            return leading(first | bytes >> 8)
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

    @inline(__always)
    private func leading(_ number: UInt64) -> UInt64 { isReversed ? ~number : number }
}
