package import BackstitchCore
package import LMDB

/// Reads the log and the tables within one transaction, whose lifetime it must not outlive.
@usableFromInline
package struct TableReader {
    package let access: Access
    package let databases: Databases
    package let catalog: CatalogSnapshot
    /// What was different at the moment that is read; nil for the present.
    package let past: PastRows?
    /// Whether the checksums of rows are compared: if what they say is written again.
    package let checksRows: Bool

    package init(
        access: Access, databases: Databases, catalog: CatalogSnapshot, past: PastRows? = nil,
        checksRows: Bool = false
    ) {
        self.checksRows = checksRows
        self.access = access
        self.databases = databases
        self.catalog = catalog
        self.past = past
    }

    // MARK: Rows

    /// The row of a record, tombstones included.
    package func row(_ entity: EntityNumber, _ key: RecordKey) throws -> RowView? {
        try TableKey.withRow(entity, key) { try row(at: $0) }
    }

    package func row(_ entity: EntityNumber, keyBytes: UnsafeRawBufferPointer) throws -> RowView? {
        try TableKey.withRow(entity, keyBytes: keyBytes) { try row(at: $0) }
    }

    private func row(at key: UnsafeRawBufferPointer) throws -> RowView? {
        if let past, let record = past.record(at: key) { return past.row(of: record) }
        guard let bytes = try access.get(key, in: databases.tables) else { return nil }
        guard let row = RowView(bytes), !checksRows || row.isIntact(at: key) else {
            throw Self.damagedRow
        }
        return row
    }

    /// Visits the entries of a table whose keys start with a prefix, in key order.
    ///
    /// - Parameter visit: Gets the key and the value; returns whether to go on.
    package func visit(
        prefix: UnsafeRawBufferPointer, from start: UnsafeRawBufferPointer? = nil,
        _ visit: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        if let past {
            return try visitPast(
                past, prefix: prefix, from: Array(start ?? prefix), to: Array(prefix).next,
                reversed: false, visit)
        }
        try access.withCursor(in: databases.tables) { cursor in
            var isThere = try cursor.seek(atOrAfter: start ?? prefix)
            while isThere {
                guard cursor.key.begins(with: prefix) else { return }
                guard try visit(cursor.key, cursor.value) else { return }
                isThere = try cursor.next()
            }
        }
    }

    /// Visits the rows of an entity, tombstones included, in key order, and compares their checksums.
    package func visitStoredRows(
        of entity: EntityNumber, from start: RecordKey? = nil,
        _ visit: (_ key: UnsafeRawBufferPointer, _ row: RowView) throws -> Bool
    ) throws {
        var prefix = ByteBuffer(capacity: 8)
        prefix.append(TableKey.rows)
        prefix.append(big: entity.rawValue)
        var from = ByteBuffer()
        from.append(prefix.bytes)
        if let start { from.append(start) }
        try self.visit(prefix: prefix.bytes, from: from.bytes) { key, value in
            guard let row = RowView(value), row.isIntact(at: key) else { throw Self.damagedRow }
            let keyBytes = key.part(TableKey.rowPrefixByteCount..<key.count)
            return try visit(keyBytes, row)
        }
    }

    // MARK: The log

    /// Gets the sequence and the bytes of an operation; returns whether to go on.
    package typealias OperationVisit = (UInt64, UnsafeRawBufferPointer) throws -> Bool

    /// The sequence of the last operation; 0 if there is none.
    package var head: UInt64 {
        get throws {
            if let past { return past.sequence }
            return try access.withCursor(in: databases.log) { cursor in
                try cursor.last() ? cursor.key.sequence : 0
            }
        }
    }

    /// Operations behind this sequence are not there yet at the moment that is read.
    package var lastVisible: UInt64 { past?.sequence ?? .max }

    /// Calls `body` with the operation at a sequence; nil if there is none.
    package func withOperation<Result>(
        _ sequence: UInt64, _ body: (OperationView) throws -> Result
    ) throws -> Result? {
        guard sequence <= lastVisible else { return nil }
        let bytes = try TableKey.withSequence(sequence) {
            try access.get($0, in: databases.log)
        }
        guard let bytes else { return nil }
        return try body(try OperationView(bytes, sequence: sequence))
    }

    /// Visits operations in sequence order from a sequence on.
    package func visitOperations(
        from first: UInt64, _ visit: (OperationView) throws -> Bool
    ) throws {
        try visitStoredOperations(from: first) { sequence, bytes in
            try visit(try OperationView(bytes, sequence: sequence))
        }
    }

    /// Visits the bytes of operations, which may be damaged, in sequence order.
    package func visitStoredOperations(
        from first: UInt64, _ visit: (UInt64, UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        try access.withCursor(in: databases.log) { cursor in
            var isThere = try TableKey.withSequence(first) { try cursor.seek(atOrAfter: $0) }
            while isThere {
                let sequence = cursor.key.sequence
                guard sequence <= lastVisible, try visit(sequence, cursor.value) else { return }
                isThere = try cursor.next()
            }
        }
    }

    /// Visits the bytes of operations, which may be damaged, from the last one back.
    package func visitStoredOperationsBackwards(_ visit: OperationVisit) throws {
        try access.withCursor(in: databases.log) { cursor in
            var isThere = try cursor.last()
            while isThere {
                let sequence = cursor.key.sequence
                if sequence <= lastVisible {
                    guard try visit(sequence, cursor.value) else { return }
                }
                isThere = try cursor.previous()
            }
        }
    }

    // MARK: Meta

    /// A value of the meta database.
    package func meta(_ name: String) throws -> [UInt8]? {
        try Array(name.utf8).withUnsafeBytes { key in
            try access.get(key, in: databases.meta).map { Array($0) }
        }
    }

    /// Visits the entries of `meta` whose names begin with a prefix, with what follows it, in the
    /// order of the names, until the closure returns false.
    package func visitMeta(
        _ prefix: String, _ visit: (String, UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        try Array(prefix.utf8).withUnsafeBytes { prefix in
            try access.withCursor(in: databases.meta) { cursor in
                var isThere = try cursor.seek(atOrAfter: prefix)
                while isThere, cursor.key.begins(with: prefix) {
                    let name = cursor.key.part(prefix.count..<cursor.key.count)
                    guard try visit(String(decoding: name, as: UTF8.self), cursor.value) else {
                        return
                    }
                    isThere = try cursor.next()
                }
            }
        }
    }
}

extension UnsafeRawBufferPointer {
    /// The sequence that a key of the log spells; 0 if it is none.
    package var sequence: UInt64 {
        count == 8 ? UInt64(bigEndian: loadUnaligned(as: UInt64.self)) : 0
    }
}
