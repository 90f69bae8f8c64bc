import Glibc

/// A data file, read with `pread` and not through a map, if a missing page kills the process.
///
/// The layout (lmdb 0.9, 64 bits, little-endian). Every page begins with a header of 16 bytes:
///
/// | offset | bytes | field                                                                |
/// |--------|-------|----------------------------------------------------------------------|
/// | 0      | 8     | page number                                                          |
/// | 10     | 2     | flags: 1 branch, 2 leaf, 4 overflow, 8 meta                          |
/// | 12     | 2     | end of the node offsets; with the next field: overflow page count    |
/// | 14     | 2     | start of the nodes                                                   |
///
/// Pages 0 and 1 are meta pages; behind the header:
///
/// | offset | bytes | field                                                                |
/// |--------|-------|----------------------------------------------------------------------|
/// | 0      | 4     | magic number                                                         |
/// | 4      | 4     | version                                                              |
/// | 24     | 48    | tree of free pages; its first 4 bytes are the page size              |
/// | 72     | 48    | tree of the named databases                                          |
/// | 120    | 8     | last page number                                                     |
/// | 128    | 8     | transaction id                                                       |
///
/// A tree has its depth at offset 6 (2 bytes), and its root page at offset 40 (8 bytes, all ones
/// if it is empty).
struct DataFile {
    static let magic: UInt32 = 0xBEEF_C0DE
    static let version: UInt32 = 1
    /// More than any file can have; a deeper tree is damaged.
    static let depthMax = 32

    let descriptor: Int32
    let path: String

    /// Checks a file before LMDB gets it.
    ///
    /// A file that is shorter than its last page number says isn't damaged by that: the pages
    /// behind the end may be free. Only then all pages in use are visited.
    ///
    /// - Parameter visitsAllPages: Visits the pages in use of any file.
    /// - Throws: `foreignFile`, `versionMismatch`, `truncated`, `damaged`, or `permissionDenied`.
    static func check(path: String, visitsAllPages: Bool = false) throws(LMDBError) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw LMDBError(errno: errno, "open", path: path) }
        defer { close(descriptor) }
        let file = DataFile(descriptor: descriptor, path: path)
        // Another process may commit meanwhile and use pages again that were just read.
        let attempts = 8
        for attempt in 1...attempts {
            let meta = try file.newestMeta()
            let bytes = try file.byteCount()
            guard visitsAllPages || bytes / meta.pageBytes <= meta.lastPage else { return }
            do throws(LMDBError) {
                var walk = PageWalk(file: file, meta: meta, pageCount: bytes / meta.pageBytes)
                return try walk.visitAll()
            } catch {
                let isCurrent = try file.newestMeta().transaction == meta.transaction
                if isCurrent || attempt == attempts { throw error }
            }
        }
    }

    /// Reads both meta pages and returns the one LMDB will use.
    func newestMeta() throws(LMDBError) -> MetaPage {
        let bytes = try byteCount()
        guard bytes > 0 else {
            throw LMDBError(
                .truncated,
                """
                '\(path)' is empty. Restore it from a backup; if there never was data in it, move \
                the folder away.
                """)
        }
        let first = try MetaPage(read(at: 0, count: MetaPage.byteCount, .foreignFile), path: path)
        let second = try MetaPage(
            read(at: first.pageBytes, count: MetaPage.byteCount, .truncated), path: path)
        guard first.pageBytes == second.pageBytes else {
            throw damaged("Its meta pages name two page sizes.")
        }
        return first.transaction < second.transaction ? second : first
    }

    /// Reads `count` bytes.
    ///
    /// - Parameter code: What it means if the file ends before them.
    func read(
        at offset: Int, count: Int, _ code: LMDBError.Code
    ) throws(LMDBError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var done = 0
        while done < count {
            let result = bytes.withUnsafeMutableBytes { buffer in
                pread(
                    descriptor, buffer.baseAddress.map { $0 + done }, count - done, offset + done)
            }
            if result > 0 {
                done += result
            } else if result == 0 {
                throw LMDBError(
                    code, "'\(path)' ends at byte \(offset + done). Restore it from a backup.")
            } else if errno != EINTR {
                throw LMDBError(errno: errno, "read", path: path)
            }
        }
        return bytes
    }

    func byteCount() throws(LMDBError) -> Int {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw LMDBError(errno: errno, "look up", path: path)
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw LMDBError(.foreignFile, "'\(path)' isn't a regular file. Check the path.")
        }
        return Int(status.st_size)
    }

    func damaged(_ reason: String) -> LMDBError {
        LMDBError(.damaged, "'\(path)' is damaged. \(reason) Restore it from a backup.")
    }
}
