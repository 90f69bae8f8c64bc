import BackstitchCore
import LMDB

/// The entries of the tables as they were at a moment: those of now without the records that changed
/// since, and theirs of then between them, in one order.
struct PastEntries {
    let past: PastRows
    let stored: StoredEntries
    let catalog: CatalogSnapshot

    /// Visits the entries below a prefix from a key up to but without another, either way round.
    func visit(
        prefix: UnsafeRawBufferPointer, from first: [UInt8], to end: [UInt8], reversed: Bool,
        _ visit: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        var entries = try unsafe past.entries(startingWith: prefix, catalog).filter { entry in
            !entry.key.lexicographicallyPrecedes(first)
                && entry.key.lexicographicallyPrecedes(end)
        }
        if reversed { entries.reverse() }
        var position = 0
        func visitEntries(before key: UnsafeRawBufferPointer?) throws -> Bool {
            while position < entries.count {
                let entry = entries[position]
                let goesOn = try unsafe entry.key.withUnsafeBytes { bytes -> Bool? in
                    if let key = unsafe key,
                        unsafe !(reversed ? key.order(bytes) < 0 : bytes.order(key) < 0)
                    {
                        return nil
                    }
                    return try unsafe visit(bytes, entry.value)
                }
                guard let goesOn else { return true }
                position += 1
                guard goesOn else { return false }
            }
            return true
        }
        var goesOn = true
        try unsafe first.withUnsafeBytes { first in
            try unsafe end.withUnsafeBytes { end in
                try unsafe stored.visit(from: first, to: end, reversed: reversed) { key, value in
                    if try unsafe isReplaced(key, prefix) { return true }
                    goesOn = try unsafe visitEntries(before: key)
                    if goesOn { goesOn = try unsafe visit(key, value) }
                    return goesOn
                }
            }
        }
        if goesOn { _ = try visitEntries(before: nil) }
    }

    /// Whether an entry is of a record that changed since, or came since.
    private func isReplaced(
        _ key: UnsafeRawBufferPointer, _ prefix: UnsafeRawBufferPointer
    ) throws -> Bool {
        var start = TableKey.rowPrefixByteCount
        switch unsafe key[0] {
        case TableKey.journal: return unsafe key.part(1..<key.count).sequence > past.sequence
        case TableKey.inverses: start = prefix.count
        case TableKey.indexes:
            let field = unsafe FieldID(TableKey.number(of: key))
            let value = unsafe key.part(TableKey.indexPrefixByteCount..<key.count)
            guard
                let schema = unsafe catalog.table(TableKey.entity(of: key))?.attribute(field)?
                    .schema,
                let count = unsafe OrderedKey.byteCount(of: schema.type, in: value)
            else { return false }
            start = TableKey.indexPrefixByteCount + count
        case TableKey.compounds:
            let values = unsafe key.part(TableKey.indexPrefixByteCount..<key.count)
            guard
                let index = unsafe catalog.table(TableKey.entity(of: key))?.index(
                    TableKey.number(of: key)),
                let count = unsafe index.byteCount(in: values)
            else { return false }
            start = TableKey.indexPrefixByteCount + count
        default: break
        }
        guard start <= key.count else { return false }
        return unsafe past.record(TableKey.entity(of: key), key.part(start..<key.count)) != nil
    }
}
