package import BackstitchCore
import LMDB

/// The records whose reference points to a record, found by the inverse index of an attribute.
package struct Referrers {
    private let reader: TableReader
    private let entity: EntityNumber
    private let field: FieldID
    private let target: RecordKey

    /// - Parameters:
    ///   - entity: The entity of the records.
    ///   - field: Its attribute that is a reference.
    ///   - target: What the reference points to.
    package init(
        _ reader: TableReader, of entity: EntityNumber, _ field: FieldID, to target: RecordKey
    ) {
        self.reader = reader
        self.entity = entity
        self.field = field
        self.target = target
    }

    /// The keys of the records.
    package var keys: [RecordKey] {
        get throws {
            var keys: [RecordKey] = []
            try unsafe visit { bytes in
                guard let key = unsafe RecordKey(reading: bytes) else {
                    throw StoreError(.damaged, "An index entry can't be read. Run rebuild.")
                }
                // A very long target is cut in the index: the row tells whether it is meant.
                if target.byteCount > OrderedKey.referenceBytesMax {
                    guard let row = try reader.row(entity, key),
                        try row.fields?.value(of: field)?.reference() == target
                    else { return true }
                }
                keys.append(key)
                return true
            }
            return keys
        }
    }

    /// Visits the stored keys of the records whose reference may point to the target, from a stored
    /// key on.
    ///
    /// - Parameter readsRows: Whether the rows are read as well.
    package func visit(
        from start: [UInt8] = [], readsRows: Bool = false,
        _ visit: (UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        var prefix = ByteBuffer(capacity: 300)
        TableKey.appendIndexPrefix(TableKey.inverses, entity, field, to: &prefix)
        unsafe target.bytes.withUnsafeBytes { unsafe TableKey.appendTarget($0, to: &prefix) }
        let count = prefix.count
        var first = ByteBuffer(capacity: 512)
        unsafe first.append(prefix.bytes)
        first.append(start)
        func prefetch(number: Int, _ key: (Int) -> UnsafeRawBufferPointer) {
            unsafe reader.prefetchRows(of: entity, count: number) {
                let key = unsafe key($0)
                return unsafe key.part(min(count, key.count)..<key.count)
            }
        }
        try unsafe reader.visit(
            prefix: prefix.bytes, from: first.bytes, ahead: readsRows ? prefetch : nil
        ) { key, _ in
            try unsafe visit(key.part(count..<key.count))
        }
    }
}

extension PackedFields {
    /// The tag byte and payload of a field, or nil if the row has none.
    package func rawValue(of field: FieldID) throws -> UnsafeRawBufferPointer? {
        guard let position = position(of: field) else { return nil }
        return try unsafe rawValue(at: position)
    }
}
