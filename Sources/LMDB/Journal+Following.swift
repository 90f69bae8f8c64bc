import CLMDB
import Glibc
import Threading

/// Knowing the records that wait, whoever wrote them.
extension Journal {
    /// Tells what a snapshot lacks.
    ///
    /// The snapshot is there before the tail is looked at, so that no commit between the two is missed.
    func fit(_ position: JournalState) throws(LMDBError) -> SnapshotState {
        // Without the words a reader has only the records to go by.
        let tail = words.isCurrent ? words.tail : position.isEnd(by: words) ? 0 : .max
        if tail <= position.number { return .complete }
        return try monitor.inside { () throws(LMDBError) in
            guard let overlay = try follow(position, to: tail) else { return .stale }
            if tail == .max { try position.check(file, words, end: overlay.top) }
            return overlay.top <= position.number ? .complete : .lacks(overlay)
        }
    }

    /// Brings the known overlay up to a number, by reading the records that it lacks. Behind the
    /// monitor.
    ///
    /// - Parameter tail: The greatest number stands for as many records as there are.
    /// - Returns: An overlay that fits the position; `nil` if the position is too old, or a record
    ///   that there should be is missing.
    func follow(_ position: JournalState, to tail: UInt64) throws(LMDBError) -> Overlay? {
        var overlay = known ?? Overlay(at: position)
        if overlay.top < position.number { overlay = Overlay(at: position) }
        guard overlay.base <= position.number else { return nil }
        // Or each change would copy what the two share.
        known = nil
        defer { known = overlay.isEmpty ? nil : overlay }
        while overlay.top < tail {
            if try read(into: &overlay) != nil { continue }
            guard tail == .max else { return nil }
            if try end.isReached(by: overlay.top, in: file) { break }
            // A record that came meanwhile is no later one.
            guard try read(into: &overlay) != nil else { return nil }
        }
        return overlay
    }

    /// Adds the next record to an overlay. Behind the monitor.
    ///
    /// - Returns: Its bytes and place; `nil` if there is none.
    func read(
        into overlay: inout Overlay
    ) throws(LMDBError) -> (bytes: UnsafeRawBufferPointer, place: JournalOffset)? {
        let number = overlay.top + 1
        let found = try file.read(number, following: overlay.link) {
            JournalBlock.with($0, &readBlock).free
        }
        guard let found, let block = readBlock else { return nil }
        block.take(found.bytes.count)
        try JournalRecord.visitChanges(of: found.bytes) { database, entry throws(LMDBError) in
            guard options.name(ofDatabase: database) != nil else { throw JournalRecord.damaged }
            overlay.set(entry, in: database)
        }
        var place = found.place
        place.offset += found.bytes.count
        overlay.end(
            number, link: JournalLink(chain: found.hash, place: place), in: block)
        return (found.bytes, found.place)
    }
}

/// Settling what a writer left behind that died.
extension Journal {
    /// Makes the last state known again if a writer died in a commit. In the role of the writer.
    func settle() throws(LMDBError) {
        if words.isCommitting || !words.isCurrent { try adopt() }
    }

    /// Finds the last state, puts it on disk, and makes it known. In the role of the writer.
    func adopt() throws(LMDBError) {
        // With LMDB's writers' lock nothing is applied meanwhile.
        var begun: OpaquePointer?
        let status = mdb_txn_begin(pointer, nil, 0, &begun)
        guard status == MDB_SUCCESS, let transaction = begun else {
            throw LMDBError(status: status, "take the journal over")
        }
        defer { mdb_txn_abort(transaction) }
        try adopt(
            from: position(in: transaction, last: UInt64(mdb_txn_id(transaction)) - 1))
    }

    private func adopt(from position: JournalState) throws(LMDBError) {
        let isCurrent = words.isCurrent
        if !isCurrent, position.isEnd(by: words) {
            // The first record behind it syncs it.
            words.resetApplied(to: 0)
        } else if !isCurrent || position.number > words.applied {
            // What can be seen need not be on disk.
            let status = mdb_env_sync(pointer, 1)
            guard status == MDB_SUCCESS else {
                mapLock.panic()
                throw LMDBError(status: status, "sync the data file")
            }
            words.resetApplied(to: position.number)
        }
        let tail = max(isCurrent ? words.tail : 0, position.number)
        try monitor.inside { () throws(LMDBError) in
            guard var overlay = try follow(position, to: tail) else { throw .journalGap(file.path) }
            known = nil
            defer { known = overlay.isEmpty ? nil : overlay }
            var last: (bytes: UnsafeRawBufferPointer, place: JournalOffset)?
            while let found = try read(into: &overlay) { last = found }
            if !isCurrent, !position.isEnd(by: words) {
                guard try !file.hasRecord(from: overlay.top + 1) else {
                    throw .journalGap(file.path)
                }
                try position.check(file, words, end: overlay.top)
            }
            if let last {
                // After a sync that failed, the system calls a page written that isn't.
                let reason = file.write(last.bytes, at: last.place)
                guard reason == 0 else {
                    throw LMDBError(errno: reason, "write", path: file.path)
                }
            }
            // Nobody knows which half it was that the dead writer used.
            words.otherHalfEnd = overlay.top
            words.record = overlay.isEmpty ? 0 : overlay.top
            words.tail = max(tail, overlay.top)
        }
        words.makeCurrent()
        words.isCommitting = false
    }

    /// Renews the writer thread's snapshot and finds out what it lacks, which isn't stale.
    func renewFittingSnapshot() throws(LMDBError) -> (
        UnsafeMutablePointer<ReaderSlot>, SnapshotState
    ) {
        var last: UInt64?
        while true {
            let slot = try renewSnapshot()
            let position = slot.pointee.position
            do throws(LMDBError) {
                let fit = try fit(position)
                guard case .stale = fit else { return (slot, fit) }
                // Records are applied meanwhile; a record is missing if they weren't.
                guard last != position.number else { throw .journalGap(file.path) }
                last = position.number
            } catch {
                mdb_txn_reset(slot.pointee.transaction)
                throw error
            }
            mdb_txn_reset(slot.pointee.transaction)
        }
    }

    /// Renews the writer thread's snapshot and finds out its position.
    private func renewSnapshot() throws(LMDBError) -> UnsafeMutablePointer<ReaderSlot> {
        let slot: UnsafeMutablePointer<ReaderSlot>
        if let snapshot {
            slot = snapshot
            let status = mdb_txn_renew(slot.pointee.transaction)
            guard status == MDB_SUCCESS else { throw LMDBError(status: status, "begin a read") }
        } else {
            var begun: OpaquePointer?
            let status = mdb_txn_begin(pointer, nil, UInt32(MDB_RDONLY), &begun)
            guard status == MDB_SUCCESS, let begun else {
                throw LMDBError(status: status, "begin a read")
            }
            slot = ReaderSlot.make(begun)
            snapshot = slot
        }
        do throws(LMDBError) {
            try findPosition(of: slot)
        } catch {
            mdb_txn_reset(slot.pointee.transaction)
            throw error
        }
        return slot
    }

    /// Finds out the position of a slot's snapshot, unless it is the one of its last snapshot.
    func findPosition(of slot: UnsafeMutablePointer<ReaderSlot>) throws(LMDBError) {
        let last = UInt64(mdb_txn_id(slot.pointee.transaction))
        guard slot.pointee.positionTransaction != last else { return }
        slot.pointee.position = try position(in: slot.pointee.transaction, last: last)
        slot.pointee.positionTransaction = last
    }
}
