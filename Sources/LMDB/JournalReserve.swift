import Threading

/// The blocks of a journal, which a full disk may have.
///
/// Blocks of a half without waiting records go to applying the others. When none wait, all blocks are a
/// reserve for what frees space.
struct JournalReserve {
    private let journal: Journal
    private var file: JournalFile { journal.file }

    init(of journal: Journal) { self.journal = journal }

    /// Whether the disk has enough space for what begins with records.
    var hasSpace: Bool { file.freeBytes >= journal.limits.freeBytesMin }

    /// The bytes of each half that have blocks before the first record.
    private var firstBytes: Int { min(journal.limits.firstBytes, file.halfBytes) }

    /// Whether the halves have the blocks with which they begin.
    var isUsable: Bool { file.usableBytes >= firstBytes }

    /// Whether there is nothing to ``take()``.
    var isTaken: Bool { isUsable && (file.hasReserve || hasSpace) }

    /// Gives the file its first blocks, or on a disk with little space those of a reserve.
    ///
    /// - Returns: Whether records may be written.
    func take() -> Bool {
        do throws(LMDBError) {
            if hasSpace {
                try file.fill(to: firstBytes)
                return true
            }
            if !file.isLent { try file.fillReserve() }
        } catch {
            // The file is as it was.
        }
        return false
    }

    /// Where a record goes. If records wait in both halves, the halves get more blocks, or the records are
    /// applied.
    ///
    /// - Returns: `nil` if there is no room.
    func place(for space: Int, behind overlay: Overlay) throws(LMDBError) -> JournalOffset? {
        let place = overlay.link.place
        if place.offset + space <= file.usableBytes { return place }
        guard space <= file.halfBytes else { return nil }
        grow(for: space, at: place)
        let usable = file.usableBytes
        if place.offset + space <= usable { return place }
        guard space <= usable else { return nil }
        if isOtherHalfFree, journal.monitor.inside({ journal.lacksSpace }) {
            // The blocks of the other half are what applying these records may have.
            return nil
        }
        // A relaxed commit of what waits is on disk only with the second call.
        for _ in 0..<2 where !isOtherHalfFree { try journal.apply() }
        guard isOtherHalfFree else { return nil }
        journal.words.otherHalfEnd = overlay.top
        return place.otherHalf
    }

    /// Whether none of the records of the half that records don't go into waits.
    private var isOtherHalfFree: Bool { journal.words.otherHalfEnd <= journal.words.applied }

    /// Gives the halves more blocks if a record has no room, and the other half may not be used or is too
    /// small.
    private func grow(for space: Int, at place: JournalOffset) {
        let usable = file.usableBytes
        guard usable < file.halfBytes, !isOtherHalfFree || space > usable, hasSpace else { return }
        // Without them it goes on as with halves of this size.
        try? file.fill(to: min(file.halfBytes, max(4 * usable, place.offset + space)))
    }

    /// Lets a full disk have what the file takes up. On the writer thread, outside of a write.
    ///
    /// - Parameter lends: Whether the reserve is for the write that asks.
    /// - Returns: Whether that was something.
    func makeRoom(lends: Bool) -> Bool {
        var isMade = false
        // What is wrong beside the full disk shows in the next write.
        try? { () throws(LMDBError) in
            try file.lock()
            defer { file.unlock() }
            try journal.map.inside { () throws(LMDBError) in
                try journal.settle()
                isMade = try punchOtherHalf() || isMade
                // A relaxed commit is on disk only with the second call.
                for _ in 0..<2 where !isApplied { try journal.apply() }
            }
            if lends, isApplied { isMade = file.lend() || isMade }
        }()
        return isMade
    }

    /// Whether the data file has all commits, on disk.
    private var isApplied: Bool { journal.words.applied >= journal.words.tail }

    /// Gives the blocks of the half back that has no waiting records, if the other one has some.
    private func punchOtherHalf() throws(LMDBError) -> Bool {
        guard journal.words.otherHalfEnd <= journal.words.applied, !journal.hasHoles else {
            return false
        }
        let (slot, fit) = try journal.renewFittingSnapshot()
        journal.endRecord(slot)
        guard case .lacks(let overlay) = fit else { return false }
        journal.hasHoles = file.punch(half: overlay.link.place.otherHalf.half)
        return journal.hasHoles
    }
}

extension Journal {
    var reserve: JournalReserve { JournalReserve(of: self) }
}
