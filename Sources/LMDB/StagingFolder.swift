import Glibc

/// A hidden folder beside a target, in which its data file is made before it gets its name.
///
/// It is locked while it is in use, so that one left over by a crash can be told and removed.
struct StagingFolder: ~Copyable {
    let folder: Folder
    private let descriptor: Int32

    /// Makes an empty folder, and removes the left over ones of the same target.
    init(of target: Folder) throws(LMDBError) {
        let prefix = ".\(target.name).draft-"
        Self.removeLeftovers(in: target.parent, prefix: prefix)
        // What was being made in a staging folder has one of its own.
        Self.removeLeftovers(in: target.parent, prefix: "." + prefix)
        while true {
            let folder = try Folder.makeUnique(in: target.parent, prefix: prefix)
            let descriptor = open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            if descriptor >= 0, flock(descriptor, LOCK_EX) == 0,
                try Self.isSame(descriptor, folder.path)
            {
                self.folder = folder
                self.descriptor = descriptor
                return
            }
            // Another process took it for a left over one before it was locked.
            let reason = errno
            if descriptor >= 0 { FileLease.close(locked: descriptor) }
            guard try FileKey(path: folder.path) == nil else {
                throw LMDBError(errno: reason, "lock", path: folder.path)
            }
        }
    }

    deinit {
        // After a rename the files are at their target, and there is nothing to remove.
        folder.remove()
        FileLease.close(locked: descriptor)
    }

    /// Puts the data file and the folder on disk.
    func sync() throws(LMDBError) {
        try Folder.sync(folder.dataPath)
        try Folder.sync(folder.path)
    }

    private static func isSame(_ descriptor: Int32, _ path: String) throws(LMDBError) -> Bool {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return false }
        return try FileKey(path: path) == FileKey(status)
    }

    /// Removes what a crash left. Failing to do so does no harm.
    private static func removeLeftovers(in parent: String, prefix: String) {
        guard let listing = opendir(parent) else { return }
        var names: [String] = []
        while let entry = readdir(listing) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name.hasPrefix(prefix) { names.append(name) }
        }
        closedir(listing)
        for name in names {
            let path = parent + "/" + name
            let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            guard descriptor >= 0 else { continue }
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { Folder(path: path).remove() }
            FileLease.close(locked: descriptor)
        }
    }
}
