extension PageWalk {
    /// The value of a key in a named database; `nil` if the key or the database isn't there.
    ///
    /// - Throws: `truncated` or `damaged`, as a visit of the same pages does.
    mutating func value(
        of key: [UInt8], inDatabase name: String
    ) throws(LMDBError) -> [UInt8]? {
        guard let tree = try tree(named: name), let found = try node(of: key, in: tree) else {
            return nil
        }
        guard found.flags & Flag.nodeOverflow != 0 else { return Array(found.stored) }
        let first = Int(truncatingIfNeeded: found.stored.integer(at: 0, as: UInt64.self))
        let pages = (Self.headerBytes - 1 + found.valueBytes) / meta.pageBytes + 1
        guard first > 1, first <= meta.lastPage, pages <= meta.lastPage else {
            throw file.damaged("It refers to page \(first), which doesn't exist.")
        }
        guard first + pages <= pageCount else { throw missing(first + pages - 1) }
        return try file.read(
            at: first * meta.pageBytes + Self.headerBytes, count: found.valueBytes, .truncated)
    }

    /// The tree of a named database; `nil` if there is none of that name.
    mutating func tree(named name: String) throws(LMDBError) -> MetaPage.Tree? {
        guard let leaf = try node(of: Array(name.utf8), in: meta.main),
            leaf.flags & Flag.nodeTree != 0, leaf.stored.count == MetaPage.Tree.byteCount
        else { return nil }
        return MetaPage.Tree(leaf.stored)
    }

    /// The value of a key in the unnamed database that is no database.
    mutating func unnamedValue(of key: String) throws(LMDBError) -> [UInt8]? {
        guard let leaf = try node(of: Array(key.utf8), in: meta.main),
            leaf.flags & (Flag.nodeTree | Flag.nodeOverflow) == 0
        else { return nil }
        return Array(leaf.stored)
    }

    /// A node on a leaf page.
    private struct Leaf {
        let flags: UInt16
        /// The size of the value, which may lie on other pages.
        let valueBytes: Int
        /// What the page holds of it.
        let stored: ArraySlice<UInt8>
    }

    /// The node of a key in a tree, found by descending from its root.
    private mutating func node(
        of key: [UInt8], in tree: MetaPage.Tree
    ) throws(LMDBError) -> Leaf? {
        guard let root = tree.root else { return nil }
        guard tree.depth >= 1, tree.depth <= DataFile.depthMax else {
            throw file.damaged("A tree has a depth of \(tree.depth).")
        }
        var number = root
        for _ in stride(from: tree.depth, to: 1, by: -1) {
            let page = try read(page: number, expected: Flag.branch)
            var child: Int?
            for (index, offset) in try nodeOffsets(of: page, number: number).enumerated() {
                // The first node of a branch page stands for all keys before the second.
                let name = try self.key(at: offset, of: page, number: number)
                if index > 0, key.lexicographicallyPrecedes(name) { break }
                let node = page[offset...]
                child =
                    Int(node.integer(at: 0, as: UInt32.self))
                    | Int(node.integer(at: 4, as: UInt16.self)) << 32
            }
            guard let child else { throw file.damaged("Page \(number) has no nodes.") }
            number = child
        }
        let page = try read(page: number, expected: Flag.leaf)
        for offset in try nodeOffsets(of: page, number: number) {
            let name = try self.key(at: offset, of: page, number: number)
            guard name.elementsEqual(key) else { continue }
            let node = page[offset...]
            let flags = node.integer(at: 4, as: UInt16.self)
            let bytes = Int(node.integer(at: 0, as: UInt32.self))
            let stored = flags & Flag.nodeOverflow != 0 ? 8 : bytes
            guard name.endIndex + stored <= page.count else {
                throw file.damaged("A value of page \(number) leaves the page.")
            }
            return Leaf(
                flags: flags, valueBytes: bytes,
                stored: page[name.endIndex..<(name.endIndex + stored)])
        }
        return nil
    }

    func key(
        at offset: Int, of page: [UInt8], number: Int
    ) throws(LMDBError) -> ArraySlice<UInt8> {
        let start = offset + Self.nodeHeaderBytes
        let end = start + Int(page[offset...].integer(at: 6, as: UInt16.self))
        guard end <= page.count else {
            throw file.damaged("A key of page \(number) leaves the page.")
        }
        return page[start..<end]
    }
}
