public import CLMDB

/// Where a cursor is in LMDB and in the overlay, if it merges both.
@usableFromInline
struct MergedPlace {
    /// Which way the two stand ready to go on.
    enum Direction {
        case none
        case forward
        case backward
    }

    /// LMDB's entry; `isStored` tells whether there is one.
    var name = MDB_val()
    var data = MDB_val()
    var isStored = false
    /// The place in the overlay; `nil` before the first entry.
    var waiting: OverlayRun.Place?
    /// The entry at that place, while a direction is set.
    var entry: OverlayEntry?
    /// Which of the two the current entry is of.
    var usesStored = false
    var usesWaiting = false
    var direction = Direction.none
    /// The transaction's changes when the two were placed.
    var changes: UInt64 = 0

    @usableFromInline init() {}
}

/// Moves in the order of the keys of LMDB and of the overlay, in which the overlay's entries count
/// where both have a key.
extension Cursor {
    @usableFromInline
    mutating func moveMerged(
        _ operation: MDB_cursor_op, orTo gap: Cursor.Place
    ) throws(LMDBError) -> Bool {
        let found =
            switch operation {
            case MDB_FIRST: try seekForward(nil)
            case MDB_LAST: try seekBackward(nil)
            case MDB_NEXT: try goForward()
            case MDB_PREV: try goBackward()
            case MDB_SET_RANGE: try seekForward(keyBytes(name))
            case MDB_SET_KEY: try seekExactly(keyBytes(name))
            default: preconditionFailure("A cursor doesn't move like that.")
            }
        place = found ? .entry : gap
        return found
    }

    /// Deletes the current entry in the overlay.
    mutating func deleteMerged() throws(LMDBError) {
        let deleted = [UInt8](key)
        place = .deletion
        deletedKey = deleted
        let result = deleted.withUnsafeBytes { key in
            Result { () throws(LMDBError) in
                try access.change(.delete, key, Access.noBytes, in: database)
            }
        }
        try result.get()
    }

    private var run: OverlayRun {
        access.overlay?.pointee.run(of: database.index) ?? OverlayRun()
    }

    private var changeCount: UInt64 { access.state?.pointee.changes ?? 0 }

    private func keyBytes(_ name: MDB_val) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: name.mv_data, count: name.mv_size)
    }

    private mutating func stored(_ operation: MDB_cursor_op) throws(LMDBError) {
        let status = mdb_cursor_get(cursor, &merged.name, &merged.data, operation)
        merged.isStored = status == MDB_SUCCESS
        guard status == MDB_SUCCESS || status == MDB_NOTFOUND else {
            throw access.failed(status, "move a cursor")
        }
    }

    // MARK: Seeking

    /// - Parameter key: `nil` for the first entry.
    private mutating func seekForward(_ key: UnsafeRawBufferPointer?) throws(LMDBError) -> Bool {
        let run = run
        if let key {
            merged.name = MDB_val(key)
            try stored(MDB_SET_RANGE)
            merged.waiting = run.place(atOrAfter: key)
        } else {
            try stored(MDB_FIRST)
            merged.waiting = run.start
        }
        return try settleForward(run)
    }

    /// - Parameter key: The entry before this one; `nil` for the last entry.
    private mutating func seekBackward(_ key: UnsafeRawBufferPointer?) throws(LMDBError) -> Bool {
        let run = run
        if let key {
            merged.name = MDB_val(key)
            try stored(MDB_SET_RANGE)
            try stored(merged.isStored ? MDB_PREV : MDB_LAST)
            merged.waiting = run.place(before: run.place(atOrAfter: key))
        } else {
            try stored(MDB_LAST)
            merged.waiting = run.place(before: run.end)
        }
        return try settleBackward(run)
    }

    private mutating func seekExactly(_ key: UnsafeRawBufferPointer) throws(LMDBError) -> Bool {
        merged.direction = .none
        if let entry = run.entry(of: key) {
            guard entry.change != .delete else { return false }
            take(entry)
            return true
        }
        merged.name = MDB_val(key)
        try stored(MDB_SET_KEY)
        guard merged.isStored else { return false }
        takeStored()
        return true
    }

    // MARK: Going on

    private mutating func goForward() throws(LMDBError) -> Bool {
        guard merged.direction == .forward, merged.changes == changeCount else {
            let last = keyBytes(name)
            guard try seekForward(last) else { return false }
            // Nothing is behind the current entry but what follows it, if it is still there.
            guard OverlayEntry.order(keyBytes(name), last) == 0 else { return true }
            return try goForward()
        }
        if merged.usesStored { try stored(MDB_NEXT) }
        if !merged.usesWaiting, merged.isStored, let order = order(merged.entry), order > 0 {
            // Most steps of a scan: the overlay's next entry is still behind.
            takeStored()
            return true
        }
        let run = run
        if merged.usesWaiting { merged.waiting = merged.waiting.map { run.place(after: $0) } }
        return try settleForward(run)
    }

    private mutating func goBackward() throws(LMDBError) -> Bool {
        guard merged.direction == .backward, merged.changes == changeCount else {
            return try seekBackward(keyBytes(name))
        }
        if merged.usesStored { try stored(MDB_PREV) }
        if !merged.usesWaiting, merged.isStored,
            merged.entry == nil || order(merged.entry).map({ $0 < 0 }) == true
        {
            takeStored()
            return true
        }
        let run = run
        if merged.usesWaiting { merged.waiting = merged.waiting.flatMap { run.place(before: $0) } }
        return try settleBackward(run)
    }

    /// Takes the smaller of the two entries, and leaves out what is deleted.
    private mutating func settleForward(_ run: OverlayRun) throws(LMDBError) -> Bool {
        merged.direction = .forward
        merged.changes = changeCount
        while true {
            let entry = merged.waiting.flatMap { run[$0] }
            merged.entry = entry
            guard let order = order(entry) else { return false }
            choose(entry, isStoredFirst: order > 0, order)
            guard let entry, merged.usesWaiting, entry.change == .delete else { return true }
            if merged.usesStored { try stored(MDB_NEXT) }
            merged.waiting = merged.waiting.map { run.place(after: $0) }
        }
    }

    /// Takes the greater of the two entries, and leaves out what is deleted.
    private mutating func settleBackward(_ run: OverlayRun) throws(LMDBError) -> Bool {
        merged.direction = .backward
        merged.changes = changeCount
        while true {
            let entry = merged.waiting.flatMap { run[$0] }
            merged.entry = entry
            guard let order = order(entry) else { return false }
            let isAlone = entry == nil || !merged.isStored
            choose(entry, isStoredFirst: isAlone ? order > 0 : order < 0, order)
            guard let entry, merged.usesWaiting, entry.change == .delete else { return true }
            if merged.usesStored { try stored(MDB_PREV) }
            merged.waiting = merged.waiting.flatMap { run.place(before: $0) }
        }
    }

    /// How the overlay's entry sorts to LMDB's: > 0 also if only LMDB has one, < 0 if only the
    /// overlay has; `nil` if neither.
    private func order(_ entry: OverlayEntry?) -> Int? {
        guard let entry else { return merged.isStored ? 1 : nil }
        guard merged.isStored else { return -1 }
        let key = keyBytes(merged.name)
        return entry.order(prefix: OverlayEntry.prefix(key), key)
    }

    private mutating func choose(_ entry: OverlayEntry?, isStoredFirst: Bool, _ order: Int) {
        merged.usesStored = order == 0 || isStoredFirst
        merged.usesWaiting = order == 0 || !isStoredFirst
        if let entry, merged.usesWaiting { return take(entry) }
        takeStored()
    }

    private mutating func takeStored() {
        name = merged.name
        data = merged.data
    }

    private mutating func take(_ entry: OverlayEntry) {
        name = MDB_val(entry.keyBytes)
        data = MDB_val(entry.valueBytes)
    }
}
