import CLMDB

/// Reading and writing where changes wait in an overlay.
extension Access {
    /// What an overlay says of a key.
    @usableFromInline
    enum Waiting {
        case nothing
        case deleted
        case value(UnsafeRawBufferPointer)
    }

    /// Whether changes of a database wait, or may come to wait while the transaction runs.
    @usableFromInline
    func hasWaiting(in database: Database) -> Bool {
        guard let overlay, database.index >= 0 else { return false }
        return canWrite || !overlay.pointee.run(of: database.index).isEmpty
    }

    /// The change of a key that waits. There is an overlay.
    @usableFromInline
    func waiting(_ key: UnsafeRawBufferPointer, in database: Database) -> Waiting {
        guard let overlay, let entry = overlay.pointee.entry(of: key, in: database.index) else {
            return .nothing
        }
        return entry.change == .delete ? .deleted : .value(entry.valueBytes)
    }

    /// Changes a key in the overlay.
    ///
    /// - Throws: `other` if a record can't hold the changes; the closure then runs again.
    @usableFromInline
    func change(
        _ change: JournalChange, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer,
        in database: Database
    ) throws(LMDBError) {
        _ = try Self.value(key: key)
        try willChange(key, in: database)
        _ = changing()
        guard let state, let overlay else { preconditionFailure("There is no overlay.") }
        let number = overlay.pointee.top + 1
        guard
            let entry = state.pointee.draft?.add(
                change, key, value, in: database.index, number: number)
        else { throw tooLarge() }
        overlay.pointee.set(entry, in: database.index)
    }

    /// Notes that a record can't hold what is changed.
    func tooLarge() -> LMDBError {
        let error = LMDBError(
            .other, "The changes are too many for a record. Let the closure end; it runs again.")
        if let state {
            state.pointee.isTooLarge = true
            if state.pointee.failure == nil { state.pointee.failure = error }
        }
        return error
    }

    @usableFromInline
    func appendChange(
        _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, in database: Database
    ) throws(LMDBError) {
        _ = try Self.value(key: key)
        guard try sortsBehindAll(key, in: database) else { throw .appendOutOfOrder }
        try change(.append, key, value, in: database)
    }

    /// Whether a key sorts behind all of a database.
    private func sortsBehindAll(
        _ key: UnsafeRawBufferPointer, in database: Database
    ) throws(LMDBError) -> Bool {
        // What was appended last is behind all that LMDB has.
        if let last = overlay?.pointee.run(of: database.index).last, last.change == .append {
            return OverlayEntry.order(last.keyBytes, key) < 0
        }
        var cursor = try Cursor(self, in: database)
        guard try cursor.last() else { return true }
        return OverlayEntry.order(cursor.key, key) < 0
    }

    /// - Returns: Whether the key was there.
    @usableFromInline
    func deleteChange(
        _ key: UnsafeRawBufferPointer, in database: Database
    ) throws(LMDBError) -> Bool {
        guard try get(key, in: database) != nil else { return false }
        try change(.delete, key, Self.noBytes, in: database)
        return true
    }

    /// The number of entries: LMDB's, corrected by each change that waits.
    func mergedCount(_ stored: Int, of database: Database) throws(LMDBError) -> Int {
        guard let overlay else { return stored }
        let plain = Access(transaction)
        var count = stored
        for chunk in overlay.pointee.run(of: database.index).chunks {
            for entry in chunk {
                let isStored = try plain.get(entry.keyBytes, in: database) != nil
                let isThere = entry.change != .delete
                if isThere != isStored { count += isThere ? 1 : -1 }
            }
        }
        return count
    }
}
