/// Choosing by counting: candidates are counted side by side up to a bound that grows until one of
/// them ends below it. What that costs is a small part of what reading that one costs.
extension QueryPlanner {
    /// Counts the entries of an access; gives the bound if there are as many or more.
    typealias Counting = (_ access: QueryPlan.Access, _ bound: Int) throws -> Int

    /// The best candidate by count, with that count; nil if a scan is likely to be faster.
    func raced(
        _ candidates: [Candidate], by count: Counting
    ) throws -> (best: Candidate, count: Int)? {
        // One that is alone is better than a scan below this, however many entries it has.
        var bound =
            candidates.count == 1 && readsRows(with: candidates[0])
            ? max(costs.firstBound, costs.scanBound) : costs.firstBound
        let scan = QueryPlan.Access.scan(keyBounds, isReversed: false)
        while bound <= costs.lastBound {
            var best: (best: Candidate, count: Int)?
            for candidate in candidates {
                let found = try count(candidate.access, best?.count ?? bound)
                if found < best?.count ?? bound { best = (candidate, found) }
            }
            if let best {
                let isCheap = best.count < costs.scanBound || !readsRows(with: best.best)
                let scanned = best.count * costs.rowCostInScannedRows
                if isCheap { return best }
                return try count(scan, scanned) < scanned ? nil : best
            }
            if candidates.contains(where: { !readsRows(with: $0) }) { break }
            let scanned = bound * costs.rowCostInScannedRows
            if bound >= costs.scanBound, try count(scan, scanned) < scanned {
                return nil
            }
            bound *= 4
        }
        return bestByRank(candidates).map { ($0, bound) }
    }

    /// Whether a row is read for each entry of a candidate.
    func readsRows(with candidate: Candidate) -> Bool {
        needsRows || candidate.exactPositions.count < conditions.count
    }

    /// The candidate together with another one whose entries are few enough that going through
    /// them costs less than the rows that they save.
    func intersected(
        _ best: Candidate, count: Int, among candidates: [Candidate], by counting: Counting
    ) throws -> Candidate? {
        guard count >= costs.intersectionCountMin, readsRows(with: best),
            let first = best.access.keySource
        else { return nil }
        let others = candidates.filter { $0.positions != best.positions }
        var second: (candidate: Candidate, source: KeySource, count: Int)?
        for other in others {
            guard let source = other.access.keySource else { continue }
            let bound = second?.count ?? 2 * count
            let found = try counting(other.access, bound)
            if found < bound { second = (other, source, found) }
        }
        guard let second else { return nil }
        return Candidate(
            rank: best.rank, access: .combined(.intersection([first, second.source])),
            positions: best.positions + second.candidate.positions,
            exactPositions: best.exactPositions.union(second.candidate.exactPositions))
    }
}

extension QueryPlan.Access {
    /// The same as a source of keys; nil if it has no keys.
    var keySource: KeySource? {
        switch self {
        case .nothing, .scan: nil
        case .records(let keys): .records(keys)
        case .index(let attribute, let ranges, _): .index(attribute, ranges)
        case .referrers(let attribute, let targets): .referrers(attribute, targets)
        case .combined(let source): source
        }
    }
}
