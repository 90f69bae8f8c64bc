import CLMDB

/// Reading a snapshot in the map itself.
extension Access {
    /// The tree of a database.
    ///
    /// - Returns: `nil` if changes of the database wait in a journal, or if the tree is left to LMDB.
    private func tree(of database: Database) -> SnapshotTree? {
        guard let trees, overlay == nil || !hasWaiting(in: database) else { return nil }
        return trees.pointee.tree(of: database, transaction, atOnce: true)
    }

    /// Visits the entries of a database from a key up to but without another, until the closure returns
    /// false, if that goes without a cursor.
    ///
    /// Keys and values lie in the map, as those of a cursor do.
    ///
    /// - Parameters:
    ///   - first: Empty for the first entry.
    ///   - end: `nil` for all behind it.
    ///   - ahead: Gets the keys that are visited next, up to 16 at a time: their number, and a function that
    ///     returns each by its place. Pass `nil` to visit only.
    /// - Returns: Whether the closure wants to go on; `nil` if it takes a cursor, and nothing was visited.
    /// - Throws: `damaged` if the file is; what the closure throws.
    package func walk(
        in database: Database, from first: UnsafeRawBufferPointer, to end: UnsafeRawBufferPointer?,
        ahead: ((_ count: Int, _ key: (Int) -> UnsafeRawBufferPointer) -> Void)?,
        _ visit: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool
    ) throws -> Bool? {
        guard let tree = tree(of: database) else { return nil }
        return try tree.visit(
            from: first, to: end, ahead: ahead,
            failed: { failed(MDB_CORRUPTED, "walk through a database") }
        ) { key, value in
            try interruption?.takeUnretainedValue().step()
            return try visit(key, value)
        }
    }

    /// Looks up several keys at once, if that goes without a cursor: look-ups of the same keys in the same
    /// order find them at hand, and their values fetched from memory.
    ///
    /// - Complexity: As that of the look-ups, without waiting for memory one after another.
    package func prefetch(
        in database: Database, count: Int, key: (Int) -> UnsafeRawBufferPointer
    ) {
        guard let trees, overlay == nil || !hasWaiting(in: database) else { return }
        trees.pointee.lookAhead(in: database, transaction, count: count, key: key)
    }
}
