import CLMDB
import Glibc

extension EnvironmentCore {
    /// Begins a snapshot of the last state.
    func beginRead() throws(LMDBError) -> UnsafeMutablePointer<ReaderSlot> {
        // Before the snapshot, which then has what the journal needs.
        guard let journal else { return try beginPlainRead() }
        var slot = try renewSlot()
        var last: UInt64?
        while true {
            do throws(LMDBError) {
                try journal.findPosition(of: slot)
                let position = slot.pointee.position
                TestPoint.mark("a snapshot has its position")
                switch try journal.fit(position) {
                case .complete:
                    slot.pointee.number = position.number
                    return slot
                case .lacks(let overlay):
                    slot.pointee.number = overlay.top
                    slot.pointee.setOverlay(overlay)
                    return slot
                case .stale:
                    // A record is overwritten only after all can see a later position.
                    guard last != position.number else {
                        let path = journal.file.path
                        throw FileSystem.isOverlay(path)
                            ? LMDBError.copiedUp(path) : LMDBError.journalGap(path)
                    }
                    last = position.number
                }
            } catch {
                defer { endRead(slot) }
                try checkRead(slot)
                throw error
            }
            endRead(slot)
            slot = try renewSlot()
        }
    }

    /// Begins a snapshot where there was no journal when this process looked last.
    private func beginPlainRead() throws(LMDBError) -> UnsafeMutablePointer<ReaderSlot> {
        let slot = try renewSlot()
        let last = UInt64(mdb_txn_id(slot.pointee.transaction))
        guard !folder.isUnlinked, slot.pointee.plainTransaction != last else { return slot }
        do throws(LMDBError) {
            let position = try JournalState.read(in: slot.pointee.transaction, last: last)
            guard let position, position.mayHaveRecords else {
                // Nothing waits behind this commit.
                slot.pointee.plainTransaction = last
                return slot
            }
            _ = try joinJournal(position)
        } catch {
            defer { endRead(slot) }
            try checkRead(slot)
            throw error
        }
        endRead(slot)
        return try beginRead()
    }

    /// Begins a snapshot of LMDB, in a pooled transaction if there is one.
    private func renewSlot() throws(LMDBError) -> UnsafeMutablePointer<ReaderSlot> {
        while true {
            let known = members.known
            var (slot, status) = (try mapLock.enter(), MDB_SUCCESS)
            if let slot {
                status = mdb_txn_renew(slot.pointee.transaction)
            } else {
                let begun = beginSnapshot()
                (slot, status) = (begun.0.map { mapLock.adopt($0, of: self) }, begun.1)
            }
            if status == MDB_SUCCESS, let slot {
                slot.pointee.core = .passUnretained(self)
                if try isComplete(slot, known) { return slot }
                continue
            }
            if let slot { mapLock.leave(slot) } else { mapLock.leave() }
            try recover(status)
        }
    }

    /// Whether all databases of a snapshot were open when it began. If not they are now, and it is ended.
    private func isComplete(
        _ slot: UnsafeMutablePointer<ReaderSlot>, _ known: DatabaseMembers.Known
    ) throws(LMDBError) -> Bool {
        if members.note(known, in: slot) { return true }
        let last = UInt64(mdb_txn_id(slot.pointee.transaction))
        mdb_txn_reset(slot.pointee.transaction)
        do throws(LMDBError) {
            // In the lock still, so that the map stays as it is.
            defer { mapLock.leave(slot) }
            try members.refresh()
        } catch {
            if let unlocked {
                try mapLock.inside { () throws(LMDBError) in try unlocked.check(since: last) }
            }
            guard error.underlying == MDB_MAP_RESIZED else { throw error }
            try map.adopt()
        }
        return false
    }

    /// Throws `busy` if reads of a snapshot until now do not count; see ``UnlockedReads``.
    func checkRead(_ slot: UnsafeMutablePointer<ReaderSlot>) throws(LMDBError) {
        try unlocked?.check(since: UInt64(mdb_txn_id(slot.pointee.transaction)))
    }

    /// Ends a snapshot.
    func endRead(_ slot: UnsafeMutablePointer<ReaderSlot>) {
        if slot.pointee.overlay != nil { slot.pointee.setOverlay(nil) }
        mdb_txn_reset(slot.pointee.transaction)
        mapLock.leave(slot)
    }

    /// Frees the reader slots of dead processes.
    ///
    /// - Returns: Their number.
    func checkReaders() throws(LMDBError) -> Int {
        try checkProcess()
        var dead: Int32 = 0
        try mapLock.inside { () throws(LMDBError) in
            let status = mdb_reader_check(pointer, &dead)
            guard status == MDB_SUCCESS else {
                throw LMDBError(status: status, "check the readers")
            }
        }
        return Int(dead)
    }

    /// Begins a transaction with a new reader slot.
    func beginSnapshot() -> (OpaquePointer?, Int32) {
        var transaction: OpaquePointer?
        var status = mdb_txn_begin(pointer, nil, UInt32(MDB_RDONLY), &transaction)
        if status == MDB_READERS_FULL {
            var dead: Int32 = 0
            mdb_reader_check(pointer, &dead)
            status = mdb_txn_begin(pointer, nil, UInt32(MDB_RDONLY), &transaction)
        }
        return (status == MDB_SUCCESS ? transaction : nil, status)
    }

    /// Makes a second attempt sensible, or throws.
    private func recover(_ status: Int32) throws(LMDBError) {
        switch status {
        case MDB_MAP_RESIZED: try map.adopt()
        case MDB_PANIC:
            mapLock.panic()
            throw .panicked
        case MDB_READERS_FULL:
            throw LMDBError(
                .readersFull,
                """
                All \(options.readersMax) reader slots of '\(folder.path)' are taken by living \
                readers. End some reads, or let all processes open it with more slots.
                """, underlying: status)
        default: throw LMDBError(status: status, "begin a read")
        }
    }
}
