extension QueryPlan.Access {
    /// The number of entries that the access reads, or `bound` if there are as many or more.
    func entryCount<Source: RowSource & ~Copyable>(
        upTo bound: Int, of entity: EntityNumber, on source: borrowing Source
    ) throws -> Int {
        var count = 0
        func step() -> Bool {
            count += 1
            return count < bound
        }
        switch self {
        case .nothing: return 0
        case .records(let keys): return min(keys.count, bound)
        case .scan(let range, _):
            if range == .all, let known = try source.rowCount(of: entity) {
                return min(known, bound)
            }
            try unsafe source.visitRows(of: entity, within: range, reversed: false) { _, _ in
                step()
            }
        case .index(let attribute, let ranges, _):
            _ = try unsafe KeySource.index(attribute, ranges).visit(of: entity, on: source) { _ in
                step()
            }
        case .referrers(let attribute, let targets):
            _ = try unsafe KeySource.referrers(attribute, targets)
                .visit(of: entity, on: source) { _ in step() }
        case .combined(let keySource):
            _ = try unsafe keySource.visit(of: entity, on: source) { _ in step() }
        }
        return count
    }
}
