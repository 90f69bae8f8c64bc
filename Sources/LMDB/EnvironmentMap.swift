import CLMDB
import Glibc
import Synchronization

/// The map of a data file, which grows with it, and changes when another process made it grow.
final class EnvironmentMap: @unchecked Sendable {  // The pointer is used behind the lock.
    let pointer: OpaquePointer
    let mapLock: MapLock
    let bytesMax: Int
    let path: String
    /// How much memory there is for the file's pages, for tests; nil for what the system lets the process have.
    private let memoryBytes: Int?
    private let isLarge = Atomic(false)
    /// Whether the file was larger than the memory when it was looked at last.
    var exceedsMemory: Bool { isLarge.load(ordering: .relaxed) }

    init(
        pointer: OpaquePointer, mapLock: MapLock, bytesMax: Int, path: String, memoryBytes: Int?
    ) {
        self.pointer = pointer
        self.mapLock = mapLock
        self.bytesMax = bytesMax
        self.path = path
        self.memoryBytes = memoryBytes
    }

    /// Runs a closure inside the lock, again after the map had to change for it. The calling thread is
    /// outside of the lock.
    ///
    /// - Throws: `mapFull` if the map can't grow; what the closure throws about anything else.
    func inside(_ body: () throws(LMDBError) -> Void) throws(LMDBError) {
        while true {
            do throws(LMDBError) {
                return try mapLock.inside(body)
            } catch {
                switch error.underlying {
                case MDB_MAP_FULL: try grow()
                case MDB_MAP_RESIZED: try adopt()
                default: throw error
                }
            }
        }
    }

    /// Doubles the map while nobody is inside the lock.
    func grow() throws(LMDBError) {
        try mapLock.exclusively { () throws(LMDBError) in
            var info = MDB_envinfo()
            mdb_env_info(pointer, &info)
            guard info.me_mapsize < bytesMax else {
                throw LMDBError(
                    .mapFull,
                    """
                    The data of '\(path)' has reached the largest size of \(bytesMax) bytes. Raise \
                    mapBytesMax, or delete data.
                    """, underlying: MDB_MAP_FULL)
            }
            try set(min(info.me_mapsize * 2, bytesMax))
        }
    }

    /// Takes over the size that another process has set.
    func adopt() throws(LMDBError) {
        try mapLock.exclusively { () throws(LMDBError) in try set(0) }
    }

    /// Sets the size; 0 stands for the size in the file. No transaction is inside the lock.
    private func set(_ bytes: Int) throws(LMDBError) {
        let status = mdb_env_set_mapsize(pointer, bytes)
        // The new map knows nothing of advice.
        if status == MDB_SUCCESS { return adviseReading() }
        // LMDB has dropped the old map before it failed to make the new one.
        if status != EINVAL { mapLock.panic() }
        throw LMDBError(status: status, "change the size of the map to \(bytes) bytes")
    }
}

extension EnvironmentMap {
    /// A file of fewer bytes is not looked at: whether it fits is not worth the question.
    private static let adviceBytesMin = 64 << 20

    /// Has the system read single pages of a file that is larger than the memory.
    ///
    /// Otherwise it reads some thirty pages for each that is missing, and lets go of as many others to have
    /// room for them. Walks tell it which pages come next (``PagesAhead``). Call it inside the lock, or while no
    /// other thread uses the environment.
    func adviseReading() {
        var info = MDB_envinfo()
        mdb_env_info(pointer, &info)
        let bytes = (info.me_last_pgno + 1) * Int(getpagesize())
        guard bytes >= min(Self.adviceBytesMin, memoryBytes ?? .max),
            bytes > memoryBytes ?? MemoryLimit.current(), let range = range()
        else { return }
        madvise(range.baseAddress, range.count, MADV_RANDOM)
        isLarge.store(true, ordering: .relaxed)
    }

    /// The memory that the file is mapped to; nil if that can't be found out. Call it inside the lock, or while no
    /// other thread uses the environment.
    func range() -> UnsafeMutableRawBufferPointer? {
        var begun: OpaquePointer?
        guard mdb_txn_begin(pointer, nil, UInt32(MDB_RDONLY), &begun) == MDB_SUCCESS,
            let transaction = begun
        else { return nil }
        defer { mdb_txn_abort(transaction) }
        var opened: OpaquePointer?
        guard mdb_cursor_open(transaction, Database.main.handle, &opened) == MDB_SUCCESS,
            let cursor = opened
        else { return nil }
        defer { mdb_cursor_close(cursor) }
        var (key, value) = (MDB_val(), MDB_val())
        // It points into the map.
        guard mdb_cursor_get(cursor, &key, &value, MDB_FIRST) == MDB_SUCCESS else { return nil }
        return MemoryMap.range(around: UInt(bitPattern: value.mv_data))
    }
}
