/// What LMDB keeps of a tree: 48 bytes, little-endian.
///
/// | offset | bytes | field |
/// |---|---|---|
/// | 4, 6 | 2, 2 | flags, depth |
/// | 8, 16, 24 | 8 each | branch pages, leaf pages, overflow pages |
/// | 32, 40 | 8, 8 | entries, root page (all ones: none) |
struct TreeRoot {
    let flags: UInt16
    let depth: Int
    let counts: TreeCounts
    /// `nil` if the tree is empty.
    let root: Int?

    /// Reads the 48 bytes from an offset.
    init(_ bytes: ArraySlice<UInt8>) {
        func number(at offset: Int) -> Int {
            Int(truncatingIfNeeded: bytes.integer(at: offset, as: UInt64.self))
        }
        flags = bytes.integer(at: 4, as: UInt16.self)
        let tree = MetaPage.Tree(bytes)
        depth = tree.depth
        root = tree.root
        counts = TreeCounts(
            branchPages: number(at: 8), leafPages: number(at: 16), overflowPages: number(at: 24),
            entries: number(at: 32))
    }
}

/// How many pages and entries a tree has.
struct TreeCounts: Equatable {
    var branchPages = 0
    var leafPages = 0
    var overflowPages = 0
    var entries = 0
}
