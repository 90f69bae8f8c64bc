public import CLMDB

extension Access {
    /// Sets the value of a key, new or not.
    ///
    /// - Throws: `keyEmpty` or `keyTooLong`, which leave the transaction usable. Any other error
    ///   spoils it: ``Environment/write(_:)`` then throws, or runs the closure again with a
    ///   larger map.
    /// - Complexity: O(log *n*) in the number of entries.
    @inlinable
    package func put(
        _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, in database: Database
    ) throws(LMDBError) {
        if overlay != nil { return try change(.put, key, value, in: database) }
        var name = try Self.value(key: key)
        try willChange(key, in: database)
        var data = MDB_val(
            mv_size: value.count, mv_data: UnsafeMutableRawPointer(mutating: value.baseAddress))
        let status = mdb_put(changing(), database.handle, &name, &data, 0)
        guard status == MDB_SUCCESS else { throw failed(status, "write a key") }
        noteBytes(key.count &+ value.count)
    }

    /// Adds an entry behind all others. Pages are filled completely, and no search is needed.
    ///
    /// - Throws: `appendOutOfOrder` if the key isn't greater than the last one, which leaves the
    ///   transaction usable; otherwise as ``put(_:_:in:)``.
    @inlinable
    package func append(
        _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, in database: Database
    ) throws(LMDBError) {
        if overlay != nil { return try appendChange(key, value, in: database) }
        var name = try Self.value(key: key)
        var data = MDB_val(
            mv_size: value.count, mv_data: UnsafeMutableRawPointer(mutating: value.baseAddress))
        try willChange(key, in: database)
        let status = mdb_put(changing(), database.handle, &name, &data, UInt32(MDB_APPEND))
        if status == MDB_KEYEXIST { throw .appendOutOfOrder }
        guard status == MDB_SUCCESS else { throw failed(status, "append a key") }
        noteBytes(key.count &+ value.count)
    }

    /// Deletes a key.
    ///
    /// - Returns: Whether the key was there.
    /// - Throws: As ``put(_:_:in:)``.
    @inlinable
    @discardableResult
    package func delete(
        _ key: UnsafeRawBufferPointer, in database: Database
    ) throws(LMDBError) -> Bool {
        if overlay != nil { return try deleteChange(key, in: database) }
        var name = try Self.value(key: key)
        try willChange(key, in: database)
        let status = mdb_del(changing(), database.handle, &name, nil)
        if status == MDB_NOTFOUND {
            // Then no page was touched either.
            state?.pointee.changes &-= 1
            return false
        }
        guard status == MDB_SUCCESS else { throw failed(status, "delete a key") }
        noteBytes(key.count)
        return true
    }

    /// Deletes all entries.
    ///
    /// - Complexity: O(*n*) in the number of pages.
    package func clear(_ database: Database) throws(LMDBError) {
        precondition(state?.pointee.undo.depth == 0, "A savepoint can't take a clear back.")
        if overlay != nil { throw tooLarge() }
        state?.pointee.isTooLarge = true
        let status = mdb_drop(changing(), database.handle, 0)
        guard status == MDB_SUCCESS else { throw failed(status, "clear a database") }
    }

    /// Notes the bytes that a record would have for a change that was made to the data file.
    @inlinable
    func noteBytes(_ count: Int) {
        state?.pointee.byteCount &+= count &+ JournalRecord.changeHeadBytes
    }

    @usableFromInline static var noBytes: UnsafeRawBufferPointer { .init(start: nil, count: 0) }

    /// How often the transaction was changed so far; 0 in a read transaction.
    package var changeCount: Int { state.map { Int($0.pointee.changes) } ?? 0 }

    /// The transaction, for a change; traps in a read transaction.
    @inlinable
    func changing() -> OpaquePointer {
        guard let state else {
            preconditionFailure("A read transaction can't write. Use Environment.write.")
        }
        state.pointee.changes &+= 1
        return transaction
    }
}

extension LMDBError {
    @usableFromInline static let appendOutOfOrder = LMDBError(
        .appendOutOfOrder,
        "The key doesn't sort behind the last one. Append in order, or use put.")
}
