import CLMDB

extension Cursor {
    /// Deletes the entry at the current position.
    ///
    /// The cursor then stands between the neighbours: ``next()`` goes to the following entry and
    /// ``previous()`` to the preceding one. Traps if the cursor doesn't stand on an entry or the
    /// transaction only reads.
    package mutating func delete() throws(LMDBError) {
        if isMerged { return try deleteMerged() }
        let deleted = [UInt8](key)
        try access.willChange(key, in: database)
        _ = access.changing()
        let status = mdb_cursor_del(cursor, 0)
        place = .deletion
        deletedKey = deleted
        deletionChanges = changes
        guard status == MDB_SUCCESS else { throw access.failed(status, "delete at a cursor") }
        deleted.withUnsafeBytes {
            access.note(.delete, $0, Access.noBytes, in: database)
        }
    }

    /// Moves forward from a place that isn't an entry.
    ///
    /// After a deletion LMDB leaves the cursor on the following entry with a mark, so that the
    /// next move forward stays there. The mark is right only until others insert between the two:
    /// then the deleted key is searched again.
    @usableFromInline
    mutating func nextFromGap() throws(LMDBError) -> Bool {
        switch place {
        case .start, .entry: return try first()
        case .end: return false
        case .deletion where !isMerged && deletionChanges == changes:
            return try move(MDB_NEXT, orTo: .end)
        case .deletion:
            guard try searchDeletedKey() else { return false }
            guard key.elementsEqual(deletedKey) else { return true }
            // The deleted key was written again; the entry behind it is meant.
            return try move(MDB_NEXT, orTo: .end)
        }
    }

    /// Moves backward from a place that isn't an entry.
    @usableFromInline
    mutating func previousFromGap() throws(LMDBError) -> Bool {
        switch place {
        case .start: return false
        case .end, .entry: return try last()
        case .deletion:
            return try move(searchDeletedKey() ? MDB_PREV : MDB_LAST, orTo: .start)
        }
    }

    private var changes: UInt64 { access.state?.pointee.changes ?? 0 }

    private mutating func searchDeletedKey() throws(LMDBError) -> Bool {
        var result: Result<Bool, LMDBError> = .success(false)
        deletedKey.withUnsafeBytes { bytes in
            result = Result { () throws(LMDBError) in try seek(atOrAfter: bytes) }
        }
        return try result.get()
    }
}
