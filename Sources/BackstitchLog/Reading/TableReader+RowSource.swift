package import BackstitchCore
import LMDB

/// Queries read live records that can be read as their Swift type; tombstones and unreadable ones
/// are left out.
extension TableReader: RowSource {
    package func visitRows(
        of entity: EntityNumber, within range: KeyRange, reversed: Bool,
        _ visit: (_ key: UnsafeRawBufferPointer, _ body: UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        let examiner = examiner(of: entity)
        try unsafe visitRowEntries(
            of: entity, from: range.lower, to: range.upper, reversed: reversed
        ) { key, value in
            guard let row = unsafe RowView(value) else { throw StoreError.damagedRow }
            guard try isReadable(row, by: examiner) else { return true }
            return try unsafe visit(key, row.bodyBytes)
        }
    }

    package func rowCount(of entity: EntityNumber) throws -> Int? {
        if past != nil { return nil }
        return try access.rows(of: entity).map { try access.countLimit(of: $0) } ?? 0
    }

    package func rowParts(of entity: EntityNumber) throws -> [KeyRange] {
        try RowParts(self).ranges(of: entity)
    }

    package func alongside(count: Int, _ body: (Int, TableReader) throws -> Void) throws -> Bool {
        try RowParts(self).run(count: count, body)
    }

    package func visitIndex(
        of entity: EntityNumber, attribute: AttributeBinding, within range: KeyRange,
        reversed: Bool, readsRows: Bool,
        _ visit: (_ value: UnsafeRawBufferPointer, _ key: UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        let examiner = examiner(of: entity)
        let asksRows =
            try !readsRows
            && (examiner != nil || UnreadableMarks(reader: self, entity: entity).exist)
        var prefix = ByteBuffer(capacity: 8)
        TableKey.appendIndexPrefix(of: attribute, entity, to: &prefix)
        let prefixCount = prefix.count
        func prefetch(count: Int, _ key: (Int) -> UnsafeRawBufferPointer) {
            unsafe prefetchRows(of: entity, count: count) {
                unsafe TableKey.recordKey(of: attribute, in: key($0), behind: prefixCount)
            }
        }
        try unsafe visitEntries(
            prefix: prefix.bytes, lower: range.lower, upper: range.upper, reversed: reversed,
            ahead: readsRows ? prefetch : nil
        ) { key, _ in
            let rest = unsafe key.part(prefix.count..<key.count)
            guard let (count, end) = unsafe TableKey.valueBounds(in: rest, of: attribute) else {
                throw StoreError.damagedIndex
            }
            let recordKey = unsafe rest.part(end..<rest.count)
            if asksRows {
                guard let row = try unsafe row(entity, keyBytes: recordKey),
                    try isReadable(row, by: examiner)
                else { return true }
            }
            return try unsafe visit(rest.part(0..<count), recordKey)
        }
    }

    package func visitReferrers(
        of entity: EntityNumber, attribute: AttributeBinding, target: RecordKey,
        from start: [UInt8], readsRows: Bool,
        _ visit: (_ key: UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        let examiner = examiner(of: entity)
        let asksRows =
            try !readsRows
            && (examiner != nil || UnreadableMarks(reader: self, entity: entity).exist)
        try unsafe Referrers(self, of: entity, attribute.field, to: target).visit(
            from: start, readsRows: readsRows
        ) { key in
            if asksRows {
                guard let row = try unsafe row(entity, keyBytes: key),
                    try isReadable(row, by: examiner)
                else { return true }
            }
            return try unsafe visit(key)
        }
    }

    package func withRow(
        of entity: EntityNumber, key: UnsafeRawBufferPointer,
        _ body: (_ body: UnsafeRawBufferPointer) throws -> Bool
    ) throws -> Bool? {
        guard let row = try unsafe row(entity, keyBytes: key),
            try isReadable(row, by: examiner(of: entity))
        else { return nil }
        return try unsafe body(row.bodyBytes)
    }

    package func prefetchRows(
        of entity: EntityNumber, count: Int, key: (Int) -> UnsafeRawBufferPointer
    ) {
        guard past == nil, let rows = access.rows(of: entity) else { return }
        unsafe access.prefetch(in: rows, count: count, key: key)
    }

    // MARK: Readability

    /// What has to ask each row of an entity whether its Swift type can read it; nil if the marks
    /// that rows carry say so.
    ///
    /// The marks are those of another schema until the records were examined, always where another version of the
    /// program declares more, and always in the past, whose rows are read by the present schema. So a row that does not fit is left out from the first
    /// read on, and a count is that of the records which are fetched.
    package func examiner(of entity: EntityNumber) -> EntityTable? {
        // Asked for each row that is found by its key.
        guard past != nil || catalog.isUnderExamination, let table = catalog.table(entity) else {
            return nil
        }
        return past != nil || table.isUnderExamination ? table : nil
    }

    /// Whether a row is a live record that its Swift type can read.
    package func isReadable(_ row: RowView, by examiner: EntityTable?) throws -> Bool {
        guard let examiner else { return row.flags.isDisjoint(with: .notReadable) }
        if row.isDeleted { return false }
        guard let fields = row.fields else { throw StoreError.damagedRow }
        return try examiner.reads(fields)
    }

    /// Visits the entries below a prefix from `lower` up to but without `upper`, either way round.
    private func visitEntries(
        prefix: UnsafeRawBufferPointer, lower: [UInt8], upper: [UInt8]?, reversed: Bool,
        ahead: StoredEntries.Ahead?,
        _ visit: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        var bounds = ByteBuffer(capacity: 256)
        unsafe bounds.append(prefix)
        bounds.append(lower)
        let firstCount = bounds.count
        if let upper {
            unsafe bounds.append(prefix)
            bounds.append(upper)
        } else {
            unsafe bounds.append(Array(prefix).next)
        }
        let first = unsafe bounds.bytes.part(0..<firstCount)
        let end = unsafe bounds.bytes.part(firstCount..<bounds.count)
        if let pastEntries {
            return try unsafe pastEntries.visit(
                prefix: prefix, from: Array(first), to: Array(end), reversed: reversed, visit)
        }
        try unsafe storedEntries.visit(
            from: first, to: end, reversed: reversed, ahead: ahead, visit)
    }
}

/// What marks the records of an entity that their Swift type can't read.
struct UnreadableMarks {
    let reader: TableReader
    let entity: EntityNumber

    var exist: Bool {
        get throws {
            var found = false
            try visit {
                found = true
                return false
            }
            return found
        }
    }

    /// Visits them until the closure returns false.
    func visit(_ visit: () throws -> Bool) throws {
        var prefix = ByteBuffer(capacity: 8)
        prefix.append(TableKey.unreadable)
        prefix.append(big: entity.rawValue)
        try unsafe reader.visit(prefix: prefix.bytes) { _, _ in try visit() }
    }
}

extension StoreError {
    static let damagedRow = StoreError(
        .damaged, "A row is damaged. Run rebuild to make the tables anew.")
    static let damagedIndex = StoreError(
        .damaged, "An index entry can't be read. Run rebuild to make the tables anew.")
}

extension [UInt8] {
    /// The first bytes behind everything that starts with these; a table's prefix has one.
    var next: [UInt8] {
        var bytes = self
        while let last = bytes.popLast() {
            if last < .max { return bytes + [last + 1] }
        }
        preconditionFailure("A prefix of a table is never the last of all keys.")
    }
}
