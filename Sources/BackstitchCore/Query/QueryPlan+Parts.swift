/// Where every row is looked at, several threads do it, each piece after piece. Answers and their order are those of
/// one thread: pieces ascend, and what comes of them is put together in their order.
extension QueryPlan {
    /// The pieces in which rows are looked at; none if one thread does it.
    ///
    /// Whoever notes reads, or needs some of the first matches only, reads in order. Conditions and orders of related
    /// records keep what they found of those in a cache of one thread.
    package func parts<Source: RowSource & ~Copyable>(
        on source: borrowing Source
    ) throws -> [KeyRange] {
        guard case .scan(let bounds, let isReversed) = access, position == nil,
            source.footprint == nil,
            ordering == .inMemory || limit == nil && offset == 0,
            !sortsByOthers, test?.needsContext != true
        else { return [] }
        var parts = try source.rowParts(of: entity.number)
        if bounds != .all {
            parts = parts.map { $0.intersection(bounds) }.filter { !$0.isEmpty }
            // One thread reads one piece, or none, as well.
            if parts.count < 2 { return [] }
        }
        return isReversed ? parts.reversed() : parts
    }

    /// Visits the matches of pieces, several pieces at once and each in the order in which rows are read.
    ///
    /// - Parameter visit: Gets the number of the piece, the stored record key, and the packed fields.
    /// - Returns: Whether it did; if not, nothing was visited.
    package func visit<Source: RowSource & ~Copyable>(
        _ parts: [KeyRange], on source: borrowing Source,
        _ visit: (
            _ part: Int, _ key: UnsafeRawBufferPointer, _ body: UnsafeRawBufferPointer
        ) throws -> Void
    ) throws -> Bool {
        guard !parts.isEmpty else { return false }
        return try source.alongside(count: parts.count) { part, source in
            try unsafe QueryExecutor.matches(self, in: parts[part], on: source, needsBody: true) {
                _, key, body in
                if let body = unsafe body { try unsafe visit(part, key, body) }
                return true
            }
        }
    }

    /// The number of matches.
    func countAlongside<Source: RowSource & ~Copyable>(
        on source: borrowing Source
    ) throws -> Int? {
        guard limit == nil, offset == 0 else { return nil }
        let parts = try parts(on: source)
        guard !parts.isEmpty else { return nil }
        let counts = PieceResults<Int>(count: parts.count)
        let ran = try source.alongside(count: parts.count) { part, source in
            var count = 0
            try unsafe QueryExecutor.matches(self, in: parts[part], on: source, needsBody: false) {
                _, _, _ in
                count += 1
                return true
            }
            counts[part] = count
        }
        return ran ? counts.all.reduce(0, +) : nil
    }

    /// Adds the matches to groups, each piece to its own at first.
    ///
    /// - Returns: Whether it did; if not, nothing was added.
    func addAlongside<Source: RowSource & ~Copyable>(
        on source: borrowing Source, to grouping: inout Grouping
    ) throws -> Bool {
        guard grouping.isDivisible else { return false }
        let parts = try parts(on: source)
        guard !parts.isEmpty else { return false }
        let groupings = PieceResults<Grouping>(count: parts.count)
        // It has no rows yet.
        let empty = grouping
        let ran = try source.alongside(count: parts.count) { part, source in
            var grouping = empty
            var scratch = ByteBuffer()
            try unsafe QueryExecutor.matches(self, in: parts[part], on: source, needsBody: true) {
                _, _, body in
                if let body = unsafe body { try unsafe grouping.add(body, scratch: &scratch) }
                return true
            }
            groupings[part] = grouping
        }
        for later in groupings.all { grouping.add(later) }
        return ran
    }

    /// Sorts the matches, each piece for itself.
    ///
    /// - Returns: nil if one thread has to.
    func sortAlongside<Source: RowSource & ~Copyable>(
        on source: borrowing Source
    ) throws -> [SortBuffer.Sorted]? {
        let parts = try parts(on: source)
        guard !parts.isEmpty else { return nil }
        let sorted = PieceResults<SortBuffer.Sorted>(count: parts.count)
        let ran = try source.alongside(count: parts.count) { part, source in
            var buffer = SortBuffer(countMax: stop)
            try QueryExecutor.collect(self, in: parts[part], nil, on: source, into: &buffer)
            sorted[part] = SortBuffer.Sorted(buffer)
        }
        return ran ? sorted.all : nil
    }
}

/// What came of pieces, each set by one thread.
@safe
private final class PieceResults<Result> {
    private let results: UnsafeMutableBufferPointer<Result?>

    init(count: Int) {
        unsafe results = .allocate(capacity: count)
        unsafe results.initialize(repeating: nil)
    }

    deinit {
        unsafe results.deinitialize()
        unsafe results.deallocate()
    }

    subscript(part: Int) -> Result? {
        get { unsafe results[checked(part)] }
        set { unsafe results[checked(part)] = newValue }
    }

    private func checked(_ part: Int) -> Int {
        unsafe precondition(results.indices.contains(part), "There is no such piece.")
        return part
    }

    var all: [Result] { unsafe results.compactMap { $0 } }
}
