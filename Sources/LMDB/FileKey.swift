import Glibc

/// What identifies a file whatever its path: the device and the inode.
struct FileKey: Hashable, Sendable {
    let device: UInt
    let inode: UInt

    init(_ status: stat) {
        device = UInt(status.st_dev)
        inode = UInt(status.st_ino)
    }

    /// The identity of the file at a path, without opening it; `nil` if there is none.
    init?(path: String) throws(LMDBError) {
        guard let status = try Self.status(of: path) else { return nil }
        self.init(status)
    }

    /// The result of `stat`, or `nil` if nothing is at the path.
    static func status(of path: String) throws(LMDBError) -> stat? {
        var status = stat()
        if stat(path, &status) == 0 { return status }
        if errno == ENOENT { return nil }
        throw LMDBError(errno: errno, "look up", path: path)
    }
}
