import CLMDB

/// A database in a snapshot.
///
/// What does not look as expected is left to LMDB, which then tells what is wrong.
struct SnapshotTree {
    let map: UnsafeRawPointer
    let pageBytes: Int
    let pageCount: UInt64
    let root: UInt64
    let depth: Int
    /// Whether the system has to be told which pages come next, because it reads none by itself.
    let isTold: Bool

    private func page(_ number: UInt64, _ flags: UInt16) -> MappedPage? {
        guard number > 1, number < pageCount else { return nil }
        let page = MappedPage(map + Int(number) * pageBytes, pageBytes)
        return page.flags == flags ? page : nil
    }

    // MARK: Looking up

    /// What a key has.
    enum Found {
        case value(UnsafeRawBufferPointer)
        case nothing
        /// LMDB has to be asked.
        case unknown
    }

    func find(_ key: UnsafeRawBufferPointer) -> Found {
        let key = SearchKey(key)
        guard let number = leaf(of: key), let page = page(number, PageWalk.Flag.leaf) else {
            return .unknown
        }
        page.prefetchNodes()
        guard let place = page.place(of: key, from: 0) else { return .unknown }
        guard place.isFound else { return .nothing }
        guard let node = page.node(place.before), let value = value(of: node) else {
            return .unknown
        }
        value.prefetched(Self.valueBytes)
        return .value(value)
    }

    /// The number of the leaf page that a key belongs to.
    @inline(__always)
    private func leaf(of key: SearchKey) -> UInt64? {
        var number = root
        for _ in 1..<depth {
            guard let page = page(number, PageWalk.Flag.branch),
                let index = page.child(of: key), let node = page.node(index)
            else { return nil }
            number = node.child
        }
        return number
    }

    /// The value that a node of a leaf page has.
    ///
    /// - Returns: `nil` if the node has another kind of content, or if the value does not fit on its pages.
    @inline(__always)
    private func value(of node: MappedNode) -> UnsafeRawBufferPointer? {
        if node.flags == 0 { return node.value(node.valueByteCount) }
        guard node.flags == PageWalk.Flag.nodeOverflow, let stored = node.value(8) else {
            return nil
        }
        let first = UInt64(littleEndian: stored.loadUnaligned(as: UInt64.self))
        let count = node.valueByteCount
        let pages = (PageWalk.headerBytes - 1 + count) / pageBytes + 1
        guard let page = page(first, PageWalk.Flag.overflow), first + UInt64(pages) <= pageCount
        else { return nil }
        return UnsafeRawBufferPointer(start: page.start + PageWalk.headerBytes, count: count)
    }

    // MARK: Walking

    typealias Ahead = (_ count: Int, _ key: (Int) -> UnsafeRawBufferPointer) -> Void
    /// How many keys are told at a time.
    static let aheadCount = 16

    typealias Visit = (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool

    /// Visits the entries from a key up to but without another, until the closure returns false.
    ///
    /// - Parameters:
    ///   - first: Empty for the first entry.
    ///   - end: `nil` for all behind it.
    ///   - ahead: Gets the keys that are visited next, up to 16 at a time: how many there are, and a function
    ///     that returns each by its place. Pass `nil` to visit only.
    ///   - failed: The error for a page that does not look as expected.
    /// - Returns: Whether the closure wants to go on.
    func visit(
        from first: UnsafeRawBufferPointer, to end: UnsafeRawBufferPointer?,
        ahead: Ahead?, failed: () -> LMDBError, _ visit: Visit
    ) throws -> Bool {
        let (first, end) = (SearchKey(first), end.map { SearchKey($0) })
        var branches: [(page: MappedPage, next: Int)] = []
        branches.reserveCapacity(depth)
        var number = root
        for _ in 1..<depth {
            guard let page = page(number, PageWalk.Flag.branch),
                let index = page.child(of: first), let node = page.node(index)
            else { throw failed() }
            branches.append((page, index + 1))
            number = node.child
        }
        guard var leaf = page(number, PageWalk.Flag.leaf),
            var index = leaf.place(of: first, from: 0, fetches: true)?.before
        else { throw failed() }
        var pages = isTold ? PagesAhead(map, pageBytes, pageCount) : nil
        // Of the first page some entries, for most walks are short; of another all that the one before
        // left time for.
        var isFirst = true
        leaf.prefetchEntries(index..<index + Self.distance)
        while true {
            guard leaf.flags == PageWalk.Flag.leaf else { throw failed() }
            var last = leaf.nodeCount
            var isEnd = false
            if let end, last > index {
                guard let key = leaf.node(last - 1)?.keyBytes else { throw failed() }
                if end.order(key) <= 0 {
                    guard let place = leaf.place(of: end, from: index) else { throw failed() }
                    (last, isEnd) = (place.before, true)
                }
            }
            if !isEnd, let (page, next) = branches.last { pages?.tell(page, next, before: end) }
            let next = isEnd ? nil : try nextLeaf(&branches, failed)
            next?.prefetchHead()
            for at in index..<last {
                guard let node = leaf.node(at), let key = node.keyBytes,
                    let value = value(of: node)
                else { throw failed() }
                if isFirst { leaf.prefetchEntry(at + Self.distance) }
                // Until now the beginning of the page was on its way.
                if let next, at >= index + 2 { next.prefetchEntry(at - index - 2) }
                if let ahead, (at - index) % Self.aheadCount == 0, last - at > 1 {
                    let noBytes = UnsafeRawBufferPointer(start: nil, count: 0)
                    ahead(min(Self.aheadCount, last - at)) {
                        leaf.node(at + $0)?.keyBytes ?? noBytes
                    }
                }
                guard try visit(key, value) else { return false }
            }
            guard let next else { return true }
            next.prefetchEntries(min(max(0, last - index - 2), next.nodeCount)..<next.nodeCount)
            (leaf, index, isFirst) = (next, 0, false)
        }
    }

    /// How many entries before it is visited an entry of the first page is fetched.
    private static let distance = 8

    /// The leaf page behind the one that the branch pages lead to; `nil` behind the last one.
    private func nextLeaf(
        _ branches: inout [(page: MappedPage, next: Int)], _ failed: () -> LMDBError
    ) throws -> MappedPage? {
        while let (page, next) = branches.last {
            guard next < page.nodeCount else {
                branches.removeLast()
                continue
            }
            branches[branches.count - 1].next += 1
            guard var child = page.node(next)?.child else { throw failed() }
            while branches.count < depth - 1 {
                guard let page = self.page(child, PageWalk.Flag.branch),
                    let first = page.node(0)
                else { throw failed() }
                branches.append((page, 1))
                child = first.child
            }
            guard child > 1, child < pageCount else { throw failed() }
            // Its flags are looked at once it is there.
            return MappedPage(map + Int(child) * pageBytes, pageBytes)
        }
        return nil
    }

    /// Looks up several keys, and has the processor fetch the values.
    ///
    /// Each step of all look-ups comes before the next of any, so that they wait together.
    ///
    /// - Parameter found: Gets key and value of each entry that is there, in the order of the keys.
    func find(
        _ count: Int, _ key: (Int) -> UnsafeRawBufferPointer,
        found: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Void
    ) {
        withUnsafeTemporaryAllocation(of: (key: SearchKey, leaf: MappedPage)?.self, capacity: count)
        {
            for index in 0..<count {
                let key = SearchKey(key(index))
                let number = leaf(of: key).flatMap { $0 > 1 && $0 < pageCount ? $0 : nil }
                let leaf = number.map { MappedPage(map + Int($0) * pageBytes, pageBytes) }
                leaf?.prefetchHead()
                $0.initializeElement(at: index, to: leaf.map { (key, $0) })
            }
            if isTold {
                for case let (_, leaf)? in $0 { PagesAhead.need(leaf.start, pageBytes) }
            }
            for search in $0 { search?.leaf.prefetchNodes() }
            for case let (key, leaf)? in $0 where leaf.flags == PageWalk.Flag.leaf {
                guard let place = leaf.place(of: key, from: 0), place.isFound,
                    let node = leaf.node(place.before), let bytes = node.keyBytes,
                    let value = value(of: node)
                else { continue }
                value.prefetched(Self.valueBytes)
                found(bytes, value)
            }
        }
    }

    /// What of a value is looked at first.
    private static let valueBytes = 384
}
