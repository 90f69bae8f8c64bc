import CLMDB
import Glibc
import Threading

/// Putting records into the data file.
extension Journal {
    /// Applies all records that wait, in a transaction of LMDB. Any thread that has no transaction
    /// may call it, while the map can't change.
    ///
    /// - Parameter isClosing: Makes the data file complete without the journal.
    /// - Throws: `mapFull`, `diskFull`, `io`; then the records wait on.
    func apply(isClosing: Bool = false) throws(LMDBError) {
        let (transaction, _) = try members.beginWriting("apply the journal")
        let number: UInt64?
        do throws(LMDBError) {
            number = try apply(to: transaction, isClosing: isClosing)
        } catch {
            mdb_txn_abort(transaction)
            throw error
        }
        guard let number else {
            mdb_txn_abort(transaction)
            return
        }
        let committed = committer.commit(transaction)
        guard committed == MDB_SUCCESS else { throw applyingFailed(committed) }
        // A relaxed commit may be lost until the next sync.
        if isDurable { words.raiseApplied(to: number) }
        monitor.enter()
        (lacksSpace, applied) = (false, number)
        known.forget(through: number)
        monitor.leave()
    }

    /// - Returns: The state that LMDB has then; `nil` if it has that already.
    private func apply(
        to transaction: OpaquePointer, isClosing: Bool
    ) throws(LMDBError) -> UInt64? {
        var position = try position(in: transaction, last: UInt64(mdb_txn_id(transaction)) - 1)
        if case .lacks(let overlay) = try fitLast(position) {
            let status = overlay.apply(to: transaction, after: position.number, options)
            guard status == MDB_SUCCESS else { throw applyingFailed(status) }
            position.number = overlay.top
            position.link = overlay.link
        } else {
            monitor.inside { known.forget(through: position.number) }
            if words.applied < position.number {
                // It was a relaxed commit, or its process died between the commit and the note of it.
                let status = mdb_env_sync(pointer, 1)
                guard status == MDB_SUCCESS else { throw applyingFailed(status) }
                words.raiseApplied(to: position.number)
            }
            guard isClosing, position.mayHaveRecords else { return nil }
        }
        if isClosing { position.mayHaveRecords = false }
        let status = position.write(in: transaction)
        guard status == MDB_SUCCESS else { throw applyingFailed(status) }
        return position.number
    }

    private func applyingFailed(_ status: Int32) -> LMDBError {
        // A write that was cut short, before the commit, is no failed call: then the disk is full.
        let status = status == EIO && errno != EIO ? ENOSPC : status
        let error = LMDBError(status: status, "apply the journal")
        if !error.isAboutSpace { mapLock.panic() }
        if error.code == .diskFull { monitor.inside { lacksSpace = true } }
        return error
    }
}

/// When records are applied.
extension Journal {
    /// Tells the applier of a commit.
    func wakeApplier() {
        guard limits.appliesInBackground else { return }
        if let known = monitor.inside({ known }) { applier.wake(asks: wantsApplication(known)) }
    }

    /// Whether so much waits that it has to be applied.
    func wantsApplication(_ overlay: Overlay) -> Bool {
        overlay.top - overlay.base >= UInt64(limits.recordsPerApplication)
            || overlay.entryCount >= limits.entriesPerApplication
            // The half is nearly full, has all its blocks, and the other one has records that wait.
            || overlay.link.place.offset >= file.halfBytes / 4 * 3
                && words.otherHalfEnd > words.applied
    }

    /// Whether the writer thread has to apply records itself after a commit.
    var mustApplyNow: Bool {
        guard !limits.appliesInBackground else { return false }
        return monitor.inside { known.map { wantsApplication($0) } ?? false }
    }

    /// Applies outside of a write, in a map that grows if it is too small.
    ///
    /// - Returns: Whether something is left to do.
    func applyInGate() throws(LMDBError) -> Bool {
        try map.inside { () throws(LMDBError) in try apply() }
        return monitor.inside { known != nil }
    }

    /// Ends the applier, and makes the data file complete. The last job of the writer thread.
    func finish() {
        applier.close()
        guard !file.isReadOnly else { return }
        // What fails waits for the next who opens the environment.
        try? { () throws(LMDBError) in
            // A process that is about to commit has it open, and does this when it closes.
            guard try file.tryLock() else { return }
            defer { file.unlock() }
            try map.inside { () throws(LMDBError) in
                try settle()
                if try !isComplete { try apply(isClosing: true) }
            }
        }()
    }

    /// Whether the data file is the last state, and says so.
    private var isComplete: Bool {
        get throws(LMDBError) {
            let (slot, fit) = try renewFittingSnapshot()
            defer { endRecord(slot) }
            guard case .complete = fit else { return false }
            return !slot.pointee.position.mayHaveRecords
        }
    }

    /// Ends the writer thread's snapshot, before LMDB's environment closes.
    func close() {
        if let snapshot {
            mdb_txn_abort(snapshot.pointee.transaction)
            ReaderSlot.free(snapshot)
        }
        snapshot = nil
    }
}
