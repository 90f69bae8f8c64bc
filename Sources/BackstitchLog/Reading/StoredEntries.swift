import BackstitchCore
import LMDB

/// The entries of the tables as they are stored now.
struct StoredEntries {
    let access: Access
    let database: Database

    /// Visits the entries from a key up to but without another, either way round, until the closure
    /// returns false.
    func visit(
        from first: UnsafeRawBufferPointer, to end: UnsafeRawBufferPointer, reversed: Bool,
        _ visit: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        try access.withCursor(in: database) { cursor in
            guard reversed else {
                var isThere = try cursor.seek(atOrAfter: first)
                while isThere {
                    let key = cursor.key
                    guard key.order(end) < 0, try visit(key, cursor.value) else { return }
                    isThere = try cursor.next()
                }
                return
            }
            // The entry before the end; the last one if nothing follows it.
            var isThere =
                try cursor.seek(atOrAfter: end) ? try cursor.previous() : try cursor.last()
            while isThere {
                let key = cursor.key
                guard key.order(first) >= 0, try visit(key, cursor.value) else { return }
                isThere = try cursor.previous()
            }
        }
    }
}
