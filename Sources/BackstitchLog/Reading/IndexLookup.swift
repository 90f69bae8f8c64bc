package import BackstitchCore
import LMDB

/// The records of the present with one value in an indexed attribute, read from the index alone.
package struct IndexLookup {
    let reader: TableReader
    let entity: EntityNumber
    let attribute: AttributeBinding
    let value: RecordValue

    /// - Returns: `nil` if the index does not tell these records alone.
    package init?(
        _ reader: TableReader, of entity: EntityNumber, _ attribute: AttributeBinding,
        equals value: RecordValue
    ) {
        guard reader.past == nil, attribute.isIndexed else { return nil }
        switch (attribute.type, value) {
        case (.string, .string), (.int16, .int64), (.int32, .int64), (.int64, .int64),
            (.uuid, .uuid):
            break
        default: return nil
        }
        guard let value = value.converted(to: attribute.type) else { return nil }
        (self.reader, self.entity, self.attribute, self.value) = (reader, entity, attribute, value)
    }

    /// Visits those that can be read, by record key, until the closure returns false.
    ///
    /// - Parameter visit: Gets the stored record key and the packed fields.
    /// - Returns: Whether the value is whole in keys; if not, nothing was visited.
    package func visit(
        _ visit: (_ key: UnsafeRawBufferPointer, _ body: UnsafeRawBufferPointer) throws -> Bool
    ) throws -> Bool {
        var prefix = ByteBuffer(capacity: 8 + OrderedKey.byteCountMax)
        TableKey.appendIndexPrefix(TableKey.indexes, entity, attribute.field, to: &prefix)
        let valueStart = prefix.count
        OrderedKey.append(value, type: attribute.type, to: &prefix)
        let bytes = prefix.bytes
        guard !OrderedKey.isCut(bytes.part(valueStart..<bytes.count), type: attribute.type)
        else { return false }
        let examiner = reader.examiner(of: entity)
        try reader.access.withCursor(in: reader.databases.tables) { cursor in
            var isThere = try cursor.seek(atOrAfter: bytes)
            while isThere, cursor.key.begins(with: bytes) {
                let key = cursor.key.part(bytes.count..<cursor.key.count)
                guard !key.isEmpty else { throw TableReader.damagedIndex }
                if let row = try reader.row(entity, keyBytes: key),
                    try reader.isReadable(row, by: examiner)
                {
                    guard try visit(key, row.bodyBytes) else { return }
                }
                isThere = try cursor.next()
            }
        }
        return true
    }
}
