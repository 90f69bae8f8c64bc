package import BackstitchCore

/// Builds the keys of all tables.
///
/// Those of rows name a place only: the rows of each entity have a tree of their own
/// (``Databases/rows``), and what is stored there is the record key alone.
///
/// | table | key, integers big-endian | value |
/// |---|---|---|
/// | rows | `01`, entity (2), record key | row |
/// | indexes | `02`, entity (2), field (2), ordered value, record key | empty |
/// | compound indexes | `08`, entity (2), index (2), ordered values, record key | empty |
/// | inverse indexes | `03`, entity (2), field (2), target's key, record key | empty |
/// | conflict journal | `04`, sequence (8) | entity (2), record key, conflict report |
/// | parked records | `05`, entity (2), record key | sequence (8), reason |
/// | unreadable records | `06`, entity (2), record key | empty |
/// | contents of files | `07`, content (32), sequence (8) | empty |
package enum TableKey {
    package static let rows: UInt8 = 1
    package static let indexes: UInt8 = 2
    package static let compounds: UInt8 = 8
    package static let inverses: UInt8 = 3
    package static let journal: UInt8 = 4
    package static let parked: UInt8 = 5
    package static let unreadable: UInt8 = 6
    package static let contents: UInt8 = 7

    /// The bytes before the record key of a row or a parked record.
    package static let rowPrefixByteCount = 3
    /// The bytes before the value of an index entry.
    package static let indexPrefixByteCount = 5
    /// The most bytes of a row's key.
    package static let rowByteCountMax = rowPrefixByteCount + RecordKey.byteCountMax

    /// Whether a key is that of a row.
    @inline(__always)
    package static func isRow(_ key: UnsafeRawBufferPointer) -> Bool {
        unsafe key.count > rowPrefixByteCount && key[0] == rows
    }

    /// The entity in a key of any table but the journal.
    @inline(__always)
    package static func entity(of key: UnsafeRawBufferPointer) -> EntityNumber {
        unsafe EntityNumber(UInt16(key[1]) << 8 | UInt16(key[2]))
    }

    /// The field in the key of an index, or the number of a compound index.
    @inline(__always)
    static func number(of key: UnsafeRawBufferPointer) -> UInt16 {
        unsafe UInt16(key[3]) << 8 | UInt16(key[4])
    }

    /// The record key in the key of a row.
    @inline(__always)
    package static func record(of key: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        unsafe key.part(rowPrefixByteCount..<key.count)
    }

    /// What the keys of rows of an entity begin with.
    package static func rowPrefix(_ entity: EntityNumber) -> [UInt8] {
        [rows] + entity.rawValue.bigEndianBytes
    }

    /// Calls `body` with the key of a row.
    @inline(__always)
    package static func withRow<Result>(
        _ entity: EntityNumber, _ key: RecordKey, table: UInt8 = rows,
        _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        try unsafe withUnsafeTemporaryAllocation(byteCount: rowByteCountMax, alignment: 8) {
            buffer in
            unsafe writePrefix(table, entity, to: buffer)
            let count = unsafe key.write(to: start(of: buffer) + rowPrefixByteCount)
            return try unsafe body(
                UnsafeRawBufferPointer(buffer).part(0..<(rowPrefixByteCount + count)))
        }
    }

    /// Calls `body` with the key of a row whose record key is stored bytes.
    @inline(__always)
    package static func withRow<Result>(
        _ entity: EntityNumber, keyBytes: UnsafeRawBufferPointer, table: UInt8 = rows,
        _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        try unsafe withUnsafeTemporaryAllocation(byteCount: rowByteCountMax, alignment: 8) {
            buffer in
            precondition(keyBytes.count <= RecordKey.byteCountMax, "A record key is too long.")
            unsafe writePrefix(table, entity, to: buffer)
            if let source = keyBytes.baseAddress {
                unsafe (start(of: buffer) + rowPrefixByteCount)
                    .copyMemory(from: source, byteCount: keyBytes.count)
            }
            return try unsafe body(
                UnsafeRawBufferPointer(buffer).part(0..<(rowPrefixByteCount + keyBytes.count)))
        }
    }

    @inline(__always)
    private static func writePrefix(
        _ table: UInt8, _ entity: EntityNumber, to buffer: UnsafeMutableRawBufferPointer
    ) {
        unsafe buffer[0] = table
        unsafe buffer[1] = UInt8(truncatingIfNeeded: entity.rawValue >> 8)
        unsafe buffer[2] = UInt8(truncatingIfNeeded: entity.rawValue)
    }

    @inline(__always)
    private static func start(of buffer: UnsafeMutableRawBufferPointer) -> UnsafeMutableRawPointer {
        guard let base = buffer.baseAddress else {
            preconditionFailure("A temporary allocation has no address.")
        }
        return unsafe base
    }

    /// Appends what comes before the value of an index or the target of an inverse index.
    package static func appendIndexPrefix(
        _ table: UInt8, _ entity: EntityNumber, _ field: FieldID, to output: inout ByteBuffer
    ) {
        output.append(table)
        output.append(big: entity.rawValue)
        output.append(big: field.rawValue)
    }

    /// Appends what comes before the value of an attribute in the index that has it.
    package static func appendIndexPrefix(
        of attribute: AttributeBinding, _ entity: EntityNumber, to output: inout ByteBuffer
    ) {
        guard let place = attribute.place else {
            return appendIndexPrefix(indexes, entity, attribute.field, to: &output)
        }
        appendIndexPrefix(compounds, entity, FieldID(place.number), to: &output)
        output.append(place.prefix)
    }

    /// Where the value of an attribute ends that an index entry goes on with, and where the record key begins; nil
    /// for bytes that are no such entry.
    @inline(__always)
    package static func valueBounds(
        in bytes: UnsafeRawBufferPointer, of attribute: AttributeBinding
    ) -> (value: Int, key: Int)? {
        let textBytesMax = attribute.place?.textBytesMax ?? OrderedKey.textBytesMax
        guard
            let count = unsafe OrderedKey.byteCount(
                of: attribute.type, in: bytes, textBytesMax: textBytesMax), count < bytes.count
        else { return nil }
        guard let place = attribute.place else { return (count, count) }
        var end = count
        for type in place.rest {
            guard
                let next = unsafe OrderedKey.byteCount(
                    of: type, in: bytes.part(end..<bytes.count), textBytesMax: textBytesMax),
                end + next < bytes.count
            else { return nil }
            end += next
        }
        return (count, end)
    }

    /// The record key in an index entry of an attribute, behind the prefix; empty for bytes that are no such
    /// entry.
    static func recordKey(
        of attribute: AttributeBinding, in entry: UnsafeRawBufferPointer, behind prefix: Int
    ) -> UnsafeRawBufferPointer {
        let rest = unsafe entry.part(min(prefix, entry.count)..<entry.count)
        let start = unsafe valueBounds(in: rest, of: attribute)?.key ?? rest.count
        return unsafe rest.part(start..<rest.count)
    }

    /// Appends a target's key as inverse indexes hold it: cut if it is very long, so that the
    /// whole stays below LMDB's 511 bytes; readers check the row then.
    package static func appendTarget(_ key: UnsafeRawBufferPointer, to output: inout ByteBuffer) {
        unsafe output.append(key.part(0..<min(key.count, OrderedKey.referenceBytesMax)))
    }

    /// Appends the key of a record's entry in an index.
    ///
    /// - Parameter value: The stored value; nil if the row lacks the field, so that the default counts.
    /// - Returns: whether there is an entry.
    package static func appendIndex(
        of table: EntityTable, _ attribute: CatalogAttribute, _ value: _FieldValue?,
        _ keyBytes: UnsafeRawBufferPointer, to output: inout ByteBuffer
    ) -> Bool {
        guard let schema = attribute.schema else { return false }
        appendIndexPrefix(indexes, table.number, attribute.field, to: &output)
        if let value {
            OrderedKey.append(value, type: schema.type, to: &output)
        } else {
            OrderedKey.append(schema.defaultValue, type: schema.type, to: &output)
        }
        unsafe output.append(keyBytes)
        return true
    }

    /// Appends the key of a record's entry in an index of several attributes or of folded texts.
    ///
    /// - Parameter value: The stored value of a field; nil if the row lacks the field, so that the default counts.
    package static func appendCompound(
        of table: EntityTable, _ index: TableIndex, _ keyBytes: UnsafeRawBufferPointer,
        to output: inout ByteBuffer, _ value: (FieldID) throws -> _FieldValue?
    ) rethrows {
        appendIndexPrefix(
            compounds, table.number, FieldID(index.index.number), to: &output)
        try index.appendValues(to: &output, value)
        unsafe output.append(keyBytes)
    }

    /// Appends the key of a record's entry in an inverse index.
    ///
    /// - Returns: whether there is an entry.
    package static func appendInverse(
        of table: EntityTable, _ attribute: CatalogAttribute, _ target: _FieldValue?,
        _ keyBytes: UnsafeRawBufferPointer, to output: inout ByteBuffer
    ) -> Bool {
        guard let target, target.tag == .reference else { return false }
        appendIndexPrefix(inverses, table.number, attribute.field, to: &output)
        unsafe appendTarget(target.payload, to: &output)
        unsafe output.append(keyBytes)
        return true
    }

    /// Calls `body` with the key of an operation in the log.
    @inline(__always)
    package static func withSequence<Result>(
        _ sequence: UInt64, _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        try unsafe withUnsafeBytes(of: sequence.bigEndian) { try unsafe body($0) }
    }

    /// Calls `body` with the key of a journal entry.
    package static func withJournal<Result>(
        _ sequence: UInt64, _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        var buffer = ByteBuffer(capacity: 16)
        buffer.append(journal)
        buffer.append(big: sequence)
        return try unsafe body(buffer.bytes)
    }

    /// Appends the key that says that an operation names a content.
    package static func appendContent(
        _ content: ContentKey, _ sequence: UInt64, to output: inout ByteBuffer
    ) {
        output.append(contents)
        output.append(content.bytes)
        output.append(big: sequence)
    }

    /// The operation of a key that says that one names a content; 0 if the key is malformed.
    package static func contentSequence(_ key: UnsafeRawBufferPointer) -> UInt64 {
        let start = 1 + ContentHash.byteCount
        guard key.count == start + 8 else { return 0 }
        return unsafe UInt64(bigEndian: key.loadUnaligned(fromByteOffset: start, as: UInt64.self))
    }
}

extension RowView {
    /// Whether the row is as it was written for a record, as ``isIntact(at:)`` tells.
    package func isIntact(of entity: EntityNumber, _ keyBytes: UnsafeRawBufferPointer) -> Bool {
        guard keyBytes.count <= RecordKey.byteCountMax else { return false }
        return unsafe TableKey.withRow(entity, keyBytes: keyBytes) { unsafe isIntact(at: $0) }
    }
}
