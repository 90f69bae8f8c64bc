extension FileInspector {
    /// Shows the entries of all pages that look like leaves, whatever refers to them.
    ///
    /// Among them are old pages, whose entries were changed or deleted since, and those that were shown
    /// before.
    mutating func scan(_ visit: Visitor) throws {
        guard pageCount > 2 else { return }
        for number in 2..<pageCount {
            let bytes = try page(number)
            guard bytes[...].integer(at: 10, as: UInt16.self) & PageWalk.Flag.leaf != 0 else {
                continue
            }
            let page = TreePage(bytes, number: number, isLeaf: true)
            guard page.isLeaf else { continue }
            for node in page.nodes where node.flags & PageWalk.Flag.nodeTree == 0 {
                guard let value = try value(of: node, on: page) else { continue }
                try page.key(node).withUnsafeBytes { key in
                    try value.withUnsafeBytes { value in
                        try visit(
                            FileEntry(database: nil, place: .loosePage, key: key, value: value))
                    }
                }
            }
        }
    }

    private func value(
        of node: TreePage.Node, on page: TreePage
    ) throws(LMDBError) -> ArraySlice<UInt8>? {
        guard node.flags & PageWalk.Flag.nodeOverflow != 0 else { return page.bytes[node.stored] }
        let first = page.bytes[node.stored].integer(at: 0, as: UInt64.self)
        guard first > 1, first < UInt64(pageCount),
            try overflowPages(at: Int(first), bytes: Int(node.low)) != nil
        else { return nil }
        return try overflowValue(at: Int(first), bytes: Int(node.low))[...]
    }
}
