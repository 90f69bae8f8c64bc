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

    /// Gives the file its blocks, or on a disk with little space fewer.
    ///
    /// - Returns: Whether records may be written.
    func take() -> Bool {
        do throws(LMDBError) {
            if hasSpace {
                try file.fill()
                return true
            }
            if !file.isLent { try file.fillReserve() }
        } catch {
            // The file is as it was.
        }
        return false
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
