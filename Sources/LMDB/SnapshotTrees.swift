import CLMDB
import Glibc

/// The trees of a snapshot whose keys are looked up, and walked, in the map itself.
///
/// LMDB looks at one node after another and waits for the memory of each. ``SnapshotTree`` has the
/// processor fetch what comes next while it works. Pages of a snapshot never change, so nothing but
/// their format has to be known: that of ``PageWalk``.
@usableFromInline
struct SnapshotTrees {
    /// What is known of a database, by how often the snapshot was asked for it.
    private enum Known {
        case nothing
        /// It was asked for once. Finding its root is worth it from the second time on.
        case asked
        case tree(SnapshotTree)
        /// It is left to LMDB.
        case unusable
    }

    private let core: Unmanaged<EnvironmentCore>
    /// The last commit of the snapshot that ``trees`` are of.
    private var commit: UInt64 = 0
    /// By the handles of databases.
    private var trees: [Known] = []
    /// The beginning of the map, once it was needed.
    private var map: UnsafeRawPointer?
    private var ahead = EntriesAhead()

    init(of core: EnvironmentCore) { self.core = .passUnretained(core) }

    /// Forgets what is known, because the map changes its place.
    mutating func forget() {
        (trees, map) = ([], nil)
        ahead.forget()
    }

    /// Looks a key up.
    ///
    /// - Returns: The value; `.some(nil)` if the database does not have the key; `nil` if LMDB has to be asked.
    @usableFromInline
    mutating func find(
        _ key: UnsafeRawBufferPointer, in database: Database, _ transaction: OpaquePointer
    ) -> UnsafeRawBufferPointer?? {
        guard let tree = tree(of: database, transaction, atOnce: false) else { return nil }
        if let value = ahead.take(key, of: database) { return .some(value) }
        switch tree.find(key) {
        case .value(let bytes): return .some(bytes)
        case .nothing: return .some(nil)
        case .unknown: return nil
        }
    }

    /// Looks up keys that are asked for next, all at once, and keeps where they are.
    mutating func lookAhead(
        in database: Database, _ transaction: OpaquePointer, count: Int,
        key: (Int) -> UnsafeRawBufferPointer
    ) {
        guard let tree = tree(of: database, transaction, atOnce: true) else { return }
        ahead.begin(database)
        tree.find(count, key) { ahead.add($0, $1) }
    }

    /// The tree of a database; `nil` if it is left to LMDB.
    ///
    /// - Parameter atOnce: Whether the first use is worth finding its root.
    mutating func tree(
        of database: Database, _ transaction: OpaquePointer, atOnce: Bool
    ) -> SnapshotTree? {
        let commit = UInt64(mdb_txn_id(transaction))
        if commit != self.commit {
            self.commit = commit
            trees.removeAll(keepingCapacity: true)
            ahead.forget()
        }
        let handle = Int(database.handle)
        if handle >= trees.count {
            trees += repeatElement(.nothing, count: handle + 1 - trees.count)
        }
        switch trees[handle] {
        case .tree(let tree): return tree
        case .unusable: return nil
        case .nothing where !atOnce:
            trees[handle] = .asked
            return nil
        case .nothing, .asked:
            let tree = find(database, transaction)
            trees[handle] = tree.map { .tree($0) } ?? .unusable
            return tree
        }
    }

    /// Reads the root of a database in LMDB's list.
    private mutating func find(_ database: Database, _ transaction: OpaquePointer) -> SnapshotTree?
    {
        let core = core.takeUnretainedValue()
        guard let name = core.options.name(ofDatabase: database.number) else { return nil }
        var data = MDB_val()
        let status = Array(name.utf8).withUnsafeBytes { bytes in
            var key = MDB_val(
                mv_size: bytes.count,
                mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
            return mdb_get(transaction, Database.main.handle, &key, &data)
        }
        guard status == MDB_SUCCESS, data.mv_size == MetaPage.Tree.byteCount else { return nil }
        let bytes = UnsafeRawBufferPointer(start: data.mv_data, count: data.mv_size)
        let tree = MetaPage.Tree(Array(bytes)[...])
        guard let root = tree.root, (1...DataFile.depthMax).contains(tree.depth) else {
            return nil
        }
        var stat = MDB_stat()
        mdb_stat(transaction, Database.main.handle, &stat)
        let pageBytes = Int(stat.ms_psize)
        // Else pages need not begin where those of the memory do.
        guard pageBytes == sysconf(Int32(_SC_PAGESIZE)) else { return nil }
        let map =
            map ?? start(ofMapAround: data.mv_data, pageBytes, database, transaction)
        guard let map else { return nil }
        self.map = map
        var info = MDB_envinfo()
        mdb_env_info(core.pointer, &info)
        return SnapshotTree(
            map: map, pageBytes: pageBytes,
            // The newest commit has no fewer, nor has the file.
            pageCount: UInt64(info.me_last_pgno) + 1, root: UInt64(root), depth: tree.depth,
            isTold: core.map.exceedsMemory)
    }

    /// The beginning of the map, by the numbers that two pages have: that around an address, and that of
    /// the first entry of a database; `nil` if they do not agree.
    private func start(
        ofMapAround address: UnsafeRawPointer, _ pageBytes: Int, _ database: Database,
        _ transaction: OpaquePointer
    ) -> UnsafeRawPointer? {
        func start(_ address: UnsafeRawPointer) -> UInt {
            let page = address - Int(bitPattern: address) % pageBytes
            let number = MappedPage(page, pageBytes).number
            return UInt(bitPattern: page) &- UInt(number) &* UInt(pageBytes)
        }
        var cursor: OpaquePointer?
        guard mdb_cursor_open(transaction, database.handle, &cursor) == MDB_SUCCESS else {
            return nil
        }
        defer { mdb_cursor_close(cursor) }
        var (key, value) = (MDB_val(), MDB_val())
        guard mdb_cursor_get(cursor, &key, &value, MDB_FIRST) == MDB_SUCCESS,
            start(address) == start(key.mv_data)
        else { return nil }
        return UnsafeRawPointer(bitPattern: start(address))
    }
}

/// Entries of a database that were looked up before they are asked for, in the order in which they will be.
private struct EntriesAhead {
    private var database: Database?
    private var entries: [(key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer)] = []
    private var next = 0

    mutating func forget() {
        entries.removeAll(keepingCapacity: true)
        next = 0
    }

    mutating func begin(_ database: Database) {
        forget()
        self.database = database
    }

    /// - Parameters:
    ///   - key: Where the entry has it.
    ///   - value: Where the entry has it.
    mutating func add(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
        entries.append((key, value))
    }

    /// The value of a key that was looked up. Those before it are forgotten; all if there is none.
    mutating func take(
        _ key: UnsafeRawBufferPointer, of database: Database
    ) -> UnsafeRawBufferPointer? {
        guard next < entries.count, self.database?.handle == database.handle else { return nil }
        while next < entries.count {
            let entry = entries[next]
            next += 1
            if entry.key.count == key.count, let mine = key.baseAddress,
                let theirs = entry.key.baseAddress, memcmp(mine, theirs, key.count) == 0
            {
                return entry.value
            }
        }
        return nil
    }
}
