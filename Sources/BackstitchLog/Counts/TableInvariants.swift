import BackstitchCore
import LMDB

/// What holds between the tables after every commit, without a look at the log: each row has its
/// entries in the other tables, no entry is of anything else, and the stored tally counts the rows.
///
/// `verify` proves more, at the cost of applying the whole log. This costs a look-up for each entry.
package struct TableInvariants {
    private let reader: TableReader

    package init(_ reader: TableReader) {
        self.reader = reader
    }

    /// What contradicts; nil if nothing does.
    ///
    /// - Throws: `damaged` for a row whose checksum is wrong.
    package func violation() throws -> String? {
        var entries: [UInt8: Int] = [:]
        for table in reader.catalog.tables {
            var found: String?
            try unsafe reader.visitStoredRows(of: table.number) { key, row in
                found = try unsafe violation(of: row, key, in: table, &entries)
                return found == nil
            }
            if let found { return found }
        }
        for table in [
            TableKey.indexes, TableKey.compounds, TableKey.inverses, TableKey.parked,
            TableKey.unreadable,
        ] {
            let (count, expected) = (try count(table), entries[table] ?? 0)
            if count != expected {
                return "Table \(table) has \(count) entries, and rows have \(expected)."
            }
        }
        return try tallyViolation()
    }

    /// What is wrong with the entries of a row.
    ///
    /// - Parameter entries: Gets how many entries of each table the row has.
    private func violation(
        of row: RowView, _ key: UnsafeRawBufferPointer, in table: EntityTable,
        _ entries: inout [UInt8: Int]
    ) throws -> String? {
        let name = unsafe "The row \(table.name) \(RecordKey(reading: key)?.description ?? "?")"
        if row.syncedSequence > row.lastSequence {
            return "\(name) is synced to \(row.syncedSequence) of \(row.lastSequence)."
        }
        for (mark, flag) in [
            (TableKey.parked, RowView.Flags.isParked), (TableKey.unreadable, .isUnreadable),
        ] {
            let isThere = try unsafe TableKey.withRow(table.number, keyBytes: key, table: mark) {
                try unsafe reader.access.get($0, in: reader.databases.tables) != nil
            }
            if isThere != row.flags.contains(flag) {
                return "\(name) and its entry in table \(mark) contradict each other."
            }
            if isThere { entries[mark, default: 0] += 1 }
        }
        guard !row.isDeleted else { return nil }
        guard let fields = row.fields else { return "\(name) has no fields." }
        for attribute in table.indexed where attribute.isBuilding != true {
            let value = try fields.value(of: attribute.field)
            let missing = try isMissing(TableKey.indexes, &entries) {
                unsafe TableKey.appendIndex(of: table, attribute, value, key, to: &$0)
            }
            if missing { return "\(name) lacks its entry in the index of \(attribute.name)." }
        }
        for index in table.indexes where index.index.isBuilding != true {
            let missing = try isMissing(TableKey.compounds, &entries) { output in
                try unsafe TableKey.appendCompound(of: table, index, key, to: &output) {
                    try fields.value(of: $0)
                }
                return true
            }
            if missing { return "\(name) lacks its entry in the index \(index.index.number)." }
        }
        for attribute in table.references {
            let value = try fields.value(of: attribute.field)
            let missing = try isMissing(TableKey.inverses, &entries) {
                unsafe TableKey.appendInverse(of: table, attribute, value, key, to: &$0)
            }
            if missing { return "\(name) lacks its inverse entry of \(attribute.name)." }
        }
        return nil
    }

    /// Whether an entry is to be there and is not.
    private func isMissing(
        _ table: UInt8, _ entries: inout [UInt8: Int], _ append: (inout ByteBuffer) throws -> Bool
    ) throws -> Bool {
        var key = ByteBuffer(capacity: 600)
        guard try append(&key) else { return false }
        entries[table, default: 0] += 1
        return try unsafe reader.access.get(key.bytes, in: reader.databases.tables) == nil
    }

    /// The entries of a table, but for those of indexes that are being built.
    private func count(_ table: UInt8) throws -> Int {
        var count = 0
        try unsafe TableEntries(reader, startingWith: [table]).visit { key, _ in
            if table == TableKey.indexes, key.count >= TableKey.indexPrefixByteCount {
                let field = unsafe FieldID(TableKey.number(of: key))
                let attribute = unsafe reader.catalog.table(TableKey.entity(of: key))?.attribute(
                    field)
                if attribute?.isBuilding == true { return true }
            }
            if table == TableKey.compounds, key.count >= TableKey.indexPrefixByteCount {
                let index = unsafe reader.catalog.table(TableKey.entity(of: key))?
                    .index(TableKey.number(of: key))
                if index?.index.isBuilding == true { return true }
            }
            count += 1
            return true
        }
        return count
    }

    /// Whether what commits count is what the tables have, as far as they have counted.
    private func tallyViolation() throws -> String? {
        let counter = OutboxCounter(reader)
        let head = try reader.log.head
        let stored = try counter.counting(at: head)
        var counted = OutboxCounting(
            sequence: head, position: [], countsRecords: stored.countsRecords)
        try counter.goOn(&counted, budget: .max, through: stored.position)
        guard counted.tally != stored.tally else { return nil }
        return "The tally is \(stored.tally), and the tables have \(counted.tally)."
    }
}
