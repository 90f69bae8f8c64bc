package import BackstitchCore
package import BackstitchLog

/// The unique attributes that a write has saved, to be checked when it ends.
struct UniqueCheck {
    private var saved: [StoredRecordID: Set<FieldID>] = [:]

    /// Notes that a write saved a record.
    ///
    /// - Parameter isNew: Whether the record is new; otherwise the changed fields count.
    mutating func note(_ entity: EntityNumber, _ key: RecordKey, isNew: Bool, in log: LogWriter) {
        guard let table = log.catalog.table(entity), !table.unique.isEmpty else { return }
        for attribute in table.unique where isNew || log.fields.after.contains(attribute.field) {
            saved[StoredRecordID(entity: entity, key: key), default: []].insert(attribute.field)
        }
    }

    /// What this and a later part of the write saved.
    consuming func joined(with later: UniqueCheck) -> UniqueCheck {
        for (place, fields) in later.saved { saved[place, default: []].formUnion(fields) }
        return self
    }

    /// Refuses the write if it saved a value of a unique attribute that another record of the zone has.
    ///
    /// Asked at the end, so that records may swap values within one write.
    func check(_ reader: TableReader) throws {
        for (place, fields) in saved {
            guard let table = reader.catalog.table(place.entity),
                let row = try reader.row(place.entity, place.key), !row.isDeleted
            else { continue }
            for attribute in table.unique where fields.contains(attribute.field) {
                guard
                    let other = try UniqueValue(attribute, of: table, in: reader)
                        .other(than: place.key, with: row)
                else { continue }
                throw StoreError(
                    .notUnique,
                    "\(table.name).\(attribute.attributeName) of \(place.key) can't be saved: it is "
                        + "unique, and record \(other) has the same value. Choose another value, "
                        + "or change that record. Nothing was saved.")
            }
        }
    }
}

/// A unique attribute, whose values are looked up by its index. A value may be there once in each zone.
package struct UniqueValue {
    private let reader: TableReader
    private let table: EntityTable
    private let attribute: CatalogAttribute

    package init(_ attribute: CatalogAttribute, of table: EntityTable, in reader: TableReader) {
        self.reader = reader
        self.table = table
        self.attribute = attribute
    }

    /// Another record of the zone with the value that a row has; nil is no value.
    package func other(than key: RecordKey, with row: RowView) throws -> RecordKey? {
        guard let fields = row.fields, let type = attribute.schema?.type,
            let value = try fields.value(of: attribute.field), value.tag != .null
        else { return nil }
        var prefix = ByteBuffer(capacity: 256)
        TableKey.appendIndexPrefix(
            TableKey.indexes, table.number, attribute.field, to: &prefix)
        let start = prefix.count
        OrderedKey.append(value, type: type, to: &prefix)
        let isCut = unsafe OrderedKey.isCut(prefix.bytes.part(start..<prefix.count), type: type)
        let whole = OrderedKey.whole(value, type)
        let keyStart = prefix.count
        prefix.append(key.zone)
        var sharing: RecordKey?
        try unsafe reader.visit(prefix: prefix.bytes) { entry, _ in
            let keyBytes = unsafe entry.part(keyStart..<entry.count)
            guard let other = unsafe RecordKey(reading: keyBytes), other != key else { return true }
            // What was cut may differ further on: the rows tell.
            let isShared =
                try !isCut
                || OrderedKey.whole(
                    reader.row(table.number, other)?.fields?.value(of: attribute.field), type)
                    == whole
            if isShared { sharing = other }
            return !isShared
        }
        return sharing
    }
}

extension UniqueValue {
    /// The records of one zone that share a value, in groups, as the index has them.
    ///
    /// - Parameter limit: About the most groups.
    /// - Complexity: O(*n*) in the records of the entity; those of one value at a time are held.
    func groups(limit: Int) throws -> [[RecordKey]] {
        guard let type = attribute.schema?.type else { return [] }
        var prefix = ByteBuffer(capacity: 8)
        TableKey.appendIndexPrefix(TableKey.indexes, table.number, attribute.field, to: &prefix)
        var groups: [[RecordKey]] = []
        var value: [UInt8] = []
        var keys: [RecordKey] = []
        try unsafe reader.visit(prefix: prefix.bytes) { entry, _ in
            let rest = unsafe entry.part(prefix.count..<entry.count)
            guard let count = unsafe OrderedKey.byteCount(of: type, in: rest), count < rest.count,
                let key = unsafe RecordKey(reading: rest.part(count..<rest.count))
            else {
                throw StoreError(
                    .damaged,
                    "An index entry can't be read. Run rebuild to make the tables anew.")
            }
            // A record without a value shares none.
            if count == 1 { return true }
            let bytes = unsafe rest.part(0..<count)
            let isOther = unsafe !bytes.holdsSameBytes(as: value)
            if isOther || key.zone != keys.last?.zone {
                groups += try sharing(keys, type)
                value = unsafe Array(bytes)
                keys = []
            }
            keys.append(key)
            return groups.count < limit
        }
        return try groups + sharing(keys, type)
    }

    /// Those of some records that share a value with others, by their rows: the index has texts in part, and default
    /// values of records that have none.
    private func sharing(_ keys: [RecordKey], _ type: AttributeType) throws -> [[RecordKey]] {
        guard keys.count > 1 else { return [] }
        var groups: [[UInt8]: [RecordKey]] = [:]
        for key in keys {
            guard let fields = try reader.row(table.number, key)?.fields,
                let value = try fields.value(of: attribute.field), value.tag != .null
            else { continue }
            groups[OrderedKey.whole(value, type), default: []].append(key)
        }
        return groups.values.filter { $0.count > 1 }.sorted { $0[0] < $1[0] }
    }
}

extension UniqueValue {
    /// The records that share a value of a unique attribute, in groups by `Entity.attribute`.
    ///
    /// - Parameter limit: About the most groups of each attribute.
    static func violations(in reader: TableReader, limit: Int) throws -> [String: [[RecordID]]] {
        var violations: [String: [[RecordID]]] = [:]
        for table in reader.catalog.tables {
            for attribute in table.unique {
                let groups = try UniqueValue(attribute, of: table, in: reader).groups(limit: limit)
                guard !groups.isEmpty else { continue }
                violations["\(table.name).\(attribute.attributeName)"] = groups.map { keys in
                    keys.map { RecordID(entity: table.name, key: $0) }
                }
            }
        }
        return violations
    }
}

extension OrderedKey {
    /// A value encoded whole, so that equal bytes are equal values.
    fileprivate static func whole(_ value: _FieldValue?, _ type: AttributeType) -> [UInt8] {
        var buffer = ByteBuffer(capacity: 256)
        append(value, type: type, to: &buffer, textBytesMax: .max)
        return unsafe Array(buffer.bytes)
    }
}
