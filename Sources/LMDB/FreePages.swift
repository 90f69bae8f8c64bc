/// A set of page numbers, and the runs in it.
struct FreePages {
    private(set) var count = 0
    /// A bit for every page.
    private var words: [UInt64]

    /// Makes an empty set of numbers below `pageCount`.
    init(pageCount: Int) {
        words = [UInt64](repeating: 0, count: (pageCount + 63) / 64)
    }

    /// Adds a page; one that doesn't exist is left out.
    mutating func insert(_ page: Int) {
        guard page >= 0, page / 64 < words.count else { return }
        let bit: UInt64 = 1 << UInt64(page % 64)
        guard words[page / 64] & bit == 0 else { return }
        words[page / 64] |= bit
        count += 1
    }

    /// The runs of neighbouring pages, in ascending order.
    ///
    /// - Parameters:
    ///   - reserve: So many of the lowest pages are left out.
    ///   - minimum: Shorter runs are left out.
    func runs(sparing reserve: Int, minimum: Int) -> [Range<Int>] {
        var runs: [Range<Int>] = []
        var spared = 0
        var start: Int?
        func end(at page: Int) {
            if let first = start, page - first >= minimum { runs.append(first..<page) }
            start = nil
        }
        for (index, word) in words.enumerated() {
            if word == 0 || (word == .max && start != nil) {
                if word == 0 { end(at: index * 64) }
                continue
            }
            for bit in 0..<64 {
                let page = index * 64 + bit
                guard word & (1 << UInt64(bit)) != 0 else {
                    end(at: page)
                    continue
                }
                if spared < reserve {
                    spared += 1
                } else if start == nil {
                    start = page
                }
            }
        }
        end(at: words.count * 64)
        return runs
    }
}
