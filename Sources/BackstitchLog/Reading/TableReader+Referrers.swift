package import BackstitchCore
import LMDB

extension TableReader {
    /// The keys of the records whose reference points to a record.
    package func referrers(
        of entity: EntityNumber, _ field: FieldID, to target: RecordKey
    ) throws -> [RecordKey] {
        var keys: [RecordKey] = []
        try visitInverse(entity, field, target) { bytes in
            guard let key = RecordKey(reading: bytes) else {
                throw StoreError(.damaged, "An index entry can't be read. Run rebuild.")
            }
            // A very long target is cut in the index: the row tells whether it is meant.
            if target.byteCount > OrderedKey.referenceBytesMax {
                guard let row = try row(entity, key),
                    try row.fields?.value(of: field)?.reference() == target
                else { return true }
            }
            keys.append(key)
            return true
        }
        return keys
    }

    /// Visits the stored keys of the records whose reference may point to a record, from a stored
    /// key on.
    package func visitInverse(
        _ entity: EntityNumber, _ field: FieldID, _ target: RecordKey, from start: [UInt8] = [],
        _ visit: (UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        var prefix = ByteBuffer(capacity: 300)
        TableKey.appendIndexPrefix(TableKey.inverses, entity, field, to: &prefix)
        target.bytes.withUnsafeBytes { TableKey.appendTarget($0, to: &prefix) }
        let count = prefix.count
        var first = ByteBuffer(capacity: 512)
        first.append(prefix.bytes)
        start.withUnsafeBytes { first.append($0) }
        try self.visit(prefix: prefix.bytes, from: first.bytes) { key, _ in
            try visit(key.part(count..<key.count))
        }
    }
}

extension PackedFields {
    /// The tag byte and payload of a field, or nil if the row has none.
    package func rawValue(of field: FieldID) throws -> UnsafeRawBufferPointer? {
        guard let position = position(of: field) else { return nil }
        return try rawValue(at: position)
    }
}
