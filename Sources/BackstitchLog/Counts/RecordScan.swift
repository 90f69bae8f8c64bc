package import BackstitchCore

/// Looks at every record of an entity, those included that their Swift type can't read.
///
/// Complexity of each function: O(*n*) in the records of the entity, unless it finds what it looks for.
package struct RecordScan: StoredRecords {
    private let reader: TableReader

    package init(_ reader: TableReader) {
        self.reader = reader
    }

    package func isEmpty(_ entity: EntityNumber) throws -> Bool {
        var isEmpty = true
        try unsafe reader.visitStoredRows(of: entity) { _, row in
            isEmpty = row.isDeleted
            return isEmpty
        }
        return isEmpty
    }

    package func hasRecord(of entity: EntityNumber, without field: FieldID) throws -> Bool {
        var isFound = false
        let examiner = reader.examiner(of: entity)
        try unsafe reader.visitStoredRows(of: entity) { _, row in
            isFound =
                try reader.isReadable(row, by: examiner) && row.fields?.position(of: field) == nil
            return !isFound
        }
        return isFound
    }

    package func records(
        of entity: EntityNumber, _ field: FieldID, forbiddenBy schema: AttributeSchema, limit: Int
    ) throws -> [RecordKey] {
        var found: [RecordKey] = []
        let examiner = reader.examiner(of: entity)
        try unsafe reader.visitStoredRows(of: entity) { keyBytes, row in
            guard try reader.isReadable(row, by: examiner),
                let value = try row.fields?.value(of: field)?.decoded(),
                value != .null, !schema.allows(value)
            else { return true }
            unsafe found += RecordKey(reading: keyBytes).map { [$0] } ?? []
            return found.count < limit
        }
        return found
    }

    // MARK: Counts

    /// The rows of records and of deleted records. Costs nothing if the store's tally has them.
    package func count(_ entity: EntityNumber) throws -> (live: Int, deleted: Int) {
        if let counts = try OutboxCounter(reader).stored?[entity] {
            return (counts.records, counts.tombstones)
        }
        let (live, deleted, _) = try examine(entity)
        return (live, deleted)
    }

    /// The records that their Swift type can't read. Costs as much as there are of them, unless the
    /// records are to be examined.
    package func countUnreadable(_ entity: EntityNumber) throws -> Int {
        if reader.examiner(of: entity) != nil { return try examine(entity).unreadable }
        var count = 0
        try UnreadableMarks(reader: reader, entity: entity).visit {
            count += 1
            return true
        }
        return count
    }

    /// The records that their Swift type can't read, by the name of the entity, for those that have any.
    package var unreadableCounts: [String: Int] {
        get throws {
            var counts: [String: Int] = [:]
            for table in reader.catalog.tables {
                let count = try countUnreadable(table.number)
                if count > 0 { counts[table.name] = count }
            }
            return counts
        }
    }

    /// The number of rows, tombstones included.
    package var rowCount: Int {
        get throws {
            try reader.catalog.tables.reduce(0) { sum, table in
                let rows = try count(table.number)
                return sum + rows.live + rows.deleted
            }
        }
    }

    /// The evicted records of a zone, which only the service has.
    package func evictedKeys(in slot: UInt8, limit: Int) throws -> [RecordKey] {
        var keys: [RecordKey] = []
        for table in reader.catalog.tables {
            try unsafe ZoneRows(reader).visit(of: table.number, in: slot) { bytes, row in
                guard keys.count < limit else { return false }
                if row.flags.contains(.isEvicted), let key = unsafe RecordKey(reading: bytes) {
                    keys.append(key)
                }
                return true
            }
        }
        return keys
    }

    /// Counts by reading every row.
    private func examine(
        _ entity: EntityNumber
    ) throws -> (live: Int, deleted: Int, unreadable: Int) {
        var live = 0
        var deleted = 0
        var unreadable = 0
        let examiner = reader.examiner(of: entity)
        try unsafe reader.visitStoredRows(of: entity) { _, row in
            if !row.isDeleted {
                live += 1
                if try !reader.isReadable(row, by: examiner) { unreadable += 1 }
            } else if !row.flags.contains(.isEvicted) {
                deleted += 1
            }
            return true
        }
        return (live, deleted, unreadable)
    }
}
