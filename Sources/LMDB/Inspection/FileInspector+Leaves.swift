extension FileInspector {
    /// Shows the entries of a leaf, or hands it on.
    mutating func inspect(
        leaf page: TreePage, isGood: Bool, _ walk: inout Walk, _ visit: Visitor
    ) throws {
        for node in page.nodes {
            let isTree = node.flags & PageWalk.Flag.nodeTree != 0
            if node.flags & ~(PageWalk.Flag.nodeOverflow | PageWalk.Flag.nodeTree) != 0
                || isTree != (walk.part == .databases && !page.isJournalState(node))
            {
                result.note(walk.part, "Page \(page.number) has an entry of an unknown kind.")
            }
            guard node.flags & PageWalk.Flag.nodeOverflow != 0 else {
                try show(page, node, page.bytes[node.stored], isGood: isGood, walk, visit)
                continue
            }
            let first = Int(
                truncatingIfNeeded: page.bytes[node.stored].integer(at: 0, as: UInt64.self))
            guard claim(first, walk.part) else { continue }
            let count = try overflowPages(at: first, bytes: Int(node.low))
            guard let count else {
                result.note(walk.part, "The value on page \(first) is not what refers to it.")
                continue
            }
            var isWhole = true
            for number in first + 1..<first + count {
                if !claim(number, walk.part) { isWhole = false }
            }
            walk.counts.overflowPages += count
            guard isWhole else { continue }
            let value = try overflowValue(at: first, bytes: Int(node.low))
            try show(page, node, value[...], isGood: isGood, walk, visit)
        }
        walk.leaf?(page)
    }

    private func show(
        _ page: TreePage, _ node: TreePage.Node, _ value: ArraySlice<UInt8>, isGood: Bool,
        _ walk: Walk, _ visit: Visitor
    ) throws {
        guard let database = walk.database, !page.isMisplaced else { return }
        try page.key(node).withUnsafeBytes { key in
            try value.withUnsafeBytes { value in
                try visit(
                    FileEntry(
                        database: database, place: isGood ? .tree : .damagedPage, key: key,
                        value: value))
            }
        }
    }

    /// The pages that a large value takes; nil if the first is none of a value of that size.
    func overflowPages(at first: Int, bytes: Int) throws(LMDBError) -> Int? {
        let head = try file.read(
            at: first * pageBytes, count: PageWalk.headerBytes, .truncated)
        let count = Int(head[...].integer(at: 12, as: UInt32.self))
        let needed = (PageWalk.headerBytes - 1 + bytes) / pageBytes + 1
        guard head[...].integer(at: 0, as: UInt64.self) == UInt64(first),
            head[...].integer(at: 10, as: UInt16.self) == PageWalk.Flag.overflow,
            count >= needed, count <= pageCount - first
        else { return nil }
        return count
    }

    func overflowValue(at first: Int, bytes: Int) throws(LMDBError) -> [UInt8] {
        try file.read(
            at: first * pageBytes + PageWalk.headerBytes, count: bytes, .truncated)
    }
}
