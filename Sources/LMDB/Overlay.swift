import CLMDB

/// The changes of records that wait, as final values of the keys that they changed.
///
/// Together with LMDB's content at any position from ``base`` to ``top`` it is the state ``top``.
/// Copies share what they have in common.
@usableFromInline
struct Overlay {
    /// A block, and the last record that has bytes in it.
    private struct Kept {
        let block: JournalBlock
        var number: UInt64
    }

    /// The changes of every state behind this one are here.
    private(set) var base: UInt64
    /// The state of the last record.
    private(set) var top: UInt64
    /// Where the next record is looked for, and what it follows.
    private(set) var link: JournalLink
    /// Whether the record of the top was on disk when it was published, and so the states before it.
    private(set) var isTopSynced = false
    private(set) var entryCount = 0
    /// By the index of the database.
    private var runs: [OverlayRun] = []
    private var kept: [Kept] = []

    /// An overlay without changes.
    init(at position: JournalPosition) {
        base = position.number
        top = position.number
        link = position.link
    }

    var isEmpty: Bool { base == top }

    /// The changes that wait for a database.
    func run(of database: Int) -> OverlayRun {
        database >= 0 && database < runs.count ? runs[database] : OverlayRun()
    }

    /// The change of a key that waits.
    func entry(of key: UnsafeRawBufferPointer, in database: Int) -> OverlayEntry? {
        guard database >= 0, database < runs.count else { return nil }
        return runs[database].entry(of: key)
    }

    /// Adds a change of the record that comes next.
    mutating func set(_ entry: OverlayEntry, in database: Int) {
        while runs.count <= database { runs.append(OverlayRun()) }
        if runs[database].set(entry) { entryCount += 1 }
    }

    /// Ends the record whose changes were added.
    ///
    /// - Parameters:
    ///   - link: What follows it.
    ///   - isSynced: Whether it is on disk.
    ///   - block: Where its bytes are.
    mutating func end(
        _ number: UInt64, link: JournalLink, isSynced: Bool, in block: JournalBlock
    ) {
        precondition(number == top + 1, "Records are added one by one.")
        top = number
        self.link = link
        isTopSynced = isSynced
        if let last = kept.indices.last, kept[last].block === block {
            kept[last].number = number
        } else {
            kept.append(Kept(block: block, number: number))
        }
    }

    /// Drops what LMDB has at a position.
    mutating func prune(through position: UInt64) {
        guard position > base else { return }
        precondition(position <= top, "LMDB has no state behind the last record.")
        base = position
        for index in runs.indices { runs[index].prune(through: position) }
        entryCount = runs.reduce(0) { $0 + $1.count }
        kept.removeAll { $0.number <= position }
    }

    /// Makes the changes behind a position in a write transaction of LMDB.
    ///
    /// - Returns: LMDB's status.
    ///
    /// - Parameter named: How many databases the options name.
    func apply(to transaction: OpaquePointer, after position: UInt64, named: Int) -> Int32 {
        for (index, run) in runs.enumerated() where !run.isEmpty {
            let handle = Database(number: index, named: named).handle
            for chunk in run.chunks {
                for entry in chunk where entry.number > position {
                    let status = Self.apply(entry, handle, to: transaction)
                    if status != MDB_SUCCESS { return status }
                }
            }
        }
        return MDB_SUCCESS
    }

    private static func apply(
        _ entry: OverlayEntry, _ handle: MDB_dbi, to transaction: OpaquePointer
    ) -> Int32 {
        var key = MDB_val(entry.keyBytes)
        var value = MDB_val(entry.valueBytes)
        switch entry.change {
        case .delete:
            let status = mdb_del(transaction, handle, &key, nil)
            return status == MDB_NOTFOUND ? MDB_SUCCESS : status
        case .append:
            let status = mdb_put(transaction, handle, &key, &value, UInt32(MDB_APPEND))
            // A greater key is there that a later entry deletes.
            guard status == MDB_KEYEXIST else { return status }
            return mdb_put(transaction, handle, &key, &value, 0)
        case .put:
            return mdb_put(transaction, handle, &key, &value, 0)
        }
    }
}

extension MDB_val {
    init(_ bytes: UnsafeRawBufferPointer) {
        self.init(
            mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
    }
}
