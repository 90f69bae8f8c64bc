/// Neighbouring leaf pages below one branch page, and how many there would be if they were full.
///
/// Deleting the entries of all but the first page makes LMDB merge pages to the left, so that
/// nothing moves into or out of the page behind the run. Put again in order, the entries always go
/// to the end of a page, which splits such that the left one stays full.
struct LeafRun: Equatable {
    /// A leaf page.
    struct Leaf: Equatable {
        var page = 0
        let firstKey: [UInt8]
        /// What each node takes up.
        let nodes: [Int]
        /// The entries whose values have pages of their own. Putting one again copies those.
        var overflow: [Overflow] = []
    }

    /// An entry whose value has pages of its own.
    struct Overflow: Equatable {
        let key: [UInt8]
        let firstPage: Int
    }

    private(set) var leaves: [Leaf] = []
    private(set) var pagesNeeded = 0
    private var room = 0
    private var lastNode = 0
    private let pageRoom: Int

    /// Makes an empty run.
    init(pageBytes: Int) {
        pageRoom = pageBytes - PageWalk.headerBytes
    }

    /// Splits leaves into the runs whose entries can move.
    static func runs(of leaves: [Leaf], pageBytes: Int) -> [LeafRun] {
        var runs: [LeafRun] = []
        var run = LeafRun(pageBytes: pageBytes)
        for leaf in leaves {
            if !leaf.overflow.isEmpty || leaf.nodes.isEmpty {
                runs.append(run)
                run = LeafRun(pageBytes: pageBytes)
            } else {
                run.add(leaf)
            }
        }
        runs.append(run)
        return runs
    }

    mutating func add(_ leaf: Leaf) {
        leaves.append(leaf)
        for node in leaf.nodes {
            if node > room {
                // A split takes the last node of the full page to the new one.
                let moved = lastNode + node <= pageRoom ? lastNode : 0
                pagesNeeded += 1
                room = pageRoom - moved
            }
            room -= node
            lastNode = node
        }
    }

    /// Whether full pages would be a quarter fewer. Less is not worth it: full pages are split by
    /// the next row that grows.
    var isSparse: Bool {
        leaves.count - pagesNeeded >= 2 && pagesNeeded * 4 <= leaves.count * 3
    }

    /// The first entry that moves; nil if none does.
    var firstKey: [UInt8]? { leaves.count > 1 ? leaves[1].firstKey : nil }

    /// The number of entries that move.
    var entries: Int { leaves.dropFirst().reduce(0) { $0 + $1.nodes.count } }
}

/// The leaf pages below one branch page, or a part of them.
struct LeafWindow {
    var leaves: [LeafRun.Leaf] = []
    /// The branch page.
    var parent = 0
    /// Where the leaf behind them begins; nil if they are the last.
    var next: [UInt8]?
}

extension PageWalk {
    /// The leaf pages below the branch page that leads to a key, from that of the key on.
    ///
    /// - Parameters:
    ///   - key: Nil for the first key.
    ///   - pagesMax: The most leaf pages.
    /// - Returns: none if the database has one page at most.
    mutating func leaves(
        from key: [UInt8]?, in tree: MetaPage.Tree, pagesMax: Int
    ) throws(LMDBError) -> LeafWindow {
        guard var number = tree.root, tree.depth >= 2, tree.depth <= DataFile.depthMax else {
            return LeafWindow()
        }
        var window = LeafWindow()
        for level in stride(from: tree.depth, to: 1, by: -1) {
            let children = try children(of: number)
            let start = children.lastIndex { child in
                key.map { !$0.lexicographicallyPrecedes(child.key) } ?? false
            }
            // The first node of a branch page stands for all keys before the second.
            let index = start ?? 0
            let end = level > 2 ? index + 1 : min(children.count, index + pagesMax)
            if end < children.count { window.next = children[end].key }
            guard level == 2 else {
                number = children[index].page
                continue
            }
            window.parent = number
            for child in children[index..<end] { window.leaves.append(try leaf(child.page)) }
        }
        return window
    }

    /// The keys and pages below a branch page; it has at least one.
    private mutating func children(
        of number: Int
    ) throws(LMDBError) -> [(key: [UInt8], page: Int)] {
        let page = try read(page: number, expected: Flag.branch)
        var children: [(key: [UInt8], page: Int)] = []
        for offset in try nodeOffsets(of: page, number: number) {
            children.append(
                (
                    Array(try self.key(at: offset, of: page, number: number)),
                    Self.child(at: offset, of: page)
                ))
        }
        guard !children.isEmpty else { throw file.damaged("Page \(number) has no nodes.") }
        return children
    }

    private mutating func leaf(_ number: Int) throws(LMDBError) -> LeafRun.Leaf {
        let page = try read(page: number, expected: Flag.leaf)
        var firstKey: [UInt8] = []
        var nodes: [Int] = []
        var overflow: [LeafRun.Overflow] = []
        for offset in try nodeOffsets(of: page, number: number) {
            let key = try self.key(at: offset, of: page, number: number)
            if nodes.isEmpty { firstKey = Array(key) }
            if page[offset...].integer(at: 4, as: UInt16.self) & Flag.nodeOverflow != 0 {
                guard key.endIndex + 8 <= page.count else {
                    throw file.damaged("A value of page \(number) leaves the page.")
                }
                let first = page[key.endIndex...].integer(at: 0, as: UInt64.self)
                overflow.append(
                    LeafRun.Overflow(
                        key: Array(key), firstPage: Int(truncatingIfNeeded: first)))
            }
            let value = Int(page[offset...].integer(at: 0, as: UInt32.self))
            // Nodes begin at even places; each also has two bytes in the list of places.
            let bytes = (Self.nodeHeaderBytes + key.count + value + 1) / 2 * 2 + 2
            nodes.append(bytes)
        }
        return LeafRun.Leaf(
            page: number, firstKey: firstKey, nodes: nodes, overflow: overflow)
    }
}
