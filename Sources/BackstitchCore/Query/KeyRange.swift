/// A range of encoded values in an index: from `lower`, up to but without `upper`.
///
/// The bounds are the value part of index keys. A key is within the range when its value part,
/// followed by whatever record key, sorts at or after `lower` and before `upper`.
@usableFromInline
package struct KeyRange: Hashable, Sendable {
    /// The first bytes that belong to the range.
    package var lower: [UInt8]
    /// The first bytes after the range; nil for the end of the index.
    package var upper: [UInt8]?
    /// Whether each record in the range has a value as asked for. If not, look at its row.
    package var isExact: Bool

    package init(lower: [UInt8], upper: [UInt8]?, isExact: Bool = true) {
        self.lower = lower
        self.upper = upper
        self.isExact = isExact
    }

    /// Every record.
    package static let all = KeyRange(lower: [], upper: nil)
    /// The records without a value.
    package static let null = KeyRange(lower: [OrderedKey.null], upper: [OrderedKey.present])
    /// The records with a value.
    package static let present = KeyRange(
        lower: [OrderedKey.present], upper: [OrderedKey.present + 1])

    /// Whether no key can be within the range.
    package var isEmpty: Bool {
        guard let upper else { return false }
        return !lower.lexicographicallyPrecedes(upper)
    }

    /// The records whose value compares with a constant as asked for.
    ///
    /// No record without a value belongs to the range, but for equality with null.
    ///
    /// - Parameter textBytesMax: The limit of the index.
    package init?(
        _ comparison: Comparison, _ constant: RecordValue, type: AttributeType,
        textBytesMax: Int = OrderedKey.textBytesMax
    ) {
        guard let constant = constant.converted(to: type) else { return nil }
        if case .null = constant {
            guard comparison == .equal else { return nil }
            self = .null
            return
        }
        if case .double(let number) = constant, number.isNaN { return nil }
        var buffer = ByteBuffer(capacity: OrderedKey.byteCountMax)
        OrderedKey.append(constant, type: type, to: &buffer, textBytesMax: textBytesMax)
        let key = buffer.array
        let isCut = unsafe OrderedKey.isCut(buffer.bytes, type: type, textBytesMax: textBytesMax)
        switch comparison {
        case .equal:
            self.init(lower: key, upper: key.successor, isExact: !isCut)
        case .less:
            self.init(
                lower: Self.present.lower, upper: isCut ? key.successor : key, isExact: !isCut)
        case .lessOrEqual:
            self.init(lower: Self.present.lower, upper: key.successor, isExact: !isCut)
        case .greater:
            guard let lower = isCut ? key : key.successor else { return nil }
            self.init(lower: lower, upper: Self.present.upper, isExact: !isCut)
        case .greaterOrEqual:
            self.init(lower: key, upper: Self.present.upper, isExact: !isCut)
        case .notEqual:
            return nil
        }
    }

    /// The records whose text may start with `prefix`; their rows are to be looked at.
    ///
    /// Bytes can't tell where a character ends: "e" starts no text that begins with "é".
    package init(prefix: String, textBytesMax: Int = OrderedKey.textBytesMax) {
        var buffer = ByteBuffer(capacity: OrderedKey.byteCountMax)
        OrderedKey.append(
            .string(prefix), type: .string, to: &buffer, textBytesMax: textBytesMax)
        let isCut = unsafe OrderedKey.isCut(
            buffer.bytes, type: .string, textBytesMax: textBytesMax)
        let key = unsafe [UInt8](buffer.bytes.dropLast(isCut ? 1 : 2))
        self.init(lower: key, upper: key.successor, isExact: false)
    }

    /// The keys that are in both ranges.
    package func intersection(_ other: KeyRange) -> KeyRange {
        var result = self
        if lower.lexicographicallyPrecedes(other.lower) { result.lower = other.lower }
        if let end = other.upper {
            if let upper, upper.lexicographicallyPrecedes(end) {} else { result.upper = end }
        }
        result.isExact = isExact && other.isExact
        return result
    }
}

extension [UInt8] {
    /// The first bytes that sort after everything that starts with these; nil if all are 255.
    package var successor: [UInt8]? {
        guard let last = lastIndex(where: { $0 != 0xFF }) else { return nil }
        var result = Array(self[...last])
        result[last] += 1
        return result
    }
}
