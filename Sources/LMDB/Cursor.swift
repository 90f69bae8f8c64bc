public import CLMDB

/// A position in the order of keys of one database.
///
/// It stands on an entry, before the first one (if a new cursor is), behind the last one, or
/// where an entry was deleted. A move that returns `false` leaves it at the end it ran into, so
/// that moving on returns `false` again and moving back finds the entry at that end. Writes
/// through ``Access`` keep the position, but invalidate ``key`` and ``value`` until the next move.
@usableFromInline
package struct Cursor: ~Copyable {
    @usableFromInline let access: Access
    @usableFromInline let database: Database
    @usableFromInline let cursor: OpaquePointer
    @usableFromInline var name = MDB_val()
    @usableFromInline var data = MDB_val()
    @usableFromInline var place = Place.start
    /// Whether the cursor also visits what waits in an overlay.
    @usableFromInline let isMerged: Bool
    @usableFromInline var merged = MergedPlace()

    @usableFromInline
    enum Place {
        case start
        case entry
        case end
        case deletion
    }

    /// The key of the deleted entry, and the transaction's changes at that moment; they mean
    /// something only at the place of a deletion.
    var deletedKey: [UInt8] = []
    var deletionChanges: UInt64 = 0

    @inlinable
    init(_ access: Access, in database: Database) throws(LMDBError) {
        var cursor: OpaquePointer?
        let status = mdb_cursor_open(access.transaction, database.handle, &cursor)
        guard status == MDB_SUCCESS, let cursor else {
            throw access.failed(status, "open a cursor")
        }
        self.access = access
        self.database = database
        self.cursor = cursor
        isMerged = access.overlay != nil && access.hasWaiting(in: database)
    }

    @inlinable
    deinit {
        mdb_cursor_close(cursor)
    }

    /// Whether the cursor stands on an entry, so that it has a key and a value.
    @inlinable @inline(__always) package var isOnEntry: Bool {
        place == .entry
    }

    /// The key at the current position, in the map.
    ///
    /// Valid until the transaction ends or writes. Traps if ``isOnEntry`` is `false`.
    @inlinable @inline(__always) package var key: UnsafeRawBufferPointer {
        precondition(isOnEntry, "The cursor doesn't stand on an entry.")
        return UnsafeRawBufferPointer(start: name.mv_data, count: name.mv_size)
    }

    /// The value at the current position, in the map.
    ///
    /// Valid until the transaction ends or writes. Traps if ``isOnEntry`` is `false`.
    @inlinable @inline(__always) package var value: UnsafeRawBufferPointer {
        precondition(isOnEntry, "The cursor doesn't stand on an entry.")
        return UnsafeRawBufferPointer(start: data.mv_data, count: data.mv_size)
    }

    /// Has the processor fetch the beginning of the value, without waiting for it.
    @inlinable @inline(__always) package func prefetchValue() { value.prefetched(192) }

    /// Goes to the first entry.
    @inlinable package mutating func first() throws(LMDBError) -> Bool {
        try move(MDB_FIRST, orTo: .start)
    }

    /// Goes to the last entry.
    @inlinable package mutating func last() throws(LMDBError) -> Bool {
        try move(MDB_LAST, orTo: .end)
    }

    /// Goes to the following entry.
    ///
    /// After ``delete()`` that is the smallest key greater than the deleted one, whatever the
    /// transaction wrote in between.
    @inlinable @inline(__always) package mutating func next() throws(LMDBError) -> Bool {
        guard isOnEntry else { return try nextFromGap() }
        return try move(MDB_NEXT, orTo: .end)
    }

    /// Goes to the preceding entry.
    ///
    /// After ``delete()`` that is the greatest key smaller than the deleted one.
    @inlinable @inline(__always) package mutating func previous() throws(LMDBError) -> Bool {
        guard isOnEntry else { return try previousFromGap() }
        return try move(MDB_PREV, orTo: .start)
    }

    /// Goes to the smallest key that isn't less than `key`.
    ///
    /// - Throws: `keyEmpty` or `keyTooLong`; `damaged` if the file is.
    @inlinable
    package mutating func seek(
        atOrAfter key: UnsafeRawBufferPointer
    ) throws(LMDBError) -> Bool {
        name = try Access.value(key: key)
        return try move(MDB_SET_RANGE, orTo: .end)
    }

    /// Goes to `key` if it is there, and otherwise before the first entry.
    ///
    /// - Throws: `keyEmpty` or `keyTooLong`; `damaged` if the file is.
    @inlinable
    package mutating func seek(exactly key: UnsafeRawBufferPointer) throws(LMDBError) -> Bool {
        name = try Access.value(key: key)
        return try move(MDB_SET_KEY, orTo: .start)
    }

    /// Moves as LMDB does, or else to `gap`.
    @inlinable @inline(__always)
    mutating func move(
        _ operation: MDB_cursor_op, orTo gap: Place
    ) throws(LMDBError) -> Bool {
        try access.interruption?.takeUnretainedValue().step()
        if isMerged { return try moveMerged(operation, orTo: gap) }
        let status = mdb_cursor_get(cursor, &name, &data, operation)
        if status == MDB_SUCCESS {
            place = .entry
            return true
        }
        place = gap
        if status == MDB_NOTFOUND { return false }
        throw access.failed(status, "move a cursor")
    }
}

extension UnsafeRawBufferPointer {
    /// The same bytes, whose beginning the processor is to fetch without anybody waiting for it: where
    /// what is read next depends on what stands before it, it would fetch one line after the other.
    ///
    /// - Parameter byteCount: The most bytes that are worth it.
    @discardableResult
    @inlinable @inline(__always) package func prefetched(_ byteCount: Int) -> Self {
        for offset in stride(from: 0, to: Swift.min(count, byteCount), by: 64) {
            cache_prefetch(baseAddress?.advanced(by: offset))
        }
        return self
    }
}
