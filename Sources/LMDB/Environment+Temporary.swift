import Glibc

extension Environment {
    /// Opens an empty environment that leaves nothing behind.
    ///
    /// It lies in memory if the system has a folder for that, otherwise in the folder for
    /// temporary files. The files are unlinked right after opening, so that even a crash frees
    /// them. Of the options, durability is `none`, and creating and reading only don't matter.
    ///
    /// - Throws: `readOnlyDirectory` if neither folder can be written, `diskFull`.
    package static func temporary(
        options: EnvironmentOptions
    ) throws(LMDBError) -> Environment {
        var options = options
        options.durability = .none
        options.isReadOnly = false
        var folder = try makeTemporaryFolder()
        // Opened before the paths go; the core finds out the identity of the files.
        defer { folder.remove() }
        folder.isUnlinked = true
        let core = try EnvironmentCore(folder, options: options)
        return Environment(core, directory: folder.path)
    }

    private static func makeTemporaryFolder() throws(LMDBError) -> Folder {
        do throws(LMDBError) {
            return try Folder.makeUnique(in: "/dev/shm", prefix: "backstitch-")
        } catch {
            let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
            return try Folder.makeUnique(in: parent, prefix: "backstitch-")
        }
    }
}
