import BackstitchCore
import LMDB

extension TableReader {
    /// A reader of the moment after an operation.
    ///
    /// - Throws: `notInLog` if the log has not come to it, or does not tell any more.
    package func at(_ sequence: UInt64) throws -> TableReader {
        let last = try head
        guard sequence <= last else {
            throw StoreError(
                .notInLog,
                "There is no operation \(sequence) yet: the log ends with \(last). Read at that or "
                    + "before.")
        }
        let oldest = try compaction.through
        guard sequence >= oldest else {
            throw StoreError(
                .notInLog,
                "The state after operation \(sequence) was compacted. The oldest that can be read "
                    + "is the one after operation \(oldest).")
        }
        guard sequence < last else { return self }
        return TableReader(
            access: access, databases: databases, catalog: catalog,
            past: try PastRows(self, at: sequence))
    }

    /// Visits entries of the tables as they were: those of now without the records that changed
    /// since, and theirs of then between them, in one order.
    package func visitPast(
        _ past: PastRows, prefix: UnsafeRawBufferPointer, from first: [UInt8], to end: [UInt8],
        reversed: Bool, _ visit: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        var entries = try past.entries(startingWith: prefix, catalog).filter { entry in
            !entry.key.lexicographicallyPrecedes(first)
                && entry.key.lexicographicallyPrecedes(end)
        }
        if reversed { entries.reverse() }
        var position = 0
        func visitEntries(before key: UnsafeRawBufferPointer?) throws -> Bool {
            while position < entries.count {
                let entry = entries[position]
                let goesOn = try entry.key.withUnsafeBytes { bytes -> Bool? in
                    if let key, !(reversed ? key.order(bytes) < 0 : bytes.order(key) < 0) {
                        return nil
                    }
                    return try visit(bytes, entry.value)
                }
                guard let goesOn else { return true }
                position += 1
                guard goesOn else { return false }
            }
            return true
        }
        var goesOn = true
        try first.withUnsafeBytes { first in
            try end.withUnsafeBytes { end in
                try visitStoredEntries(from: first, to: end, reversed: reversed) { key, value in
                    if try isReplaced(key, prefix, past) { return true }
                    goesOn = try visitEntries(before: key)
                    if goesOn { goesOn = try visit(key, value) }
                    return goesOn
                }
            }
        }
        if goesOn { _ = try visitEntries(before: nil) }
    }

    /// Whether an entry is of a record that changed since, or came since.
    private func isReplaced(
        _ key: UnsafeRawBufferPointer, _ prefix: UnsafeRawBufferPointer, _ past: PastRows
    ) throws -> Bool {
        var start = TableKey.rowPrefixByteCount
        switch key[0] {
        case TableKey.journal: return key.part(1..<key.count).sequence > past.sequence
        case TableKey.inverses: start = prefix.count
        case TableKey.indexes:
            let field = FieldID(UInt16(key[3]) << 8 | UInt16(key[4]))
            let value = key.part(TableKey.indexPrefixByteCount..<key.count)
            guard let schema = catalog.table(PastRows.entity(of: key))?.attribute(field)?.schema,
                let count = OrderedKey.byteCount(of: schema.type, in: value)
            else { return false }
            start = TableKey.indexPrefixByteCount + count
        default: break
        }
        guard start <= key.count else { return false }
        return past.record(PastRows.entity(of: key), key.part(start..<key.count)) != nil
    }
}
