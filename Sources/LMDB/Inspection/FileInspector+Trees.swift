extension FileInspector {
    /// What is to be known while a tree is walked.
    struct Walk {
        let part: FileInspection.Part
        /// The database of the entries that are shown; nil if none are.
        var database: Int?
        /// Whether keys are numbers of 8 bytes in the machine's order.
        var hasNumberKeys = false
        var counts = TreeCounts()
        /// Gets each leaf with its page's state; shows no entries then.
        var leaf: ((TreePage) -> Void)?
    }

    /// The bounds of the keys below a page: from the first on, before the second.
    struct Bounds {
        var lower: [UInt8]?
        var upper: [UInt8]?
    }

    /// Walks a tree and compares what it says of itself with what it has.
    mutating func inspect(
        _ tree: TreeRoot, _ walk: inout Walk, flags: UInt16 = 0, _ visit: Visitor
    ) throws {
        if tree.flags != flags { result.note(walk.part, "Its root has unknown flags.") }
        guard let root = tree.root else {
            if tree.counts != TreeCounts() || tree.depth != 0 {
                result.note(walk.part, "It has no root page, but entries.")
            }
            return
        }
        if tree.depth < 1 || tree.depth > DataFile.depthMax {
            result.note(walk.part, "Its root says that it has \(tree.depth) levels.")
        }
        let level = min(max(tree.depth, 1), DataFile.depthMax)
        try inspect(page: root, level: level, Bounds(), &walk, visit)
        if tree.counts != walk.counts {
            result.note(walk.part, "Its root says that it has other pages or entries.")
        }
    }

    /// - Parameter level: How far the page is above the leaves, which have 1.
    private mutating func inspect(
        page number: Int, level: Int, _ bounds: Bounds, _ walk: inout Walk, _ visit: Visitor
    ) throws {
        guard claim(number, walk.part) else { return }
        let page = TreePage(try page(number), number: number, isLeaf: level <= 1)
        let problem = page.problem ?? problem(of: page, within: bounds, walk)
        if let problem { result.note(walk.part, "Page \(number) \(problem).") }
        if page.isLeaf {
            walk.counts.leafPages += 1
            walk.counts.entries += page.nodes.count
            try inspect(leaf: page, isGood: problem == nil, &walk, visit)
            return
        }
        walk.counts.branchPages += 1
        // A tree that is deeper than its root says ends here at the latest.
        guard level > 1 - DataFile.depthMax else { return }
        for (index, node) in page.nodes.enumerated() {
            var below = bounds
            if index > 0 { below.lower = Array(page.key(node)) }
            if index + 1 < page.nodes.count {
                below.upper = Array(page.key(page.nodes[index + 1]))
            }
            try inspect(page: node.child, level: level - 1, below, &walk, visit)
        }
    }

    /// What is wrong with the keys of a page; nil if nothing is.
    private func problem(
        of page: TreePage, within bounds: Bounds, _ walk: Walk
    ) -> String? {
        if page.nodes.isEmpty { return "has no entries" }
        var last = bounds.lower.map { $0[...] }
        var isFirst = true
        for node in page.nodes {
            let key = page.key(node)
            // The first node of a branch page stands for all keys before the second.
            if isFirst, !page.isLeaf {
                isFirst = false
                continue
            }
            guard (1...511).contains(key.count) else { return "has a key of \(key.count) bytes" }
            if walk.hasNumberKeys, key.count != 8 { return "has a key that is no number" }
            if let last {
                let isInOrder =
                    isFirst
                    ? !isBefore(key, last, walk) : isBefore(last, key, walk)
                guard isInOrder else { return "has keys out of order" }
            }
            isFirst = false
            last = key
        }
        if let upper = bounds.upper, let last, !isBefore(last, upper[...], walk) {
            return "has keys of the page behind it"
        }
        return nil
    }

    private func isBefore(
        _ left: ArraySlice<UInt8>, _ right: ArraySlice<UInt8>, _ walk: Walk
    ) -> Bool {
        guard walk.hasNumberKeys, left.count == 8, right.count == 8 else {
            return left.lexicographicallyPrecedes(right)
        }
        return left.integer(at: 0, as: UInt64.self) < right.integer(at: 0, as: UInt64.self)
    }
}
