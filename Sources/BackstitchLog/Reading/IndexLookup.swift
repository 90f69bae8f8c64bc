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
        try reader.access.withCursor(in: reader.databases.tables) { cursor in
            var isThere = try unsafe cursor.seek(atOrAfter: bytes)
            while isThere, unsafe cursor.key.begins(with: bytes) {
                let key = unsafe cursor.key.part(bytes.count..<cursor.key.count)
                guard unsafe !key.isEmpty else { throw TableReader.damagedIndex }
                if let row = try unsafe reader.row(entity, keyBytes: key),
                    try reader.isReadable(row, by: examiner)
                {
                    guard try unsafe visit(key, row.bodyBytes) else { return }
                }
                isThere = try cursor.next()
            }
        }
        return true
    }
}
