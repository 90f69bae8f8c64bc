/// The fields of a meta page that matter for a check.
struct MetaPage {
    /// A tree of pages: that of the free pages, or a database.
    struct Tree {
        let depth: Int
        /// `nil` if the tree is empty.
        let root: Int?

        /// Reads the 48 bytes from an offset.
        init(_ bytes: ArraySlice<UInt8>) {
            depth = Int(bytes.integer(at: 6, as: UInt16.self))
            let page = bytes.integer(at: 40, as: UInt64.self)
            root = page == .max ? nil : Int(truncatingIfNeeded: page)
        }

        static let byteCount = 48
    }

    static let byteCount = PageWalk.headerBytes + bodyBytes
    /// What follows the page header.
    static let bodyBytes = 136
    /// Where the body has the id of the transaction.
    static let transactionOffset = 128

    let pageBytes: Int
    let lastPage: Int
    let transaction: UInt64
    let free: Tree
    let main: Tree
    /// All that the trees say of themselves.
    let freeRoot: TreeRoot
    let mainRoot: TreeRoot

    init(_ bytes: [UInt8], path: String) throws(LMDBError) {
        let body = bytes[PageWalk.headerBytes...]
        guard body.integer(at: 0, as: UInt32.self) == DataFile.magic else {
            throw LMDBError(
                .foreignFile,
                "'\(path)' isn't an LMDB file of this machine's kind. Check the path.")
        }
        let version = body.integer(at: 4, as: UInt32.self)
        guard version == DataFile.version else {
            throw LMDBError(
                .versionMismatch,
                """
                '\(path)' has format \(version) and this program reads \(DataFile.version). Use \
                the program that wrote it, or copy the data with its tools.
                """)
        }
        pageBytes = Int(body.integer(at: 24, as: UInt32.self))
        let lastPage = body.integer(at: 120, as: UInt64.self)
        transaction = body.integer(at: Self.transactionOffset, as: UInt64.self)
        free = Tree(body.dropFirst(24).prefix(Tree.byteCount))
        main = Tree(body.dropFirst(72).prefix(Tree.byteCount))
        freeRoot = TreeRoot(body.dropFirst(24).prefix(Tree.byteCount))
        mainRoot = TreeRoot(body.dropFirst(72).prefix(Tree.byteCount))
        let flags = bytes[...].integer(at: 10, as: UInt16.self)
        guard (256...65536).contains(pageBytes), pageBytes & (pageBytes - 1) == 0,
            flags & PageWalk.Flag.meta != 0, (1..<(1 << 47)).contains(lastPage),
            [free, main].allSatisfy({ $0.depth <= DataFile.depthMax })
        else {
            throw LMDBError(
                .damaged, "A meta page of '\(path)' is damaged. Restore it from a backup.")
        }
        self.lastPage = Int(lastPage)
    }
}

extension MetaPage {
    /// The header of a meta page.
    static func header(number: Int) -> [UInt8] {
        var header = [UInt8](repeating: 0, count: PageWalk.headerBytes)
        header.store(UInt64(number), at: 0)
        header[10] = UInt8(PageWalk.Flag.meta)
        return header
    }
}

extension ArraySlice<UInt8> {
    /// A little-endian number at an offset from the start of the slice.
    func integer<Number: FixedWidthInteger>(at offset: Int, as type: Number.Type) -> Number {
        withUnsafeBytes { bytes in
            Number(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Number.self))
        }
    }
}
