import Glibc
import XXHash

/// The last commit that is wholly on disk in a data file.
struct RedoBase: Hashable {
    /// The meta data of the commit, as LMDB's meta page has it behind its header.
    var meta = [UInt8](repeating: 0, count: MetaPage.bodyBytes)
    /// The hashes of the root pages; 0 for an empty tree. They tell whether a data file is the one
    /// that a redo file belongs to.
    var databasesHash: UInt64 = 0
    var freeHash: UInt64 = 0

    /// The id of the commit.
    var transaction: UInt64 { meta[...].integer(at: MetaPage.transactionOffset, as: UInt64.self) }

    init() {}

    init(meta: [UInt8], databasesHash: UInt64, freeHash: UInt64) {
        self.meta = meta
        self.databasesHash = databasesHash
        self.freeHash = freeHash
    }

    /// The last commit of a data file. Nobody may write meanwhile.
    init(of file: DataFile) throws(LMDBError) {
        let page = try file.newestMeta()
        let slot = Int(page.transaction % 2) * page.pageBytes
        let bytes = try file.read(at: slot, count: MetaPage.byteCount, .truncated)
        meta = Array(bytes[PageWalk.headerBytes...])
        databasesHash = try Self.hash(page.main, page, of: file)
        freeHash = try Self.hash(page.free, page, of: file)
    }

    /// Whether a data file still has the base's root pages.
    func matches(_ file: DataFile) throws(LMDBError) -> Bool {
        let page = try metaPage(path: file.path)
        do throws(LMDBError) {
            let databases = try Self.hash(page.main, page, of: file)
            let free = try Self.hash(page.free, page, of: file)
            return databases == databasesHash && free == freeHash
        } catch {
            if error.code == .truncated { return false }
            throw error
        }
    }

    /// Makes the base the last commit of a data file, and syncs that.
    ///
    /// The page that LMDB writes next gets the base under an older number, because what it has is
    /// newer than the base.
    func restore(to file: DataFile) throws(LMDBError) {
        let page = try metaPage(path: file.path)
        let slot = Int(page.transaction % 2)
        try write(meta, slot: slot, page.pageBytes, file)
        var older = meta
        older.store(page.transaction - 1, at: MetaPage.transactionOffset)
        try write(older, slot: 1 - slot, page.pageBytes, file)
        guard fdatasync(file.descriptor) == 0 else {
            throw LMDBError(errno: errno, "sync", path: file.path)
        }
    }

    private func write(
        _ meta: [UInt8], slot: Int, _ pageBytes: Int, _ file: DataFile
    ) throws(LMDBError) {
        let bytes = MetaPage.header(number: slot) + meta
        let isWritten = bytes.withUnsafeBytes {
            RedoFile.write($0, at: slot * pageBytes, to: file.descriptor)
        }
        guard isWritten else { throw LMDBError(errno: errno, "write", path: file.path) }
    }

    private func metaPage(path: String) throws(LMDBError) -> MetaPage {
        try MetaPage(MetaPage.header(number: 0) + meta, path: path)
    }

    private static func hash(
        _ tree: MetaPage.Tree, _ page: MetaPage, of file: DataFile
    ) throws(LMDBError) -> UInt64 {
        guard let root = tree.root else { return 0 }
        let bytes = try file.read(at: root * page.pageBytes, count: page.pageBytes, .truncated)
        return bytes.withUnsafeBytes { Checksum.xxh64($0) }
    }
}
