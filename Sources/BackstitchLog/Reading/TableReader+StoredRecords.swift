package import BackstitchCore
import XXHash

extension TableReader: StoredRecords {
    package func isEmpty(_ entity: EntityNumber) throws -> Bool {
        var isEmpty = true
        try visitStoredRows(of: entity) { _, row in
            isEmpty = row.isDeleted
            return isEmpty
        }
        return isEmpty
    }

    package func hasRecord(of entity: EntityNumber, without field: FieldID) throws -> Bool {
        var isFound = false
        let examiner = examiner(of: entity)
        try visitStoredRows(of: entity) { _, row in
            isFound = try isReadable(row, by: examiner) && row.fields?.position(of: field) == nil
            return !isFound
        }
        return isFound
    }

    package func records(
        of entity: EntityNumber, _ field: FieldID, forbiddenBy schema: AttributeSchema, limit: Int
    ) throws -> [RecordKey] {
        var found: [RecordKey] = []
        let examiner = examiner(of: entity)
        try visitStoredRows(of: entity) { keyBytes, row in
            guard try isReadable(row, by: examiner),
                let value = try row.fields?.value(of: field)?.decoded(),
                value != .null, !schema.allows(value)
            else { return true }
            found += RecordKey(reading: keyBytes).map { [$0] } ?? []
            return found.count < limit
        }
        return found
    }

    package func duplicates(
        of entity: EntityNumber, _ field: FieldID, as schema: AttributeSchema, limit: Int
    ) throws -> [RecordKey] {
        // Digests take a fixed space for each record; two values rarely share one, and then the
        // values themselves tell.
        var digests: [UInt64: RecordKey] = [:]
        var found: [RecordKey] = []
        var buffer = ByteBuffer(capacity: 256)
        try visitStoredRows(of: entity) { keyBytes, row in
            guard !row.isDeleted, let value = try row.fields?.value(of: field),
                value.tag != .null, let key = RecordKey(reading: keyBytes)
            else { return true }
            buffer.removeAll()
            OrderedKey.append(value, type: schema.type, to: &buffer, textBytesMax: .max)
            let digest = Checksum.xxh64(buffer.bytes, seed: 0)
            guard let other = digests.updateValue(key, forKey: digest) else { return true }
            let otherValue = try self.row(entity, other)?.fields?.value(of: field)
            var otherBuffer = ByteBuffer(capacity: 256)
            OrderedKey.append(otherValue, type: schema.type, to: &otherBuffer, textBytesMax: .max)
            guard buffer.bytes.holdsSameBytes(as: otherBuffer.bytes) else { return true }
            if !found.contains(other) { found.append(other) }
            found.append(key)
            return found.count < limit
        }
        return found
    }
}
