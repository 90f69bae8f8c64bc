import BackstitchCore
import LMDB

/// Makes the tables follow the log: the only code that writes a table.
///
/// Applying an operation reads no clock, no random source and no policy, so that the same log and
/// catalog always give the same bytes.
struct Projector: ~Copyable {
    let access: Access
    let databases: Databases
    private var rowBuffer = ByteBuffer(capacity: 1024)
    private var indexBuffer = ByteBuffer(capacity: 600)
    /// A copy of the row before an operation: a write to the tree may move the row itself.
    private var oldBuffer = ByteBuffer(capacity: 1024)
    private var writer = FieldWriter()

    init(access: Access, databases: Databases) {
        self.access = access
        self.databases = databases
    }

    /// Applies one operation.
    mutating func apply(_ operation: OperationView, catalog: CatalogSnapshot) throws {
        if operation.kind == .forget { return try forget(operation, catalog: catalog) }
        guard let table = catalog.table(operation.entity) else {
            throw StoreError(
                .damaged,
                "Operation \(operation.sequence) is of an entity that the catalog lacks.")
        }
        let reader = TableReader(access: access, databases: databases, catalog: catalog)
        let row = try reader.row(operation.entity, keyBytes: operation.keyBytes)
        let wasUnreadable = row?.flags.contains(.isUnreadable) == true
        switch operation.kind {
        case .insert: try insert(operation, over: row, in: table)
        case .update: try update(operation, row: row, in: table)
        case .delete: try delete(operation, row: row, in: table)
        case .acknowledge: try acknowledge(operation, row: row)
        case .park: try park(operation, row: row)
        case .release: try release(operation, row: row)
        case .forget: break
        }
        if let report = operation.conflictBytes { try journal(operation, report) }
        if operation.kind.changesContent {
            try noteReadability(operation, wasUnreadable: wasUnreadable)
        }
    }

    /// Keeps the list of records that can't be read as their Swift type.
    private func noteReadability(_ operation: OperationView, wasUnreadable: Bool) throws {
        let isUnreadable = operation.flags.contains(.isUnreadable)
        guard isUnreadable != wasUnreadable else { return }
        try TableKey.withRow(
            operation.entity, keyBytes: operation.keyBytes, table: TableKey.unreadable
        ) { key in
            if isUnreadable {
                let empty = UnsafeRawBufferPointer(start: nil, count: 0)
                try access.put(key, empty, in: databases.tables)
            } else {
                try access.delete(key, in: databases.tables)
            }
        }
    }

    // MARK: Content

    private mutating func insert(
        _ operation: OperationView, over row: RowView?, in table: EntityTable
    ) throws {
        if let row, !row.isDeleted {
            throw contradiction(operation, "inserts a record that exists")
        }
        let header = header(after: operation, row: row)
        let wasParked = row?.flags.contains(.isParked) == true
        let body = operation.afterBytes
        let fields = try operation.after
        for attribute in table.indexed {
            try putIndex(operation, attribute, try effective(fields, attribute), in: table)
        }
        for attribute in table.references {
            try putInverse(operation, attribute, try fields.value(of: attribute.field), in: table)
        }
        try put(header, body, operation)
        if wasParked { try deleteParked(operation) }
    }

    private mutating func update(
        _ operation: OperationView, row: RowView?, in table: EntityTable
    ) throws {
        guard let row, !row.isDeleted, let fields = copiedFields(of: row) else {
            throw contradiction(operation, "updates a record that does not exist")
        }
        let header = header(after: operation, row: row)
        let wasParked = row.flags.contains(.isParked)
        let changed = try operation.after
        for attribute in table.indexed {
            guard let after = try changed.value(of: attribute.field) else { continue }
            try deleteIndex(operation, attribute, try effective(fields, attribute), in: table)
            let stored = after.tag == .null ? nil : after
            try putIndex(operation, attribute, stored, in: table)
        }
        for attribute in table.references {
            guard let after = try changed.value(of: attribute.field) else { continue }
            let before = try fields.value(of: attribute.field)
            try deleteInverse(operation, attribute, before, in: table)
            try putInverse(operation, attribute, after, in: table)
        }
        writer.reset()
        try merge(fields, changed)
        rowBuffer.removeAll()
        header.append(to: &rowBuffer)
        writer.finish(into: &rowBuffer)
        try putRow(operation)
        if wasParked { try deleteParked(operation) }
    }

    private mutating func copiedFields(of row: RowView) -> PackedFields? {
        oldBuffer.removeAll()
        oldBuffer.append(row.bodyBytes)
        return PackedFields(oldBuffer.bytes)
    }

    /// Writes the fields of a row with changes laid over them; a null removes its field.
    private mutating func merge(_ fields: PackedFields, _ changed: PackedFields) throws {
        guard fields.isAscending, changed.isAscending else { throw FieldError(.damaged) }
        var old = 0
        var new = 0
        while old < fields.count || new < changed.count {
            let isOld =
                new == changed.count
                || (old < fields.count && fields.field(at: old) < changed.field(at: new))
            if isOld {
                try writer.write(raw: try fields.rawValue(at: old), of: fields.field(at: old))
                old += 1
                continue
            }
            let field = changed.field(at: new)
            if old < fields.count, fields.field(at: old) == field { old += 1 }
            let raw = try changed.rawValue(at: new)
            if raw[0] != FieldTag.null.rawValue { try writer.write(raw: raw, of: field) }
            new += 1
        }
    }

    private mutating func delete(
        _ operation: OperationView, row: RowView?, in table: EntityTable
    ) throws {
        guard let row, !row.isDeleted, let fields = copiedFields(of: row) else {
            throw contradiction(operation, "deletes a record that does not exist")
        }
        var header = header(after: operation, row: row)
        let wasParked = row.flags.contains(.isParked)
        for attribute in table.indexed {
            try deleteIndex(operation, attribute, try effective(fields, attribute), in: table)
        }
        for attribute in table.references {
            let before = try fields.value(of: attribute.field)
            try deleteInverse(operation, attribute, before, in: table)
        }
        if header.isDirty {
            header.flags = .isDeleted
            try put(header, UnsafeRawBufferPointer(start: nil, count: 0), operation)
        } else {
            try deleteRow(operation)
        }
        if wasParked { try deleteParked(operation) }
    }

    /// The header of a row after an operation that changes content.
    private func header(after operation: OperationView, row: RowView?) -> RowHeader {
        var header = row?.header ?? RowHeader()
        header.flags.remove(.contentMarks)
        if operation.flags.contains(.isUnreadable) { header.flags.insert(.isUnreadable) }
        header.lastSequence = operation.sequence
        if let stamp = operation.stamp {
            header.syncedSequence = operation.sequence
            header.changeTag = stamp.changeTag
            header.modifiedMilliseconds = stamp.modifiedMilliseconds
        }
        return header
    }

    // MARK: Synchronisation

    private mutating func acknowledge(_ operation: OperationView, row: RowView?) throws {
        guard let stamp = operation.stamp else {
            throw contradiction(operation, "acknowledges without a stamp")
        }
        guard let row else { throw contradiction(operation, "acknowledges a record without a row") }
        var header = row.header
        header.flags.remove(.isForgotten)
        header.syncedSequence = max(header.syncedSequence, stamp.acknowledgedThrough)
        header.changeTag = stamp.changeTag
        header.modifiedMilliseconds = stamp.modifiedMilliseconds
        if row.isDeleted, !header.isDirty {
            let wasParked = header.flags.contains(.isParked)
            try deleteRow(operation)
            if wasParked { try deleteParked(operation) }
            return
        }
        if !header.isDirty, header.flags.contains(.isParked) {
            header.flags.remove(.isParked)
            try put(header, row.bodyBytes, operation)
            return try deleteParked(operation)
        }
        try put(header, row.bodyBytes, operation)
    }

    private mutating func park(_ operation: OperationView, row: RowView?) throws {
        guard let row else { throw contradiction(operation, "parks a record without a row") }
        var header = row.header
        header.flags.insert(.isParked)
        try put(header, row.bodyBytes, operation)
        rowBuffer.removeAll()
        rowBuffer.append(big: operation.sequence)
        rowBuffer.append(utf8: operation.parkReason)
        try TableKey.withRow(
            operation.entity, keyBytes: operation.keyBytes, table: TableKey.parked
        ) { try access.put($0, rowBuffer.bytes, in: databases.tables) }
    }

    private mutating func release(_ operation: OperationView, row: RowView?) throws {
        guard let row else { throw contradiction(operation, "releases a record without a row") }
        var header = row.header
        header.flags.remove(.isParked)
        try put(header, row.bodyBytes, operation)
        try deleteParked(operation)
    }

    /// Drops what the service knew: every record is to be created there again.
    private mutating func forget(_ operation: OperationView, catalog: CatalogSnapshot) throws {
        let reader = TableReader(access: access, databases: databases, catalog: catalog)
        for table in catalog.tables {
            var keys: [[UInt8]] = []
            try reader.visitStoredRows(of: table.number) { key, _ in
                keys.append(Array(key))
                return true
            }
            for key in keys {
                try key.withUnsafeBytes { key in
                    guard let row = try reader.row(table.number, keyBytes: key) else { return }
                    var header = row.header
                    if !header.isDirty { header.flags.insert(.isForgotten) }
                    header.syncedSequence = 0
                    header.changeTag = ""
                    header.modifiedMilliseconds = 0
                    try put(header, row.bodyBytes, entity: table.number, key)
                }
            }
        }
    }

    private mutating func journal(
        _ operation: OperationView, _ report: UnsafeRawBufferPointer
    ) throws {
        rowBuffer.removeAll()
        rowBuffer.append(big: operation.entity.rawValue)
        rowBuffer.append(operation.keyBytes)
        rowBuffer.append(report)
        try TableKey.withJournal(operation.sequence) {
            try access.put($0, rowBuffer.bytes, in: databases.tables)
        }
    }

    // MARK: Entries

    private mutating func put(
        _ header: RowHeader, _ body: UnsafeRawBufferPointer, _ operation: OperationView
    ) throws {
        try put(header, body, entity: operation.entity, operation.keyBytes)
    }

    private mutating func put(
        _ header: RowHeader, _ body: UnsafeRawBufferPointer, entity: EntityNumber,
        _ key: UnsafeRawBufferPointer
    ) throws {
        rowBuffer.removeAll()
        header.append(to: &rowBuffer)
        rowBuffer.append(body)
        try TableKey.withRow(entity, keyBytes: key) {
            try access.put($0, rowBuffer.bytes, in: databases.tables)
        }
    }

    private func putRow(_ operation: OperationView) throws {
        try TableKey.withRow(operation.entity, keyBytes: operation.keyBytes) {
            try access.put($0, rowBuffer.bytes, in: databases.tables)
        }
    }

    private func deleteRow(_ operation: OperationView) throws {
        _ = try TableKey.withRow(operation.entity, keyBytes: operation.keyBytes) {
            try access.delete($0, in: databases.tables)
        }
    }

    private func deleteParked(_ operation: OperationView) throws {
        _ = try TableKey.withRow(
            operation.entity, keyBytes: operation.keyBytes, table: TableKey.parked
        ) { try access.delete($0, in: databases.tables) }
    }

    /// The stored value of an attribute; nil where there is none and the default counts.
    private func effective(
        _ fields: PackedFields, _ attribute: CatalogAttribute
    ) throws -> FieldValue? {
        try fields.value(of: attribute.field)
    }

    private mutating func makeIndexKey(
        _ operation: OperationView, _ attribute: CatalogAttribute, _ value: FieldValue?,
        in table: EntityTable
    ) -> Bool {
        guard let schema = attribute.schema else { return false }
        indexBuffer.removeAll()
        TableKey.appendIndexPrefix(
            TableKey.indexes, table.number, attribute.field, to: &indexBuffer)
        if let value {
            OrderedKey.append(value, type: schema.type, to: &indexBuffer)
        } else {
            OrderedKey.append(schema.defaultValue, type: schema.type, to: &indexBuffer)
        }
        indexBuffer.append(operation.keyBytes)
        return true
    }

    private mutating func putIndex(
        _ operation: OperationView, _ attribute: CatalogAttribute, _ value: FieldValue?,
        in table: EntityTable
    ) throws {
        guard makeIndexKey(operation, attribute, value, in: table) else { return }
        let empty = UnsafeRawBufferPointer(start: nil, count: 0)
        try access.put(indexBuffer.bytes, empty, in: databases.tables)
    }

    private mutating func deleteIndex(
        _ operation: OperationView, _ attribute: CatalogAttribute, _ value: FieldValue?,
        in table: EntityTable
    ) throws {
        guard makeIndexKey(operation, attribute, value, in: table) else { return }
        try access.delete(indexBuffer.bytes, in: databases.tables)
    }

    private mutating func makeInverseKey(
        _ operation: OperationView, _ attribute: CatalogAttribute, _ target: FieldValue?,
        in table: EntityTable
    ) -> Bool {
        guard let target, target.tag == .reference else { return false }
        indexBuffer.removeAll()
        TableKey.appendIndexPrefix(
            TableKey.inverses, table.number, attribute.field, to: &indexBuffer)
        TableKey.appendTarget(target.payload, to: &indexBuffer)
        indexBuffer.append(operation.keyBytes)
        return true
    }

    private mutating func putInverse(
        _ operation: OperationView, _ attribute: CatalogAttribute, _ target: FieldValue?,
        in table: EntityTable
    ) throws {
        guard makeInverseKey(operation, attribute, target, in: table) else { return }
        let empty = UnsafeRawBufferPointer(start: nil, count: 0)
        try access.put(indexBuffer.bytes, empty, in: databases.tables)
    }

    private mutating func deleteInverse(
        _ operation: OperationView, _ attribute: CatalogAttribute, _ target: FieldValue?,
        in table: EntityTable
    ) throws {
        guard makeInverseKey(operation, attribute, target, in: table) else { return }
        try access.delete(indexBuffer.bytes, in: databases.tables)
    }

    private func contradiction(_ operation: OperationView, _ what: String) -> StoreError {
        StoreError(
            .damaged,
            "Operation \(operation.sequence) \(what): the log or the tables are damaged. Run verify."
        )
    }
}
