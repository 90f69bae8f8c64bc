/// A read-only view of packed fields: the body of a row or of an operation.
///
/// | bytes | meaning, integers little-endian |
/// |---|---|
/// | 1 | form: 1, or 2 if ids, counts or offsets don't fit |
/// | 1 | form 1: number of fields; form 2: zero |
/// | 2 or 2, 4 | form 2: number of fields; both: where values of varying size begin |
/// | 3 or 6 each | field id (8 or 16 bits) and where its value begins (16 or 32 bits) |
/// | rest | values of fixed size: a tag byte (`FieldTag`), then the payload; then the others, each behind its byte count in groups of 7 bits, the lowest first |
///
/// Offsets count from the end of the directory. So the values of fixed size lie close to the directory,
/// and a scan that needs one of them touches no more.
///
/// Fields ascend by id. The view does not own the bytes: whoever makes it sees that they outlive it.
/// Positions are below ``count``, which is not checked again.
@safe @usableFromInline
package struct PackedFields {
    @usableFromInline package let bytes: UnsafeRawBufferPointer
    @usableFromInline package let count: Int
    @usableFromInline let entryStart: Int
    @usableFromInline let entrySize: Int
    @usableFromInline let dataStart: Int
    /// Where values of varying size begin.
    @usableFromInline let varyingStart: Int

    /// A view of `bytes`, or nil if their directory does not fit.
    ///
    /// Only sizes are checked here, in constant time; each value's bounds are checked when read.
    @inlinable
    package init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= 4 else { return nil }
        unsafe self.bytes = bytes
        switch unsafe bytes[0] {
        case 1:
            count = unsafe Int(bytes[1])
            (entryStart, entrySize) = (4, 3)
            dataStart = 4 + count * 3
            varyingStart = unsafe dataStart + Int(bytes.little(UInt16.self, at: 2))
        case 2:
            guard bytes.count >= 8 else { return nil }
            count = unsafe Int(bytes.little(UInt16.self, at: 2))
            (entryStart, entrySize) = (8, 6)
            dataStart = 8 + count * 6
            varyingStart = unsafe dataStart + Int(bytes.little(UInt32.self, at: 4))
        default: return nil
        }
        guard dataStart <= bytes.count, varyingStart <= bytes.count else { return nil }
    }

    /// The id of the field at a position of the directory.
    @inlinable @inline(__always)
    @unsafe package func field(at position: Int) -> FieldID {
        // No overflow: positions are below the count, which has at most 16 bits.
        let offset = entryStart &+ position &* entrySize
        return unsafe entrySize == 3
            ? FieldID(UInt16(bytes[offset])) : FieldID(bytes.little(UInt16.self, at: offset))
    }

    /// The offset at a position of the directory.
    @inlinable @inline(__always)
    @unsafe func offset(at position: Int) -> Int {
        let offset = entryStart &+ position &* entrySize
        return unsafe entrySize == 3
            ? Int(bytes.little(UInt16.self, at: offset &+ 1))
            : Int(bytes.little(UInt32.self, at: offset &+ 2))
    }

    /// The value at a position of the directory; damaged if its bounds don't fit.
    @inlinable @inline(__always)
    @unsafe package func value(at position: Int) throws(FieldError) -> _FieldValue {
        let (start, end) = try unsafe bounds(at: position)
        guard let tag = unsafe FieldTag(rawValue: bytes[start]) else {
            throw unsafe FieldError(unknownTag: bytes[start])
        }
        return unsafe _FieldValue(tag: tag, payload: bytes.part((start + 1)..<end))
    }

    /// Where the tag byte and payload at a position lie: not empty, and within the bytes.
    @inlinable @inline(__always)
    @unsafe func bounds(at position: Int) throws(FieldError) -> (Int, Int) {
        let start: Int
        let end: Int
        let place = unsafe dataStart &+ offset(at: position)
        if place < varyingStart {
            guard let size = unsafe FieldTag.fixedBytes(bytes[place]) else {
                throw FieldError(.damaged)
            }
            (start, end) = (place, place &+ 1 &+ size)
        } else {
            (start, end) = try unsafe Self.varyingBounds(in: bytes, at: place)
        }
        guard start < end, unsafe end <= bytes.count else { throw FieldError(.damaged) }
        return (start, end)
    }

    /// The bounds of a value behind its byte count.
    @inlinable @inline(__always)
    static func varyingBounds(
        in bytes: UnsafeRawBufferPointer, at place: Int
    ) throws(FieldError) -> (Int, Int) {
        if place < bytes.count, unsafe bytes[place] < 0x80 {
            return unsafe (place &+ 1, place &+ 1 &+ Int(bytes[place]))
        }
        return try unsafe longBounds(in: bytes, at: place)
    }

    @usableFromInline
    static func longBounds(
        in bytes: UnsafeRawBufferPointer, at place: Int
    ) throws(FieldError) -> (Int, Int) {
        var (count, start) = (0, place)
        for shift in [0, 7, 14, 21] {
            guard start < bytes.count else { throw FieldError(.damaged) }
            let byte = unsafe bytes[start]
            start += 1
            count |= Int(byte & 0x7F) << shift
            if byte < 0x80 { return (start, start + count) }
        }
        throw FieldError(.damaged)
    }

    /// The tag byte and payload at a position, as they stand.
    @unsafe package func rawValue(at position: Int) throws(FieldError) -> UnsafeRawBufferPointer {
        let (start, end) = try unsafe bounds(at: position)
        return unsafe bytes.part(start..<end)
    }

    /// The position of a field in the directory, by binary search.
    @inlinable
    package func position(of field: FieldID) -> Int? {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            let found = unsafe self.field(at: middle)
            if found == field { return middle }
            if found < field { low = middle + 1 } else { high = middle }
        }
        return nil
    }

    /// The value of a field, or nil if the row has none.
    @inlinable
    package func value(of field: FieldID) throws(FieldError) -> _FieldValue? {
        guard let position = position(of: field) else { return nil }
        return try unsafe value(at: position)
    }

    /// Whether the ids ascend, as they do unless the bytes are damaged.
    package var isAscending: Bool {
        guard count > 1 else { return true }
        return (1..<count).allSatisfy { unsafe field(at: $0 - 1) < field(at: $0) }
    }

    /// Checks the directory: ids ascend, values follow one another and end with the bytes.
    package var isWellFormed: Bool {
        var fixedEnd = dataStart
        var end = varyingStart
        for position in 0..<count {
            if position > 0, unsafe !(field(at: position - 1) < field(at: position)) {
                return false
            }
            let place = unsafe dataStart + offset(at: position)
            guard let bounds = try? unsafe bounds(at: position),
                unsafe (try? value(at: position))?.isWellFormed == true
            else { return false }
            if place < varyingStart {
                guard place == fixedEnd, bounds.1 <= varyingStart else { return false }
                fixedEnd = bounds.1
            } else {
                guard place == end else { return false }
                end = bounds.1
            }
        }
        return unsafe end == bytes.count && fixedEnd == varyingStart
    }
}
