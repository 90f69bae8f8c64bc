import BackstitchCore
import LMDB

/// The entries of the tables as they are stored now, by the keys that ``TableKey`` makes.
struct StoredEntries {
    let access: Access
    let database: Database

    /// Gets the number of keys that are visited next, and each by its place.
    typealias Ahead = (_ count: Int, _ key: (Int) -> UnsafeRawBufferPointer) -> Void
    typealias Visit = (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool

    /// Visits the entries from a key up to but without another, either way round, until the closure
    /// returns false. The two are of the same table.
    ///
    /// - Parameter ahead: May be told the keys of entries that are visited next, if they are not rows.
    func visit(
        from first: UnsafeRawBufferPointer, to end: UnsafeRawBufferPointer, reversed: Bool,
        ahead: Ahead? = nil, _ visit: Visit
    ) throws {
        guard unsafe first.first == TableKey.rows else {
            _ = try unsafe Self.visit(
                access, in: database, from: first, to: end, reversed: reversed,
                ahead: ahead, visit)
            return
        }
        let entities = access.entitiesWithRows
        for entity in reversed ? entities.reversed() : entities {
            guard let rows = access.rows(of: entity),
                let bounds = unsafe bounds(of: entity, from: first, to: end)
            else { continue }
            var key = ByteBuffer(capacity: 300)
            key.append(TableKey.rowPrefix(entity))
            let goesOn = try unsafe Self.visit(
                access, in: rows, from: bounds.lower, to: bounds.upper, reversed: reversed
            ) { record, value in
                key.truncate(to: TableKey.rowPrefixByteCount)
                unsafe key.append(record)
                return try unsafe visit(key.bytes, value)
            }
            guard goesOn else { return }
        }
    }

    /// What of the record keys of an entity lies between two keys of rows; nil if nothing can.
    private func bounds(
        of entity: EntityNumber, from first: UnsafeRawBufferPointer,
        to end: UnsafeRawBufferPointer
    ) -> (lower: UnsafeRawBufferPointer, upper: UnsafeRawBufferPointer?)? {
        unsafe TableKey.rowPrefix(entity).withUnsafeBytes { prefix in
            let none = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
            var lower = unsafe none
            if unsafe first.begins(with: prefix) {
                unsafe lower = first.part(prefix.count..<first.count)
            } else if unsafe prefix.order(first) < 0 {
                return nil
            }
            if unsafe end.begins(with: prefix) {
                return unsafe (lower, end.part(prefix.count..<end.count))
            }
            return unsafe prefix.order(end) < 0 ? (lower, nil) : nil
        }
    }

    /// Visits the entries of a database.
    ///
    /// - Parameters:
    ///   - first: Empty for the first entry.
    ///   - end: Nil for all behind it.
    ///   - readsAhead: Whether values are fetched into the cache before they are visited. Nothing may be written
    ///     meanwhile.
    /// - Returns: Whether the closure wants to go on.
    static func visit(
        _ access: Access, in database: Database, from first: UnsafeRawBufferPointer,
        to end: UnsafeRawBufferPointer?, reversed: Bool, readsAhead: Bool = false,
        ahead: Ahead? = nil, _ visit: Visit
    ) throws -> Bool {
        if unsafe end?.isEmpty == true { return true }
        if !reversed,
            let goesOn = try unsafe access.walk(
                in: database, from: first, to: end, ahead: ahead, visit)
        {
            return goesOn
        }
        return try access.withCursor(in: database) { cursor in
            guard reversed else {
                var isThere =
                    unsafe first.isEmpty ? try cursor.first() : try cursor.seek(atOrAfter: first)
                if isThere, readsAhead { return try unsafe visitAhead(&cursor, to: end, visit) }
                while isThere {
                    let key = unsafe cursor.key
                    if let end = unsafe end, unsafe key.order(end) >= 0 { return true }
                    guard try unsafe visit(key, cursor.value) else { return false }
                    isThere = try cursor.next()
                }
                return true
            }
            // The entry before the end; the last one if nothing follows it.
            var isThere: Bool
            if let end = unsafe end, try unsafe cursor.seek(atOrAfter: end) {
                isThere = try cursor.previous()
            } else {
                isThere = try cursor.last()
            }
            while isThere {
                let key = unsafe cursor.key
                guard unsafe key.order(first) >= 0 else { return true }
                guard try unsafe visit(key, cursor.value) else { return false }
                isThere = try cursor.previous()
            }
            return true
        }
    }

    /// Visits the entries from the one on that a cursor stands on, up to but without a key.
    ///
    /// Most of the time of a scan is waiting for memory. So some entries are found first, few in the
    /// beginning, and the memory of all is on its way when the first is visited.
    private static func visitAhead(
        _ cursor: inout Cursor, to end: UnsafeRawBufferPointer?, _ visit: Visit
    ) throws -> Bool {
        typealias Entry = (key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer)
        return try unsafe withUnsafeTemporaryAllocation(of: Entry.self, capacity: aheadMax) {
            entries in
            var (isThere, size) = (true, 1)
            while isThere {
                var count = 0
                while isThere, count < size {
                    let key = unsafe cursor.key
                    if let end = unsafe end, unsafe key.order(end) >= 0 {
                        isThere = false
                        break
                    }
                    cursor.prefetchValue()
                    unsafe entries.initializeElement(at: count, to: (key, cursor.value))
                    count += 1
                    isThere = try cursor.next()
                }
                for at in 0..<count where try unsafe !visit(entries[at].key, entries[at].value) {
                    return false
                }
                size = min(2 * size, aheadMax)
            }
            return true
        }
    }

    /// The most entries that are found before they are visited.
    private static let aheadMax = 16
}
