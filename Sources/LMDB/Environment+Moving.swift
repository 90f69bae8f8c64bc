extension Environment {
    /// The bytes of values that one step of moving puts again at most, but for the last one.
    private static let bytesPerMove = 4 << 20

    /// Moves pages of a database that lie at the end of the file, on the ``writer`` thread only.
    ///
    /// An entry is put again with its value, so that LMDB copies its page, and those above it, to
    /// free ones. What is stored stays the same.
    ///
    /// - Parameters:
    ///   - key: Where to begin; nil for the first entry.
    ///   - target: Pages from this number on are moved.
    /// - Throws: As ``write(_:)``; `damaged` if a page is.
    package func movePages(
        of database: Database, from key: [UInt8]? = nil, behind target: Int
    ) throws -> PagePacking {
        var moving = PagePacking()
        do {
            try writeDirectly { transaction in
                transaction.mayTakeReserve()
                let window = try core.leaves(
                    of: database, from: key, pagesMax: Self.pagesPerPacking)
                moving = PagePacking(next: window.next)
                let access = transaction.access
                var bytes = 0
                for (index, leaf) in window.leaves.enumerated() {
                    if bytes > Self.bytesPerMove {
                        moving.next = leaf.firstKey
                        break
                    }
                    var keys = leaf.overflow.filter { $0.firstPage >= target }.map(\.key)
                    let isBelowMoved = index == 0 && window.parent >= target
                    if keys.isEmpty, leaf.page >= target || isBelowMoved {
                        keys = [leaf.firstKey]
                    }
                    for key in keys { bytes += try access.putAgain(key, in: database) }
                    moving.pages += keys.count
                }
                if moving.pages == 0 { throw NothingToCommit() }
            }
        } catch is NothingToCommit {}
        return moving
    }
}

extension Access {
    /// Puts an entry with the value that it has.
    ///
    /// - Returns: The size of the value.
    func putAgain(_ key: [UInt8], in database: Database) throws -> Int {
        try key.withUnsafeBytes { key in
            guard let value = try get(key, in: database).map({ Array($0) }) else { return 0 }
            try value.withUnsafeBytes { try put(key, $0, in: database) }
            return value.count
        }
    }
}
