package import BackstitchCore
import LMDB

/// The records of the present with one value in an indexed attribute, read from the index alone.
package struct IndexLookup {
    let reader: TableReader
    let entity: EntityNumber
    let attribute: AttributeBinding
    let value: RecordValue

    /// - Parameter field: That of the attribute that is looked up.
    /// - Returns: `nil` if no index tells these records alone.
    package init?(
        _ lookup: PointLookup, of field: FieldID, in entity: EntityBinding, _ reader: TableReader
    ) {
        guard reader.past == nil,
            let attribute = entity.indexed(field, comparing: lookup.comparison),
            let value = attribute.indexed(lookup.value)
        else { return nil }
        (self.reader, self.entity, self.attribute, self.value) = (
            reader, entity.number, attribute, value
        )
    }

    /// Visits those that can be read, by record key, until the closure returns false.
    ///
    /// - Parameter visit: Gets the stored record key and the packed fields.
    /// - Returns: Whether the value is whole in keys; if not, nothing was visited.
    package func visit(
        _ visit: (_ key: UnsafeRawBufferPointer, _ body: UnsafeRawBufferPointer) throws -> Bool
    ) throws -> Bool {
        var prefix = ByteBuffer(capacity: 8 + OrderedKey.byteCountMax)
        TableKey.appendIndexPrefix(of: attribute, entity, to: &prefix)
        let valueStart = prefix.count
        let textBytesMax = attribute.place?.textBytesMax ?? OrderedKey.textBytesMax
        OrderedKey.append(value, type: attribute.type, to: &prefix, textBytesMax: textBytesMax)
        let bytes = unsafe prefix.bytes
        guard
            unsafe !OrderedKey.isCut(
                bytes.part(valueStart..<bytes.count), type: attribute.type,
                textBytesMax: textBytesMax)
        else { return false }
        let examiner = reader.examiner(of: entity)
        _ = try unsafe StoredEntries.visit(
            reader.access, in: reader.databases.tables, from: bytes, to: nil, reversed: false
        ) { entry, _ in
            guard unsafe entry.begins(with: bytes) else { return false }
            let key = unsafe entry.part(bytes.count..<entry.count)
            guard unsafe !key.isEmpty else { throw StoreError.damagedIndex }
            guard let row = try unsafe reader.row(entity, keyBytes: key),
                try reader.isReadable(row, by: examiner)
            else { return true }
            return try unsafe visit(key, row.bodyBytes)
        }
        return true
    }
}
