/// Visits all pages that are reachable from a meta page.
///
/// A node on a branch or leaf page begins with 8 bytes:
///
/// | offset | bytes | leaf                                   | branch                  |
/// |--------|-------|----------------------------------------|-------------------------|
/// | 0      | 4     | size of the value                      | page number, bits 0-31  |
/// | 4      | 2     | flags: 1 overflow, 2 database, 4 duplicates | page number, bits 32-47 |
/// | 6      | 2     | size of the key, which follows         | the same                |
struct PageWalk {
    enum Flag {
        static let branch: UInt16 = 1
        static let leaf: UInt16 = 2
        static let overflow: UInt16 = 4
        static let meta: UInt16 = 8
        static let nodeOverflow: UInt16 = 1
        static let nodeTree: UInt16 = 2
    }

    static let headerBytes = 16
    static let nodeHeaderBytes = 8

    let file: DataFile
    let meta: MetaPage
    /// The whole pages in the file.
    let pageCount: Int
    /// A bit for every page.
    private var visited: [UInt64]

    init(file: DataFile, meta: MetaPage, pageCount: Int) {
        self.file = file
        self.meta = meta
        self.pageCount = pageCount
        visited = [UInt64](repeating: 0, count: pageCount / 64 + 1)
    }

    /// Visits the tree of free pages and all databases.
    ///
    /// - Throws: `truncated` if a page in use lies behind the end of the file, `damaged` if one
    ///   contradicts itself or is used twice.
    mutating func visitAll() throws(LMDBError) {
        try visit(meta.free, containsTrees: false)
        try visit(meta.main, containsTrees: true)
    }

    private mutating func visit(
        _ tree: MetaPage.Tree, containsTrees: Bool
    ) throws(LMDBError) {
        guard let root = tree.root else { return }
        guard tree.depth >= 1, tree.depth <= DataFile.depthMax else {
            throw file.damaged("A tree has a depth of \(tree.depth).")
        }
        try visit(page: root, level: tree.depth, containsTrees: containsTrees)
    }

    /// Visits a page and what is below it; level 1 is that of the leaves.
    private mutating func visit(
        page number: Int, level: Int, containsTrees: Bool
    ) throws(LMDBError) {
        let page = try read(page: number, expected: level == 1 ? Flag.leaf : Flag.branch)
        for offset in try nodeOffsets(of: page, number: number) {
            let node = page[offset...]
            let low = node.integer(at: 0, as: UInt32.self)
            let flags = node.integer(at: 4, as: UInt16.self)
            if level > 1 {
                let child = Self.child(at: offset, of: page)
                try visit(page: child, level: level - 1, containsTrees: containsTrees)
                continue
            }
            let value = Self.nodeHeaderBytes + Int(node.integer(at: 6, as: UInt16.self))
            let stored = flags & Flag.nodeOverflow != 0 ? 8 : Int(low)
            guard offset + value + stored <= page.count else {
                throw file.damaged("A value of page \(number) leaves the page.")
            }
            if flags & Flag.nodeOverflow != 0 {
                let first = node.integer(at: value, as: UInt64.self)
                try visitOverflow(Int(truncatingIfNeeded: first), bytes: Int(low))
            } else if containsTrees, flags & Flag.nodeTree != 0 {
                guard stored == MetaPage.Tree.byteCount else {
                    throw file.damaged("A database of page \(number) has no root.")
                }
                try visit(MetaPage.Tree(node.dropFirst(value)), containsTrees: false)
            }
        }
    }

    private mutating func visitOverflow(_ first: Int, bytes: Int) throws(LMDBError) {
        let page = try read(page: first, expected: Flag.overflow)
        let count = Int(page[...].integer(at: 12, as: UInt32.self))
        let needed = (Self.headerBytes - 1 + bytes) / meta.pageBytes + 1
        guard count >= needed else {
            throw file.damaged("The value on page \(first) is cut off.")
        }
        guard first + count <= meta.lastPage + 1 else {
            throw file.damaged("The value on page \(first) has pages that don't exist.")
        }
        guard first + count <= pageCount else { throw missing(first + count - 1) }
        for number in first + 1..<first + count { try claim(number) }
    }

    mutating func read(page number: Int, expected: UInt16) throws(LMDBError) -> [UInt8] {
        guard number > 1, number <= meta.lastPage else {
            throw file.damaged("It refers to page \(number), which doesn't exist.")
        }
        guard number < pageCount else { throw missing(number) }
        try claim(number)
        let page = try file.read(
            at: number * meta.pageBytes, count: meta.pageBytes, .truncated)
        guard page[...].integer(at: 0, as: UInt64.self) == UInt64(number),
            page[...].integer(at: 10, as: UInt16.self) == expected
        else { throw file.damaged("Page \(number) isn't what the page above it expects.") }
        return page
    }

    func nodeOffsets(of page: [UInt8], number: Int) throws(LMDBError) -> [Int] {
        let lower = Int(page[...].integer(at: 12, as: UInt16.self))
        let upper = Int(page[...].integer(at: 14, as: UInt16.self))
        guard lower >= Self.headerBytes, lower <= upper, upper <= page.count, lower % 2 == 0 else {
            throw file.damaged("The nodes of page \(number) have no place.")
        }
        var offsets: [Int] = []
        for position in stride(from: Self.headerBytes, to: lower, by: 2) {
            let offset = Int(page[...].integer(at: position, as: UInt16.self))
            guard offset >= upper, offset + Self.nodeHeaderBytes <= page.count else {
                throw file.damaged("A node of page \(number) leaves the page.")
            }
            offsets.append(offset)
        }
        return offsets
    }

    /// The page that a node of a branch page leads to.
    static func child(at offset: Int, of page: [UInt8]) -> Int {
        let node = page[offset...]
        return Int(node.integer(at: 0, as: UInt32.self))
            | Int(node.integer(at: 4, as: UInt16.self)) << 32
    }

    private mutating func claim(_ number: Int) throws(LMDBError) {
        let bit: UInt64 = 1 << UInt64(number % 64)
        guard visited[number / 64] & bit == 0 else {
            throw file.damaged("Page \(number) is used twice.")
        }
        visited[number / 64] |= bit
    }

    func missing(_ number: Int) -> LMDBError {
        LMDBError(
            .truncated,
            """
            '\(file.path)' has \(pageCount) pages and page \(number) is in use. Restore it from \
            a backup.
            """)
    }
}
