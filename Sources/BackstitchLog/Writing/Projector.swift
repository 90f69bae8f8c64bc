package import BackstitchCore
package import LMDB

/// Makes the tables follow the log: the only code that writes a table.
///
/// Applying an operation reads no clock, no random source and no policy, so that the same log and
/// catalog always give the same bytes.
package struct Projector: ~Copyable {
    package let access: Access
    package let databases: Databases
    private var rowBuffer = ByteBuffer(capacity: 1024)
    private var indexBuffer = ByteBuffer(capacity: 600)
    /// A copy of the row before an operation: a write to the tree may move the row itself.
    private var oldBuffer = ByteBuffer(capacity: 1024)
    private var writer = _FieldWriter()
    /// The counts of unpushed changes, kept up with the tables; nil if they are not needed.
    package var counting: OutboxCounting?

    /// Where the rows and entries of one record are; nil for the tables.
    private let record: InMemoryRecord?

    /// - Parameter record: Where to apply operations instead of the tables, which then are only read.
    package init(access: Access, databases: Databases, into record: InMemoryRecord? = nil) {
        self.access = access
        self.databases = databases
        self.record = record
    }

    /// Applies an operation of the log to the row that it finds.
    package mutating func apply(_ operation: OperationView, catalog: CatalogSnapshot) throws {
        let reader = reader(catalog)
        let row = try unsafe reader.row(operation.entity, keyBytes: operation.keyBytes)
        let headers = try apply(operation, to: row, catalog: catalog)
        try count(operation, headers, catalog: catalog)
    }

    /// Applies an operation to the tables.
    ///
    /// - Parameter row: The record's row as it is now; nil if there is none.
    /// - Returns: the headers of the row before and after it.
    package mutating func apply(
        _ operation: OperationView, to row: RowView?, catalog: CatalogSnapshot
    ) throws -> (before: RowHeader?, after: RowHeader?) {
        guard let table = catalog.table(operation.entity) else {
            throw StoreError(
                .damaged,
                "Operation \(operation.sequence) is of an entity that the catalog lacks.")
        }
        let before = row?.header
        let flags = before?.flags ?? []
        let after = try change(operation, row: row, before, in: table)
        if operation.kind == .park { try putParked(operation) }
        if flags.contains(.isParked), after?.flags.contains(.isParked) != true {
            try deleteParked(operation)
        }
        if let report = unsafe operation.conflictBytes { try unsafe journal(operation, report) }
        if operation.kind.changesContent {
            try noteReadability(operation, wasUnreadable: flags.contains(.isUnreadable))
        }
        if operation.mayNameContents { try putContents(of: operation) }
        return (before, after)
    }

    /// Counts what an operation did that the tables and the log have already.
    package mutating func count(
        _ operation: OperationView, _ headers: (before: RowHeader?, after: RowHeader?),
        catalog: CatalogSnapshot
    ) throws {
        let reader = reader(catalog)
        do {
            try counting?.note(operation, from: headers.before, to: headers.after, reader)
        } catch let error as LMDBError {
            throw error
        } catch {
            // A log that can't be read must not keep writes from being kept; what is stored is of
            // an earlier operation then, and counts as nothing.
            counting = nil
        }
    }

    private func reader(_ catalog: CatalogSnapshot) -> TableReader {
        TableReader(access: access, databases: databases, catalog: catalog, checksRows: true)
    }

    /// Carries out on the row and its entries what an operation makes of it.
    ///
    /// - Returns: the header of the row after it; nil if there is no row.
    private mutating func change(
        _ operation: OperationView, row: RowView?, _ before: RowHeader?, in table: EntityTable
    ) throws -> RowHeader? {
        let change: RowChange
        do {
            change = try RowChange(operation, on: before)
        } catch {
            throw contradiction(operation, error.what)
        }
        switch change {
        case .begin(let header):
            try putEntries(operation, try operation.after, in: table)
            try unsafe put(header, operation.afterBytes, operation)
            return header
        case .update(let header):
            try update(operation, row: row, to: header, in: table)
            return header
        case .bury(let header):
            try deleteEntries(operation, row: row, in: table)
            try unsafe put(header, UnsafeRawBufferPointer(start: nil, count: 0), operation)
            return header
        case .mark(let header):
            guard let row else { return nil }
            try unsafe put(header, row.bodyBytes, operation)
            return header
        case .restore:
            return try restore(operation, in: table)
        case .end:
            if row?.isDeleted == false { try deleteEntries(operation, row: row, in: table) }
            try deleteRow(operation)
            return nil
        case .nothing:
            return before
        }
    }

    /// Keeps the list of records that can't be read as their Swift type.
    private func noteReadability(_ operation: OperationView, wasUnreadable: Bool) throws {
        let isUnreadable = operation.flags.contains(.isUnreadable)
        guard isUnreadable != wasUnreadable else { return }
        try unsafe TableKey.withRow(
            operation.entity, keyBytes: operation.keyBytes, table: TableKey.unreadable
        ) { key in
            if isUnreadable {
                try unsafe putEntry(key)
            } else {
                try unsafe deleteEntry(key)
            }
        }
    }

    // MARK: Contents of files

    /// Notes which contents an operation names; notes that are there stay.
    package mutating func putContents(of operation: OperationView) throws {
        for content in operation.contents {
            makeContentKey(content, operation.sequence)
            try unsafe putEntry(indexBuffer.bytes)
        }
    }

    /// Forgets which contents an operation names that is taken out of the log, or replaced.
    package mutating func deleteContents(_ contents: Set<ContentKey>, of sequence: UInt64) throws {
        for content in contents {
            makeContentKey(content, sequence)
            try unsafe deleteEntry(indexBuffer.bytes)
        }
    }

    private mutating func makeContentKey(_ content: ContentKey, _ sequence: UInt64) {
        indexBuffer.removeAll()
        TableKey.appendContent(content, sequence, to: &indexBuffer)
    }

    // MARK: Entries of rows that are there

    /// Puts the index entries of a row for some attributes; those that are there stay.
    package mutating func putIndexes(
        of attributes: [CatalogAttribute], _ fields: PackedFields,
        keyBytes: UnsafeRawBufferPointer, in table: EntityTable
    ) throws {
        for attribute in attributes {
            try unsafe putIndex(keyBytes, attribute, try effective(fields, attribute), in: table)
        }
    }

    /// Puts the entries of a row in some indexes of several attributes or of folded texts; those that are there
    /// stay.
    package mutating func putCompounds(
        of indexes: [TableIndex], _ fields: PackedFields, keyBytes: UnsafeRawBufferPointer,
        in table: EntityTable
    ) throws {
        for index in indexes {
            try unsafe makeCompoundKey(keyBytes, index, in: table) {
                try fields.value(of: $0)?.present
            }
            try putKey()
        }
    }

    /// Takes away all entries of an index of several attributes or of folded texts.
    package mutating func clearCompound(_ entity: EntityNumber, _ number: UInt16) throws {
        indexBuffer.removeAll()
        TableKey.appendIndexPrefix(
            TableKey.compounds, entity, FieldID(number), to: &indexBuffer)
        try unsafe clear(prefix: indexBuffer.bytes)
    }

    /// Puts the inverse index entries of a row; those that are there stay.
    package mutating func putInverses(
        _ fields: PackedFields, keyBytes: UnsafeRawBufferPointer, in table: EntityTable
    ) throws {
        for attribute in table.references {
            try unsafe putInverse(
                keyBytes, attribute, try fields.value(of: attribute.field), in: table)
        }
    }

    /// Takes away all index entries of an attribute.
    package mutating func clearIndex(_ entity: EntityNumber, _ field: FieldID) throws {
        indexBuffer.removeAll()
        TableKey.appendIndexPrefix(TableKey.indexes, entity, field, to: &indexBuffer)
        try unsafe clear(prefix: indexBuffer.bytes)
    }

    /// Takes away all inverse index entries of an entity.
    package mutating func clearInverses(_ entity: EntityNumber) throws {
        indexBuffer.removeAll()
        indexBuffer.append(TableKey.inverses)
        indexBuffer.append(big: entity.rawValue)
        try unsafe clear(prefix: indexBuffer.bytes)
    }

    private func clear(prefix: UnsafeRawBufferPointer) throws {
        while true {
            let keys = try access.withCursor(in: databases.tables) { cursor in
                var keys: [[UInt8]] = []
                var isThere = try unsafe cursor.seek(atOrAfter: prefix)
                while isThere, keys.count < Self.clearedAtOnce,
                    unsafe cursor.key.begins(with: prefix)
                {
                    unsafe keys.append(Array(cursor.key))
                    isThere = try cursor.next()
                }
                return keys
            }
            for key in keys {
                try unsafe key.withUnsafeBytes {
                    _ = try unsafe access.delete($0, in: databases.tables)
                }
            }
            if keys.count < Self.clearedAtOnce { return }
        }
    }

    /// The keys that are held in memory while entries are taken away.
    private static let clearedAtOnce = 4_096

    // MARK: Content

    private mutating func update(
        _ operation: OperationView, row: RowView?, to header: RowHeader, in table: EntityTable
    ) throws {
        let fields = try copiedFields(of: row, operation)
        let changed = try operation.after
        for attribute in table.indexed {
            guard let after = try changed.value(of: attribute.field) else { continue }
            try unsafe deleteIndex(
                operation.keyBytes, attribute, try effective(fields, attribute), in: table)
            let stored = after.tag == .null ? nil : after
            try unsafe putIndex(operation.keyBytes, attribute, stored, in: table)
        }
        if !table.indexes.isEmpty {
            try unsafe updateCompounds(fields, changed, operation.keyBytes, in: table)
        }
        for attribute in table.references {
            guard let after = try changed.value(of: attribute.field) else { continue }
            let before = try fields.value(of: attribute.field)
            try unsafe deleteInverse(operation.keyBytes, attribute, before, in: table)
            try unsafe putInverse(operation.keyBytes, attribute, after, in: table)
        }
        writer.reset()
        try writer.write(fields, overlaidBy: changed)
        rowBuffer.removeAll()
        header.append(to: &rowBuffer)
        writer.finish(into: &rowBuffer)
        try putRow(operation)
    }

    private mutating func updateCompounds(
        _ fields: PackedFields, _ changed: PackedFields, _ keyBytes: UnsafeRawBufferPointer,
        in table: EntityTable
    ) throws {
        for index in table.indexes {
            let isChanged = try index.parts.contains { part in
                try changed.value(of: part.attribute.field) != nil
            }
            guard isChanged else { continue }
            try unsafe makeCompoundKey(keyBytes, index, in: table) {
                try fields.value(of: $0)?.present
            }
            try deleteKey()
            try unsafe makeCompoundKey(keyBytes, index, in: table) { field in
                if let after = try changed.value(of: field) { return after.present }
                return try fields.value(of: field)?.present
            }
            try putKey()
        }
    }

    /// Puts the row of a baseline.
    private mutating func restore(
        _ operation: OperationView, in table: EntityTable
    ) throws -> RowHeader {
        guard let baseline = operation.baseline else {
            throw contradiction(operation, "carries no row")
        }
        let row = baseline.row
        if !row.isDeleted { try putEntries(operation, try operation.after, in: table) }
        try unsafe put(row.header, row.bodyBytes, operation)
        if let bytes = unsafe baseline.parkBytes { try unsafe putParked(operation, bytes) }
        return row.header
    }

    private mutating func copiedFields(
        of row: RowView?, _ operation: OperationView
    ) throws -> PackedFields {
        oldBuffer.removeAll()
        if let row { unsafe oldBuffer.append(row.bodyBytes) }
        guard let fields = unsafe PackedFields(oldBuffer.bytes) else {
            throw contradiction(operation, "finds a row without fields")
        }
        return fields
    }

    private mutating func putEntries(
        _ operation: OperationView, _ fields: PackedFields, in table: EntityTable
    ) throws {
        for attribute in table.indexed {
            try unsafe putIndex(
                operation.keyBytes, attribute, try effective(fields, attribute), in: table)
        }
        try unsafe putCompounds(of: table.indexes, fields, keyBytes: operation.keyBytes, in: table)
        for attribute in table.references {
            try unsafe putInverse(
                operation.keyBytes, attribute, try fields.value(of: attribute.field), in: table)
        }
    }

    private mutating func deleteEntries(
        _ operation: OperationView, row: RowView?, in table: EntityTable
    ) throws {
        let fields = try copiedFields(of: row, operation)
        for attribute in table.indexed {
            try unsafe deleteIndex(
                operation.keyBytes, attribute, try effective(fields, attribute), in: table)
        }
        for index in table.indexes {
            try unsafe makeCompoundKey(operation.keyBytes, index, in: table) {
                try fields.value(of: $0)?.present
            }
            try deleteKey()
        }
        for attribute in table.references {
            let before = try fields.value(of: attribute.field)
            try unsafe deleteInverse(operation.keyBytes, attribute, before, in: table)
        }
    }

    private mutating func putParked(_ operation: OperationView) throws {
        rowBuffer.removeAll()
        rowBuffer.append(big: operation.sequence)
        rowBuffer.append(utf8: operation.parkReason)
        try unsafe putParked(operation, rowBuffer.bytes)
    }

    private func putParked(
        _ operation: OperationView, _ value: UnsafeRawBufferPointer
    ) throws {
        try unsafe TableKey.withRow(
            operation.entity, keyBytes: operation.keyBytes, table: TableKey.parked
        ) { try unsafe putEntry($0, value) }
    }

    private mutating func journal(
        _ operation: OperationView, _ report: UnsafeRawBufferPointer
    ) throws {
        rowBuffer.removeAll()
        rowBuffer.append(big: operation.entity.rawValue)
        unsafe rowBuffer.append(operation.keyBytes)
        unsafe rowBuffer.append(report)
        try unsafe TableKey.withJournal(operation.sequence) {
            try unsafe putEntry($0, rowBuffer.bytes)
        }
    }

    // MARK: Entries

    private mutating func put(
        _ header: RowHeader, _ body: UnsafeRawBufferPointer, _ operation: OperationView
    ) throws {
        rowBuffer.removeAll()
        header.append(to: &rowBuffer)
        unsafe rowBuffer.append(body)
        try putRow(operation)
    }

    /// Puts the row that the buffer holds but for its checksum.
    private mutating func putRow(_ operation: OperationView) throws {
        try unsafe TableKey.withRow(operation.entity, keyBytes: operation.keyBytes) { key in
            unsafe RowView.appendChecksum(at: key, to: &rowBuffer)
            if let record { return unsafe record.putRow(rowBuffer.bytes) }
            try unsafe databases.put(key, rowBuffer.bytes, access)
        }
    }

    private func deleteRow(_ operation: OperationView) throws {
        if let record { return record.deleteRow() }
        try unsafe TableKey.withRow(operation.entity, keyBytes: operation.keyBytes) {
            try unsafe databases.delete($0, access)
        }
    }

    private func deleteParked(_ operation: OperationView) throws {
        try unsafe TableKey.withRow(
            operation.entity, keyBytes: operation.keyBytes, table: TableKey.parked
        ) { try unsafe deleteEntry($0) }
    }

    /// The stored value of an attribute; nil if there is none and the default counts.
    private func effective(
        _ fields: PackedFields, _ attribute: CatalogAttribute
    ) throws -> _FieldValue? {
        try fields.value(of: attribute.field)
    }

    private mutating func makeIndexKey(
        _ keyBytes: UnsafeRawBufferPointer, _ attribute: CatalogAttribute, _ value: _FieldValue?,
        in table: EntityTable
    ) -> Bool {
        indexBuffer.removeAll()
        return unsafe TableKey.appendIndex(
            of: table, attribute, value, keyBytes, to: &indexBuffer)
    }

    private mutating func putIndex(
        _ keyBytes: UnsafeRawBufferPointer, _ attribute: CatalogAttribute, _ value: _FieldValue?,
        in table: EntityTable
    ) throws {
        guard unsafe makeIndexKey(keyBytes, attribute, value, in: table) else { return }
        try putKey()
    }

    private mutating func deleteIndex(
        _ keyBytes: UnsafeRawBufferPointer, _ attribute: CatalogAttribute, _ value: _FieldValue?,
        in table: EntityTable
    ) throws {
        guard unsafe makeIndexKey(keyBytes, attribute, value, in: table) else { return }
        try deleteKey()
    }

    private mutating func makeCompoundKey(
        _ keyBytes: UnsafeRawBufferPointer, _ index: TableIndex, in table: EntityTable,
        _ value: (FieldID) throws -> _FieldValue?
    ) throws {
        indexBuffer.removeAll()
        try unsafe TableKey.appendCompound(of: table, index, keyBytes, to: &indexBuffer, value)
    }

    private func putKey() throws { try unsafe putEntry(indexBuffer.bytes) }

    private func deleteKey() throws { try unsafe deleteEntry(indexBuffer.bytes) }

    private func putEntry(_ key: UnsafeRawBufferPointer) throws {
        try unsafe putEntry(key, UnsafeRawBufferPointer(start: nil, count: 0))
    }

    private func putEntry(
        _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
    ) throws {
        if let record { return unsafe record.put(key, value) }
        try unsafe access.put(key, value, in: databases.tables)
    }

    private func deleteEntry(_ key: UnsafeRawBufferPointer) throws {
        if let record { return unsafe record.delete(key) }
        _ = try unsafe access.delete(key, in: databases.tables)
    }

    private mutating func makeInverseKey(
        _ keyBytes: UnsafeRawBufferPointer, _ attribute: CatalogAttribute, _ target: _FieldValue?,
        in table: EntityTable
    ) -> Bool {
        indexBuffer.removeAll()
        return unsafe TableKey.appendInverse(
            of: table, attribute, target, keyBytes, to: &indexBuffer)
    }

    private mutating func putInverse(
        _ keyBytes: UnsafeRawBufferPointer, _ attribute: CatalogAttribute, _ target: _FieldValue?,
        in table: EntityTable
    ) throws {
        guard unsafe makeInverseKey(keyBytes, attribute, target, in: table) else { return }
        try putKey()
    }

    private mutating func deleteInverse(
        _ keyBytes: UnsafeRawBufferPointer, _ attribute: CatalogAttribute, _ target: _FieldValue?,
        in table: EntityTable
    ) throws {
        guard unsafe makeInverseKey(keyBytes, attribute, target, in: table) else { return }
        try deleteKey()
    }

    private func contradiction(_ operation: OperationView, _ what: String) -> StoreError {
        StoreError(
            .damaged,
            "Operation \(operation.sequence) \(what): the log or the tables are damaged. Run verify."
        )
    }
}

extension _FieldValue {
    /// The value, unless it is null.
    fileprivate var present: _FieldValue? { tag == .null ? nil : self }
}
