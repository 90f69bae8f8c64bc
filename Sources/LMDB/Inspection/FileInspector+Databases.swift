extension FileInspector {
    /// The flag of the tree of free pages: its keys are numbers.
    private static let numberKeys: UInt16 = 8

    /// Looks at the list of free pages.
    mutating func inspectFreePages(of meta: MetaPage) throws {
        var lists: [(Int, TreePage)] = []
        var walk = Walk(part: .freePages, hasNumberKeys: true) { lists.append(($0.number, $0)) }
        try inspect(meta.freeRoot, &walk, flags: Self.numberKeys) { _ in }
        for (_, page) in lists {
            for node in page.nodes { try claimFree(page, node) }
        }
    }

    /// Claims the pages of one list: how many there are, then their numbers, 8 bytes each.
    private mutating func claimFree(_ page: TreePage, _ node: TreePage.Node) throws {
        var list = page.bytes[node.stored]
        if node.flags & PageWalk.Flag.nodeOverflow != 0 {
            let first = Int(truncatingIfNeeded: list.integer(at: 0, as: UInt64.self))
            guard first > 1, first < pageCount,
                try overflowPages(at: first, bytes: Int(node.low)) != nil
            else { return }
            list = try overflowValue(at: first, bytes: Int(node.low))[...]
        }
        let count = list.count >= 8 ? list.integer(at: 0, as: UInt64.self) : .max
        guard count <= UInt64(max(0, list.count / 8 - 1)) else {
            result.note(.freePages, "Page \(page.number) has a list that is longer than its entry.")
            return
        }
        for index in 1..<Int(count) + 1 {
            let number = list.integer(at: index * 8, as: UInt64.self)
            _ = claim(Int(truncatingIfNeeded: number), .freePages, reads: false)
        }
    }

    /// Looks at all databases.
    mutating func inspectDatabases(of meta: MetaPage, _ visit: Visitor) throws {
        var leaves: [TreePage] = []
        var walk = Walk(part: .databases) { leaves.append($0) }
        try inspect(meta.mainRoot, &walk) { _ in }
        var found: Set<String> = []
        var members = 0
        for page in leaves {
            for node in page.nodes {
                if page.isJournalState(node) { continue }
                let name = String(decoding: page.key(node), as: UTF8.self)
                guard node.flags & PageWalk.Flag.nodeTree != 0,
                    node.stored.count == MetaPage.Tree.byteCount
                else {
                    result.note(.databases, "Page \(page.number) has a database without a root.")
                    continue
                }
                let root = TreeRoot(page.bytes[node.stored])
                var walk = Walk(part: .database(name), database: number(ofDatabase: name))
                if let number = walk.database {
                    if number > Database.memberNumberBase { members += 1 }
                    found.insert(name)
                    result.entries[name] = root.counts.entries
                }
                try inspect(root, &walk, visit)
            }
        }
        for name in names where !found.contains(name) {
            result.note(.database(name), "It is not in the list of databases.")
        }
        // They are made in the order of their numbers.
        for member in stride(from: 1, through: members, by: 1) {
            guard let name = self.name(ofMember: member), !found.contains(name) else { continue }
            result.note(.database(name), "It is not in the list of databases, and later ones are.")
        }
    }
}

extension TreePage {
    /// Whether an entry of the list of databases says which state the data file has.
    func isJournalState(_ node: Node) -> Bool {
        node.flags == 0 && node.stored.count == JournalState.byteCount
            && key(node).elementsEqual(JournalState.name.utf8)
    }
}
