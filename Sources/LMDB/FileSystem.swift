import CLMDB
import Glibc

/// What kind of file system a path is on.
enum FileSystem {
    /// File systems that are shared between machines, by the type number that `statfs` reports
    /// (linux/magic.h). FUSE is among them, because what is behind it can't be seen.
    private static let networkTypes: [UInt32: String] = [
        0x6969: "NFS",
        0x517B: "SMB",
        0xFF53_4D42: "CIFS",
        0xFE53_4D42: "SMB2",
        0x564C: "NCP",
        0x7375_7245: "Coda",
        0x5346_414F: "AFS",
        0x6B41_4653: "kAFS",
        0x00C3_6400: "Ceph",
        0x0102_1997: "9P",
        0x6573_5546: "FUSE",
        0x0BD0_0BD0: "Lustre",
        0x0116_1970: "GFS2",
        0x7461_636F: "OCFS2",
        0x4750_4653: "GPFS",
        0xAAD7_AAEA: "PanFS",
    ]

    /// Throws if the path is on a file system that is shared between machines.
    static func refuseNetwork(_ path: String) throws(LMDBError) {
        guard let type = typeNumber(of: path) else {
            throw LMDBError(errno: errno, "look up the file system of", path: path)
        }
        guard let name = networkName(type: type) else { return }
        throw LMDBError(
            .networkFileSystem,
            """
            '\(path)' is on \(name), where locks and memory maps don't work reliably. Use a \
            local disk, or set allowsNetworkFileSystem if only one machine ever opens it.
            """)
    }

    /// The name of a shared file system, or `nil` for a local one.
    static func networkName(type: UInt32) -> String? {
        networkTypes[type]
    }

    /// Whether a path is on layers of which the lower ones are copied from when they are written to: then
    /// files that were opened before are not those that are written.
    static func isOverlay(_ path: String) -> Bool {
        typeNumber(of: path).map(isOverlay(type:)) ?? false
    }

    static func isOverlay(type: UInt32) -> Bool { type == 0x794C_7630 }

    /// The type number of the file system of a path; nil if the system does not tell, with the reason in `errno`.
    private static func typeNumber(of path: String) -> UInt32? {
        var status = statfs()
        guard statfs(path, &status) == 0 else { return nil }
        return UInt32(truncatingIfNeeded: status.f_type)
    }
}
