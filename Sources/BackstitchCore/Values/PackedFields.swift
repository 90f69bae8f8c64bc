/// A read-only view of packed fields: the body of a row or of an operation.
///
/// | bytes | meaning |
/// |---|---|
/// | 1 | width of offsets: 0 is 16 bits, 1 is 32 bits |
/// | 1 | zero |
/// | 2 | number of fields, little-endian |
/// | 4 or 6 each | field id (16 bits) and the end of its value (16 or 32 bits) after the directory |
/// | rest | values: a tag byte (`FieldTag`), then the payload |
///
/// Fields ascend by id. The view does not own the bytes: it is valid as long as they are.
@usableFromInline
package struct PackedFields {
    @usableFromInline package let bytes: UnsafeRawBufferPointer
    @usableFromInline package let count: Int
    @usableFromInline let entrySize: Int
    @usableFromInline let dataStart: Int

    /// A view of `bytes`, or nil if their directory does not fit.
    ///
    /// Only sizes are checked here, in constant time; each value's bounds are checked when read.
    @inlinable
    package init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= 4, bytes[0] <= 1 else { return nil }
        self.bytes = bytes
        count = Int(bytes.little(UInt16.self, at: 2))
        entrySize = bytes[0] == 0 ? 4 : 6
        dataStart = 4 + count * entrySize
        guard dataStart <= bytes.count else { return nil }
    }

    /// The id of the field at a position of the directory.
    @inlinable @inline(__always)
    package func field(at position: Int) -> FieldID {
        FieldID(bytes.little(UInt16.self, at: 4 + position * entrySize))
    }

    @inlinable @inline(__always)
    func end(at position: Int) -> Int {
        let offset = 4 + position * entrySize + 2
        return entrySize == 4
            ? Int(bytes.little(UInt16.self, at: offset))
            : Int(bytes.little(UInt32.self, at: offset))
    }

    /// The value at a position of the directory; damaged if its bounds don't fit.
    @inlinable
    package func value(at position: Int) throws(FieldError) -> _FieldValue {
        var start = position == 0 ? 0 : end(at: position - 1)
        return try value(at: position, startingAt: &start)
    }

    /// The value at a position of the directory, whose predecessor ends at `next`, and then its end.
    @inlinable @inline(__always)
    package func value(at position: Int, startingAt next: inout Int) throws(FieldError)
        -> _FieldValue
    {
        let start = dataStart + next
        next = end(at: position)
        let end = dataStart + next
        guard start < end, end <= bytes.count else { throw FieldError(.damaged) }
        guard let tag = FieldTag(rawValue: bytes[start]) else {
            throw FieldError(unknownTag: bytes[start])
        }
        return _FieldValue(tag: tag, payload: bytes.part((start + 1)..<end))
    }

    /// The tag byte and payload at a position, as they stand.
    package func rawValue(at position: Int) throws(FieldError) -> UnsafeRawBufferPointer {
        let start = dataStart + (position == 0 ? 0 : end(at: position - 1))
        let end = dataStart + end(at: position)
        guard start < end, end <= bytes.count else { throw FieldError(.damaged) }
        return bytes.part(start..<end)
    }

    /// The position of a field in the directory, by binary search.
    @inlinable
    package func position(of field: FieldID) -> Int? {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            let found = self.field(at: middle)
            if found == field { return middle }
            if found < field { low = middle + 1 } else { high = middle }
        }
        return nil
    }

    /// The value of a field, or nil if the row has none.
    @inlinable
    package func value(of field: FieldID) throws(FieldError) -> _FieldValue? {
        guard let position = position(of: field) else { return nil }
        return try value(at: position)
    }

    /// Whether the ids ascend, as they do unless the bytes are damaged.
    package var isAscending: Bool {
        guard count > 1 else { return true }
        return (1..<count).allSatisfy { field(at: $0 - 1) < field(at: $0) }
    }

    /// Checks the directory: ids ascend, values follow one another and end with the bytes.
    package var isWellFormed: Bool {
        var previousEnd = 0
        for position in 0..<count {
            if position > 0, !(field(at: position - 1) < field(at: position)) { return false }
            guard end(at: position) > previousEnd else { return false }
            previousEnd = end(at: position)
            guard dataStart + previousEnd <= bytes.count,
                (try? value(at: position))?.isWellFormed == true
            else { return false }
        }
        return dataStart + previousEnd == bytes.count
    }
}
