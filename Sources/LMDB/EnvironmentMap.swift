import CLMDB
import Glibc

/// The map of a data file, which grows with it, and changes when another process made it grow.
struct EnvironmentMap: @unchecked Sendable {  // The pointer is constant, and used behind the gate.
    let pointer: OpaquePointer
    let gate: Gate
    let bytesMax: Int
    let path: String

    /// Makes a second attempt sensible after a call that failed because of the map. The caller is
    /// outside of the gate.
    ///
    /// - Throws: the error, if it isn't about the map; `mapFull` if that can't grow.
    func change(after error: LMDBError) throws(LMDBError) {
        switch error.underlying {
        case MDB_MAP_FULL: try grow()
        case MDB_MAP_RESIZED: try adopt()
        default: throw error
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
