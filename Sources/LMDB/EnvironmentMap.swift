import CLMDB
import Glibc

/// The map of a data file, which grows with it, and changes when another process made it grow.
struct EnvironmentMap: @unchecked Sendable {  // The pointer is constant, and used behind the gate.
    let pointer: OpaquePointer
    let gate: Gate
    let bytesMax: Int
    let path: String

    /// Runs a closure inside the gate, again after the map had to change for it. The calling thread is
    /// outside of the gate.
    ///
    /// - Throws: `mapFull` if the map can't grow; what the closure throws about anything else.
    func inside(_ body: () throws(LMDBError) -> Void) throws(LMDBError) {
        while true {
            do throws(LMDBError) {
                return try gate.inside(body)
            } catch {
                switch error.underlying {
                case MDB_MAP_FULL: try grow()
                case MDB_MAP_RESIZED: try adopt()
                default: throw error
                }
            }
        }
    }

    /// Doubles the map while nobody is inside the gate.
    func grow() throws(LMDBError) {
        try gate.exclusively { () throws(LMDBError) in
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
        try gate.exclusively { () throws(LMDBError) in try set(0) }
    }

    /// Sets the size; 0 stands for the size in the file. No transaction is inside the gate.
    private func set(_ bytes: Int) throws(LMDBError) {
        let status = mdb_env_set_mapsize(pointer, bytes)
        if status == MDB_SUCCESS { return }
        // LMDB has dropped the old map before it failed to make the new one.
        if status != EINVAL { gate.panic() }
        throw LMDBError(status: status, "change the size of the map to \(bytes) bytes")
    }
}
