import CLMDB

/// The changes of records that wait, as final values of the keys that they changed.
///
/// Together with LMDB's content at any position from ``base`` to ``top`` it is the state ``top``.
/// Copies share what they have in common.
@usableFromInline
struct Overlay {
    private struct Part {
        let database: UInt16
        var run = OverlayRun()
    }

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
    private(set) var entryCount = 0
    /// Those with changes, by the numbers of the databases.
    private var parts: [Part] = []
    private var kept: [Kept] = []

    /// An overlay without changes.
    init(at position: JournalState) {
        base = position.number
        top = position.number
        link = position.link
    }

    var isEmpty: Bool { base == top }

    /// The changes that wait for a database.
    func run(of database: UInt16) -> OverlayRun {
        let place = place(of: database)
        return hasPart(of: database, at: place) ? parts[place].run : OverlayRun()
    }

    /// Where the part of a database is, or would be.
    private func place(of database: UInt16) -> Int {
        var (low, high) = (0, parts.count)
        while low < high {
            let middle = (low + high) / 2
            if parts[middle].database < database { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private func hasPart(of database: UInt16, at place: Int) -> Bool {
        place < parts.count && parts[place].database == database
    }

    /// The change of a key that waits.
    func entry(of key: UnsafeRawBufferPointer, in database: UInt16) -> OverlayEntry? {
        let place = place(of: database)
        return hasPart(of: database, at: place) ? parts[place].run.entry(of: key) : nil
    }

    /// Adds a change of the record that comes next.
    mutating func set(_ entry: OverlayEntry, in database: UInt16) {
        let place = place(of: database)
        if !hasPart(of: database, at: place) {
            parts.insert(Part(database: database), at: place)
        }
        if parts[place].run.set(entry) { entryCount += 1 }
    }

    /// Ends the record whose changes were added.
    ///
    /// - Parameters:
    ///   - link: What follows it.
    ///   - block: Where its bytes are.
    mutating func end(_ number: UInt64, link: JournalLink, in block: JournalBlock) {
        precondition(number == top + 1, "Records are added one by one.")
        top = number
        self.link = link
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
        for index in parts.indices { parts[index].run.prune(through: position) }
        parts.removeAll { $0.run.isEmpty }
        entryCount = parts.reduce(0) { $0 + $1.run.count }
        kept.removeAll { $0.number <= position }
    }

    /// Makes the changes behind a position in a write transaction of LMDB.
    ///
    /// - Parameter options: Has the names of the databases.
    /// - Returns: LMDB's status.
    func apply(
        to transaction: OpaquePointer, after position: UInt64, _ options: EnvironmentOptions
    ) -> Int32 {
        for part in parts {
            let handle = options.database(numbered: part.database).handle
            for chunk in part.run.chunks {
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

extension Overlay? {
    /// Drops what LMDB has at a position, which another process may have brought past all that is known here.
    mutating func forget(through position: UInt64) {
        guard let top = self?.top, top > position else { return self = nil }
        self?.prune(through: position)
    }
}
