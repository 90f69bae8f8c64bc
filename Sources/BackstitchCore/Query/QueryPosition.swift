/// A place between two records of an answer: after one of them.
///
/// The order of an answer is total, so a place means the same whatever plan reads the answer, and
/// whatever was written in between.
package struct QueryPosition: Hashable, Sendable {
    /// The sort values of the record in front, as the sort compares them, one after another.
    package var values: [UInt8]
    /// Where the first of them ends.
    package var firstEnd: Int
    /// The first sort value as an index holds it; empty without a sort.
    package var indexValue: [UInt8]
    /// The stored key of the record in front.
    package var key: [UInt8]

    package init(values: [UInt8], firstEnd: Int, indexValue: [UInt8], key: [UInt8]) {
        self.values = values
        self.firstEnd = firstEnd
        self.indexValue = indexValue
        self.key = key
    }

    /// The place after a record of an answer.
    ///
    /// - Throws: `FieldError` if a value's bounds are damaged, or what reading related records throws.
    init(
        behind key: UnsafeRawBufferPointer, _ fields: PackedFields, steps: [QueryPlan.Step],
        _ context: RowContext?
    ) throws {
        var buffer = ByteBuffer()
        firstEnd = 0
        indexValue = []
        for (position, step) in steps.enumerated() {
            try unsafe step.append(key: key, fields: fields, context, to: &buffer)
            if position == 0 { firstEnd = buffer.count }
        }
        values = buffer.array
        self.key = unsafe [UInt8](key)
        if let attribute = steps.first?.attribute {
            buffer.removeAll()
            try attribute.appendKey(of: fields, to: &buffer)
            indexValue = buffer.array
        }
    }

    /// The first sort value as a certain index of it holds it.
    func indexValue(in attribute: AttributeBinding) -> [UInt8] {
        guard let place = attribute.place else { return indexValue }
        return OrderedKey.shortened(
            indexValue, type: attribute.type, textBytesMax: place.textBytesMax)
    }

    /// All that the order compares: the values, then the key.
    var ordered: [UInt8] { values + key }

    /// What the order compares among records with the same first value.
    var orderedAfterFirst: [UInt8] { Array(values[firstEnd...]) + key }
}

extension QueryPlan.Step {
    /// Appends what the order compares in this step.
    func append(
        key: UnsafeRawBufferPointer, fields: PackedFields?, _ context: RowContext?,
        to output: inout ByteBuffer
    ) throws {
        let start = output.count
        if !isKey {
            guard let fields else { preconditionFailure("A sort key needs the row.") }
            if let attribute {
                try attribute.appendKey(of: fields, to: &output, textBytesMax: .max)
            }
            try unsafe related?.appendKey(
                of: RowBytes(key: key, fields: fields, context: context), to: &output)
        } else {
            unsafe output.append(key)
        }
        if isReversed { output.invert(from: start) }
    }
}

extension ByteBuffer {
    /// Inverts each byte from a position on, which turns their order round.
    fileprivate mutating func invert(from start: Int) {
        for offset in start..<count {
            unsafe base.storeBytes(of: ~bytes[offset], toByteOffset: offset, as: UInt8.self)
        }
    }
}

/// What of an access is in front of the place where an answer goes on.
extension QueryPlan {
    /// Whether records come in the ascending order of their keys, and the answer is not sorted.
    package var isOrderedByKey: Bool { steps.isEmpty && ordering == .asRead }

    /// The first record key that is of interest, if the access gives them in their order.
    var keyStart: [UInt8] {
        guard let position, ordering == .asRead else { return [] }
        return position.key + [0]
    }

    /// Whether a record lies in front of the place, if the access gives the keys in order.
    @inline(__always)
    func isBehind(_ key: UnsafeRawBufferPointer) -> Bool {
        guard let position, ordering == .asRead else { return false }
        return unsafe key.order(position.key) <= 0
    }

    /// The record keys that a scan within bounds has to read.
    func rowRange(within bounds: KeyRange, isReversed: Bool) -> KeyRange {
        guard let position, ordering == .asRead else { return bounds }
        return bounds.intersection(
            isReversed
                ? KeyRange(lower: [], upper: position.key)
                : KeyRange(lower: position.key + [0], upper: nil))
    }

    /// What an index read has to read of its ranges.
    func indexRanges(
        _ ranges: [KeyRange], of attribute: AttributeBinding, isReversed: Bool
    ) -> [KeyRange] {
        guard let position else { return ranges }
        let indexValue = position.indexValue(in: attribute)
        let rest: KeyRange
        switch ordering {
        case .inMemory: return ranges
        case .asRead:
            // Without steps the range is one value, whose entries are in the order of their keys.
            let value = steps.isEmpty ? ranges[0].lower : indexValue
            rest = KeyRange(lower: value + position.key + [0], upper: nil)
        case .groups:
            rest =
                isReversed
                ? KeyRange(lower: [], upper: indexValue.successor)
                : KeyRange(lower: indexValue, upper: nil)
        }
        return ranges.map { $0.intersection(rest) }.filter { !$0.isEmpty }
    }
}
