public import Foundation

/// Packs the attributes of one value into the body of a row.
///
/// Generated code writes attributes in declaration order; nulls leave no trace. A writer is used
/// again for the next value, so that encoding allocates nothing.
public struct _FieldWriter: ~Copyable {
    @usableFromInline
    struct Entry {
        @usableFromInline var field: FieldID
        @usableFromInline var start: Int
        @usableFromInline var end: Int

        @inlinable
        init(field: FieldID, start: Int, end: Int) {
            self.field = field
            self.start = start
            self.end = end
        }
    }

    /// The most bytes that one field may have; larger values belong into assets.
    @inlinable public static var fieldBytesMax: Int { 1 << 20 }

    @usableFromInline var layout: FieldLayout
    @usableFromInline var entries: [Entry] = []
    @usableFromInline var data = ByteBuffer(capacity: 1024)
    @usableFromInline var isAscending = true
    /// The slot of the zone of the record that is written.
    @usableFromInline var zone: UInt8 = 0
    /// Whether a reference to a record of another zone was written.
    @usableFromInline package var hasCrossed = false
    /// The position of the attribute that was written last.
    @usableFromInline package internal(set) var lastIndex = -1
    /// What is written of external attributes.
    package var external = ExternalWrites()

    package init(layout: FieldLayout = FieldLayout(fields: [])) {
        self.layout = layout
        entries.reserveCapacity(32)
    }

    /// Forgets what was written and takes another layout.
    package mutating func reset(layout: FieldLayout, zone: UInt8) {
        if self.layout.fields != layout.fields { self.layout = layout }
        reset(zone: zone)
    }

    /// Forgets what was written.
    ///
    /// - Parameter zone: The slot of the zone of the next record.
    package mutating func reset(zone: UInt8 = 0) {
        entries.removeAll(keepingCapacity: true)
        if !external.isEmpty { external = ExternalWrites() }
        data.removeAll()
        isAscending = true
        self.zone = zone
        hasCrossed = false
    }

    package var isEmpty: Bool { entries.isEmpty }

    /// Whether a field was written.
    package func contains(_ field: FieldID) -> Bool { entries.contains { $0.field == field } }

    /// Writes the attribute at a position of the declaration.
    @inlinable
    public mutating func write<Attribute: AttributeValue>(
        _ value: Attribute, at index: Int
    ) throws {
        begin(index)
        try value._write(to: &self, at: index)
    }

    @inlinable
    mutating func begin(_ index: Int) { lastIndex = index }

    /// The id that the attribute at a position of the declaration has in this store.
    @inlinable
    func field(at index: Int) -> FieldID {
        precondition(index < layout.fields.count, "A codec wrote an attribute that it lacks.")
        return layout.fields[index]
    }

    @inlinable
    mutating func begin(_ field: FieldID, _ tag: FieldTag) -> Int {
        let start = data.count
        data.append(tag.rawValue)
        return start
    }

    @inlinable
    mutating func end(_ field: FieldID, start: Int) throws(FieldError) {
        // The tag is no part of the value.
        let byteCount = data.count - start - 1
        if byteCount > Self.fieldBytesMax {
            data.truncate(to: start)
            throw FieldError(.tooLarge(byteCount: byteCount))
        }
        if isAscending, let last = entries.last, !(last.field < field) { isAscending = false }
        entries.append(Entry(field: field, start: start, end: data.count))
    }

    // MARK: Writing by position

    @inlinable
    package mutating func write(string: String, at index: Int) throws(FieldError) {
        try write(string: string, of: field(at: index))
    }

    @inlinable
    package mutating func write(bool: Bool, at index: Int) throws(FieldError) {
        let field = field(at: index)
        let start = begin(field, .bool)
        data.append(bool ? 1 : 0)
        try end(field, start: start)
    }

    @inlinable
    package mutating func write(int64: Int64, at index: Int) throws(FieldError) {
        try write(int64: int64, of: field(at: index))
    }

    @inlinable
    package mutating func write(double: Double, at index: Int) throws(FieldError) {
        try write(double: double, of: field(at: index), index: index)
    }

    @usableFromInline
    package mutating func write(data: Data, at index: Int) throws(FieldError) {
        try write(bytes: data, of: field(at: index))
    }

    @inlinable
    package mutating func write(date: Date, at index: Int) throws(FieldError) {
        guard let milliseconds = date.wholeMilliseconds else {
            throw FieldError(.outOfRange, index: index)
        }
        try write(milliseconds: milliseconds, of: field(at: index))
    }

    @usableFromInline
    package mutating func write(decimal: Decimal, at index: Int) throws(FieldError) {
        guard decimal.isFinite else { throw FieldError(.notFinite, index: index) }
        try write(decimal: decimal, of: field(at: index))
    }

    @inlinable
    package mutating func write(uuid: UUID, at index: Int) throws(FieldError) {
        try write(uuid: uuid, of: field(at: index))
    }

    @inlinable
    package mutating func write(reference: RecordKey, at index: Int) throws(FieldError) {
        if let violation = reference.name.violation {
            throw FieldError(.invalidReference(violation), index: index)
        }
        try write(reference: reference, of: field(at: index))
    }

    /// Writes a place or a list; throws if it or an element of it can't be stored.
    @usableFromInline
    package mutating func write(value: RecordValue, at index: Int) throws(FieldError) {
        guard value.isStorable else { throw FieldError(.outOfRange, index: index) }
        try write(value, of: field(at: index))
    }

    // MARK: Writing by field id

    /// Writes any value but null, which leaves no trace unless `keepsNull` says so.
    package mutating func write(
        _ value: RecordValue, of field: FieldID, keepsNull: Bool = false
    ) throws(FieldError) {
        if case .null = value, !keepsNull { return }
        let start = data.count
        do throws(FieldError) {
            try appendTagged(value)
        } catch {
            data.truncate(to: start)
            throw error
        }
        try end(field, start: start)
    }

    /// Writes a stored value as it stands: its tag byte and payload.
    package mutating func write(raw: UnsafeRawBufferPointer, of field: FieldID) throws(FieldError) {
        let start = data.count
        unsafe data.append(raw)
        try end(field, start: start)
    }

    @inlinable
    package mutating func write(string: String, of field: FieldID) throws(FieldError) {
        let start = begin(field, .string)
        data.append(utf8: string)
        try end(field, start: start)
    }

    @inlinable
    package mutating func write(int64: Int64, of field: FieldID) throws(FieldError) {
        let start = begin(field, .int64)
        data.append(little: int64)
        try end(field, start: start)
    }

    @inlinable
    package mutating func write(
        double: Double, of field: FieldID, index: Int = -1
    ) throws(FieldError) {
        guard double.isFinite else { throw FieldError(.notFinite, index: index) }
        let start = begin(field, .double)
        data.append(little: double.bitPattern)
        try end(field, start: start)
    }

    package mutating func write(bytes: Data, of field: FieldID) throws(FieldError) {
        let start = begin(field, .bytes)
        unsafe bytes.withUnsafeBytes { unsafe data.append($0) }
        try end(field, start: start)
    }

    @inlinable
    package mutating func write(milliseconds: Int64, of field: FieldID) throws(FieldError) {
        let start = begin(field, .date)
        data.append(little: milliseconds)
        try end(field, start: start)
    }

    package mutating func write(decimal: Decimal, of field: FieldID) throws(FieldError) {
        let start = begin(field, .decimal)
        data.append(utf8: decimal.description)
        try end(field, start: start)
    }

    @inlinable
    package mutating func write(uuid: UUID, of field: FieldID) throws(FieldError) {
        let start = begin(field, .uuid)
        unsafe data.extend(by: 16).storeBytes(of: uuid.uuid, as: uuid_t.self)
        try end(field, start: start)
    }

    @inlinable
    package mutating func write(reference: RecordKey, of field: FieldID) throws(FieldError) {
        if reference.zone != zone { hasCrossed = true }
        let start = begin(field, .reference)
        data.append(reference)
        try end(field, start: start)
    }

    private mutating func appendTagged(_ value: RecordValue) throws(FieldError) {
        switch value {
        case .int64(let number):
            data.append(FieldTag.int64.rawValue)
            data.append(little: number)
        case .string(let text):
            data.append(FieldTag.string.rawValue)
            data.append(utf8: text)
        case .list(let elements):
            data.append(FieldTag.list.rawValue)
            for element in elements {
                if case .list = element { throw FieldError(.typeMismatch(stored: "list of lists")) }
                let at = data.count
                data.append(little: UInt32(0))
                try appendTagged(element)
                data.store(little: UInt32(data.count - at - 4), at: at)
            }
        case .unknown(let value):
            guard value.typeName.utf8.count <= UnknownValue.nameBytesMax else {
                throw FieldError(.tooLarge(byteCount: value.typeName.utf8.count))
            }
            data.append(FieldTag.unknown.rawValue)
            data.append(little: UInt16(value.typeName.utf8.count))
            data.append(utf8: value.typeName)
            data.append(utf8: value.json)
        default:
            if case .reference(let key) = value, key.zone != zone { hasCrossed = true }
            data.append(value.tag.rawValue)
            try value.traits?.appendPayload(of: value, to: &data)
        }
    }

    // MARK: Finishing

    /// Appends the packed fields to `output`, in the form that ``PackedFields`` reads.
    ///
    /// A field that was written twice is a broken invariant.
    package mutating func finish(into output: inout ByteBuffer) {
        sortEntries()
        var fixedBytes = 0
        for entry in entries where isFixed(entry) { fixedBytes += entry.end - entry.start }
        // A byte count takes four bytes at most.
        let isNarrow =
            entries.count <= UInt8.max && (entries.last?.field.rawValue ?? 0) <= UInt8.max
            && data.count + 4 * entries.count <= UInt16.max
        output.append(isNarrow ? 1 : 2)
        if isNarrow {
            output.append(UInt8(entries.count))
            output.append(little: UInt16(fixedBytes))
        } else {
            output.append(0)
            output.append(little: UInt16(entries.count))
            output.append(little: UInt32(fixedBytes))
        }
        var (fixed, varying) = (0, fixedBytes)
        for entry in entries {
            let byteCount = entry.end - entry.start
            let offset: Int
            if isFixed(entry) {
                offset = fixed
                fixed += byteCount
            } else {
                offset = varying
                varying += byteCount + Self.prefixBytes(byteCount)
            }
            if isNarrow {
                output.append(UInt8(truncatingIfNeeded: entry.field.rawValue))
                output.append(little: UInt16(offset))
            } else {
                output.append(little: entry.field.rawValue)
                output.append(little: UInt32(offset))
            }
        }
        for entry in entries where isFixed(entry) {
            unsafe output.append(data.bytes.part(entry.start..<entry.end))
        }
        for entry in entries where !isFixed(entry) {
            var rest = entry.end - entry.start
            while rest >= 0x80 {
                output.append(UInt8(truncatingIfNeeded: rest) | 0x80)
                rest >>= 7
            }
            output.append(UInt8(rest))
            unsafe output.append(data.bytes.part(entry.start..<entry.end))
        }
    }

    private mutating func sortEntries() {
        guard !isAscending else { return }
        entries.sort { $0.field < $1.field }
        for (first, second) in zip(entries, entries.dropFirst()) {
            precondition(first.field != second.field, "A codec wrote a field twice.")
        }
        isAscending = true
    }

    /// Whether a value has the size of all values with its tag.
    private func isFixed(_ entry: Entry) -> Bool {
        unsafe FieldTag.fixedBytes(data.bytes[entry.start]) == entry.end - entry.start - 1
    }

    /// The size of a byte count.
    private static func prefixBytes(_ byteCount: Int) -> Int {
        byteCount < 1 << 7 ? 1 : byteCount < 1 << 14 ? 2 : byteCount < 1 << 21 ? 3 : 4
    }
}
