import CLMDB
import Glibc
import Threading

/// What the writer thread does for a commit, in the role of the writer.
extension Journal {
    /// Decides whether the next commit may be a record, before anything of it is known.
    ///
    /// - Returns: The snapshot that it begins with, fitted, which ``endRecord(_:)`` ends; `nil` if
    ///   it goes into the data file.
    func beginRecord(
        _ state: UnsafeMutablePointer<WriteState>
    ) throws(LMDBError) -> UnsafeMutablePointer<ReaderSlot>? {
        guard isWanted, !file.isReadOnly else { return nil }
        let (slot, fit) = try renewFittingSnapshot()
        guard let overlay = overlay(behind: slot.pointee.position, fit) else {
            endRecord(slot)
            return nil
        }
        state.pointee.overlay.pointee = overlay
        state.pointee.draft = draft()
        return slot
    }

    /// What a record would follow; `nil` if there is to be none.
    private func overlay(behind position: JournalState, _ fit: SnapshotState) -> Overlay? {
        // The data file has to say that records may follow before one does.
        guard position.mayHaveRecords else { return nil }
        if case .lacks(let overlay) = fit { return overlay }
        if hasHoles, position.number <= words.applied, file.empty() { hasHoles = false }
        guard smallCommits >= limits.commitsBefore, reserve.hasSpace, reserve.isUsable else {
            return nil
        }
        return Overlay(at: position)
    }

    /// Memory for the changes of a record.
    private func draft() -> RecordDraft {
        let block = JournalBlock.with(JournalRecord.space(changeBytesMax), &writeBlock)
        return RecordDraft(
            block: block, changeBytesMax: changeBytesMax, changesMax: limits.changesMax)
    }

    /// The most bytes of changes of a record.
    var changeBytesMax: Int { min(limits.changeBytesMax, file.changeBytesMax) }

    func endRecord(_ slot: UnsafeMutablePointer<ReaderSlot>) {
        mdb_txn_reset(slot.pointee.transaction)
    }

    /// Writes the record of the changes that were made, and publishes it.
    ///
    /// - Returns: `false` if there is no room in the file even after applying: then the commit goes into
    ///   the data file.
    /// - Throws: `diskFull` if nothing was changed; `io` if the outcome is unknown.
    func commitRecord(_ state: UnsafeMutablePointer<WriteState>) throws(LMDBError) -> Bool {
        guard let draft = state.pointee.draft else { return false }
        let overlay = state.pointee.overlay
        let number = overlay.pointee.top + 1
        let space = JournalRecord.space(draft.count)
        let record = UnsafeMutableRawBufferPointer(rebasing: draft.block.free[..<space])
        let hash = JournalRecord.seal(
            record, changeBytes: draft.count, number: number,
            previous: overlay.pointee.link.chain, id: file.id)
        // Each key that waits may cost a page in memory when it is applied.
        let isTooMuch = overlay.pointee.entryCount > limits.entriesMax
        if isTooMuch, monitor.inside({ known != nil && !lacksSpace }) { try apply() }
        guard var place = try reserve.place(for: space, behind: overlay.pointee) else {
            return false
        }
        try syncStates(of: overlay.pointee)
        words.isCommitting = true
        let reason = file.write(UnsafeRawBufferPointer(record), at: place)
        guard reason == 0 else { throw writingFailed(reason, at: place) }
        draft.block.take(space)
        place.offset += space
        overlay.pointee.end(
            number, link: JournalLink(chain: hash, place: place), in: draft.block)
        TestPoint.mark("a record is on disk")
        publish(overlay.pointee)
        words.isCommitting = false
        file.ring()
        wakeApplier()
        return true
    }

    /// Makes sure that the state that a record follows is on disk: a relaxed process may have made it.
    private func syncStates(of overlay: Overlay) throws(LMDBError) {
        guard overlay.isEmpty, overlay.top > words.applied else { return }
        let status = mdb_env_sync(pointer, 1)
        guard status == MDB_SUCCESS else {
            mapLock.panic()
            throw LMDBError(status: status, "sync the data file")
        }
        words.raiseApplied(to: overlay.top)
    }

    /// Makes a record's overlay the known one, and its number the tail.
    private func publish(_ overlay: Overlay) {
        var overlay = overlay
        monitor.enter()
        // What was applied meanwhile is left out.
        overlay.prune(through: min(max(known?.base ?? 0, applied), overlay.top))
        known = overlay
        words.record = overlay.top
        words.tail = overlay.top
        monitor.leave()
    }

    private func writingFailed(_ reason: Int32, at place: JournalOffset) -> LMDBError {
        let isAboutSpace = reason == ENOSPC || reason == EDQUOT || reason == EFBIG
        if isAboutSpace, file.erase(at: place) {
            words.isCommitting = false
            return LMDBError(errno: reason, "write", path: file.path)
        }
        mapLock.panic()
        return .outcomeUnknown(String(cString: strerror(reason)), underlying: reason)
    }
}

/// Commits that go into the data file, behind what waits.
extension Journal {
    /// What such a commit began with.
    struct Direct {
        /// LMDB's state.
        let position: JournalState
        /// The last state, and where its link leads.
        let number: UInt64
        let link: JournalLink
    }

    /// Applies what waits in a write transaction that has begun, before its own changes.
    ///
    /// - Returns: What it began with, and LMDB's status.
    func beginDirect(
        _ transaction: OpaquePointer
    ) throws(LMDBError) -> (direct: Direct, status: Int32) {
        let position = try position(in: transaction, last: UInt64(mdb_txn_id(transaction)) - 1)
        guard case .lacks(let overlay) = try fitLast(position) else {
            let direct = Direct(
                position: position, number: position.number, link: position.link)
            return (direct, MDB_SUCCESS)
        }
        let direct = Direct(position: position, number: overlay.top, link: overlay.link)
        return (direct, overlay.apply(to: transaction, after: position.number, options))
    }

    /// As ``fit(_:)``, for the position that LMDB has while its writers' lock is held.
    func fitLast(_ position: JournalState) throws(LMDBError) -> SnapshotState {
        let fit = try fit(position)
        if case .stale = fit { throw .journalGap(file.path) }
        return fit
    }

    /// Writes the position that the transaction commits.
    ///
    /// - Parameters:
    ///   - hasChanged: Whether it makes a new state, and doesn't just apply what waited.
    ///   - isSmall: Whether a record could have held its changes.
    /// - Returns: The number of the state, and LMDB's status; no number if it makes none.
    func endDirect(
        _ direct: Direct, _ transaction: OpaquePointer, hasChanged: Bool, isSmall: Bool
    ) -> (number: UInt64?, status: Int32) {
        guard hasChanged || direct.number > direct.position.number else {
            return (nil, MDB_SUCCESS)
        }
        var position = direct.position
        let isThere = direct.link.place.offset <= file.usableBytes
        if hasChanged {
            // The last record is gone with the blocks that the file gave away.
            let link = JournalLink(
                chain: direct.link.chain, place: isThere ? direct.link.place : JournalOffset())
            position = position.following(number: direct.number + 1, after: link, salt: salt)
            smallCommits = isSmall ? smallCommits + 1 : 0
        } else {
            position.number = direct.number
            position.link = direct.link
        }
        // The blocks come back once the position on disk says that the last record is gone.
        if isWanted, smallCommits >= limits.commitsBefore, isThere,
            !position.mayHaveRecords || !reserve.isTaken
        {
            if reserve.take() {
                position.mayHaveRecords = true
            } else {
                // Commits do without, and try again after another run.
                smallCommits = 0
            }
        }
        words.isCommitting = true
        return (position.number, position.write(in: transaction))
    }

    /// Publishes a commit that LMDB made.
    func published(_ number: UInt64) {
        monitor.enter()
        known = nil
        // A relaxed commit may be lost until the next sync.
        if isDurable { words.raiseApplied(to: number) }
        words.tail = max(words.tail, number)
        monitor.leave()
        words.isCommitting = false
    }
}
