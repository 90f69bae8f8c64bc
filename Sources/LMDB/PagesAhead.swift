import Glibc

/// Tells the system which leaf pages a walk comes to next, so that it reads them while the walk works, and
/// several at once.
///
/// Each time it tells twice as many as before: most walks are short.
struct PagesAhead {
    private static let countMax = 64

    private let map: UnsafeRawPointer
    private let pageBytes: Int
    private let pageCount: UInt64
    /// The branch page whose children were told, and the first of them that was not.
    private var told: (page: UnsafeRawPointer, end: Int)?
    private var count = 2

    init(_ map: UnsafeRawPointer, _ pageBytes: Int, _ pageCount: UInt64) {
        (self.map, self.pageBytes, self.pageCount) = (map, pageBytes, pageCount)
    }

    /// Tells children of the branch page above the leaves, from the one on that the walk comes to next.
    ///
    /// - Parameter end: Where the walk ends; `nil` if it goes on to the last entry.
    mutating func tell(_ page: MappedPage, _ next: Int, before end: SearchKey?) {
        var first = next
        if let told, told.page == page.start {
            guard told.end - next < count / 4 else { return }
            first = max(first, told.end)
        }
        let last = min(page.nodeCount, next + count)
        count = min(count * 2, Self.countMax)
        var run: Range<UInt64>?
        for index in first..<max(first, last) {
            guard let node = page.node(index), let key = node.keyBytes else { break }
            if let end, end.order(key) <= 0 { break }
            let child = node.child
            guard child > 1, child < pageCount else { break }
            if let pages = run, pages.upperBound == child {
                run = pages.lowerBound..<child + 1
            } else {
                need(run)
                run = child..<child + 1
            }
        }
        need(run)
        told = (page.start, last)
    }

    private func need(_ pages: Range<UInt64>?) {
        guard let pages else { return }
        Self.need(map + Int(pages.lowerBound) * pageBytes, pages.count * pageBytes)
    }

    /// Tells the system that pages in the map are needed soon.
    static func need(_ start: UnsafeRawPointer, _ byteCount: Int) {
        madvise(UnsafeMutableRawPointer(mutating: start), byteCount, MADV_WILLNEED)
    }
}
