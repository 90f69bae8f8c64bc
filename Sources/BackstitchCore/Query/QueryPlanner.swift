/// Chooses where the rows of an answer come from.
///
/// If it can count, it takes the access with the fewest entries, or a scan if that is likely
/// to be faster (`QueryPlanner+Race`). Without, and among accesses that are all large, the choice
/// follows the form of the conditions. In this order: one record or a list of them by key, one
/// value of an index or reference, several values, a range with both ends, a range with one end. A
/// range with one end gives way to the index of the first sort key if a limit ends the reading
/// early, and a scan does if no order is asked for.
struct QueryPlanner {
    struct Choice {
        var access: QueryPlan.Access
        var ordering: QueryPlan.Ordering
        /// The conditions that the access answers, wholly or in part.
        var answered: [Condition] = []
        /// The positions of the conditions that each row is still asked for.
        var rest: [Int]
        /// The entries that the access is known or likely to read; nil if nothing was counted.
        var estimate: Int?
        /// What was looked up for it among related records.
        var lookups: [String] = []
    }

    /// How many rows an access is likely to give, fewest first.
    enum Rank: Int, Comparable {
        case records, value, values, range, halfRange, notNull

        static func < (left: Rank, right: Rank) -> Bool { left.rawValue < right.rawValue }
    }

    struct Candidate {
        var rank: Rank
        var access: QueryPlan.Access
        /// The positions of the conditions that the access answers.
        var positions: [Int]
        /// Those of them that the rows need not be asked for again.
        var exactPositions: Set<Int>
    }

    let entity: EntityBinding
    let conditions: [Condition]
    let steps: [QueryPlan.Step]
    let limit: Int?
    /// Whether the rows of the answer are read, not only counted or found.
    let needsRows: Bool
    let costs: PlanningCosts
    /// The records to which conditions on related records lead, by the conditions' positions.
    var related: [Int: RelatedKeys] = [:]

    init(
        entity: EntityBinding, condition: Condition, steps: [QueryPlan.Step], limit: Int?,
        needsRows: Bool = true, costs: PlanningCosts = PlanningCosts()
    ) {
        self.entity = entity
        self.steps = steps
        self.limit = limit
        self.needsRows = needsRows
        self.costs = costs
        switch condition {
        case .all(let parts): conditions = parts
        case .constant(true): conditions = []
        default: conditions = [condition]
        }
    }

    /// The choice by the form of the conditions.
    func choice() -> Choice {
        impossible ?? choice(among: candidates())
    }

    private func choice(among candidates: [Candidate]) -> Choice {
        guard let best = bestByRank(candidates), !yieldsToOrder(best) else {
            return unrestricted()
        }
        return choice(of: best)
    }

    /// The choice by what the data holds.
    func choice(by count: Counting) throws -> Choice {
        if let choice = impossible { return choice }
        let candidates = candidates()
        guard let first = bestByRank(candidates), isWorthCounting(first, among: candidates) else {
            return choice(among: candidates)
        }
        // If most rows match, they are read in order: a limit is reached soon then.
        guard let (best, found) = try raced(candidates, by: count) else { return unrestricted() }
        if yieldsToOrder(best), !isShort(found) { return unrestricted() }
        let isInOrder = limit != nil && isOfFirstStep(best.access)
        let both =
            isInOrder
            ? nil : try intersected(best, count: found, among: candidates, by: count)
        var choice = choice(of: both ?? best)
        choice.estimate = found
        return choice
    }

    private var impossible: Choice? {
        conditions == [.constant(false)] || limit == 0
            ? Choice(access: .nothing, ordering: .asRead, rest: []) : nil
    }

    /// Whether counting can lead to another choice than the form of the conditions does.
    private func isWorthCounting(_ best: Candidate, among candidates: [Candidate]) -> Bool {
        if best.access == .nothing || best.rank == .records { return false }
        if candidates.count > 1 { return true }
        return best.rank > .value && (readsRows(with: best) || yieldsToOrder(best))
    }

    /// Whether so few entries are read that sorting them costs less than reading in order.
    private func isShort(_ count: Int) -> Bool { count <= costs.firstBound + 8 * (limit ?? 0) }

    private func choice(of candidate: Candidate) -> Choice {
        let rest = conditions.indices.filter { !candidate.exactPositions.contains($0) }
        let access = directed(candidate.access)
        return Choice(
            access: access, ordering: ordering(of: access),
            answered: candidate.positions.map { conditions[$0] }, rest: rest,
            lookups: lookups(for: candidate.positions + rest))
    }

    func bestByRank(_ candidates: [Candidate]) -> Candidate? {
        var best: Candidate?
        for candidate in candidates {
            guard let other = best else {
                best = candidate
                continue
            }
            let isBetter: Bool
            if candidate.rank != other.rank {
                isBetter = candidate.rank < other.rank
            } else if isOfFirstStep(candidate.access) != isOfFirstStep(other.access) {
                isBetter = isOfFirstStep(candidate.access)
            } else {
                isBetter = candidate.exactPositions.count > other.exactPositions.count
            }
            if isBetter { best = candidate }
        }
        return best
    }

    /// Whether reading in order, without the candidate, is likely to end sooner.
    private func yieldsToOrder(_ candidate: Candidate) -> Bool {
        guard candidate.rank >= .halfRange, !isOfFirstStep(candidate.access) else { return false }
        if candidate.rank == .notNull { return true }
        return limit != nil && (steps.isEmpty || firstStepIndex != nil)
    }

    /// The first sort key as an index has it that holds all records in its order; nil if none does.
    private var firstStepIndex: AttributeBinding? {
        guard let attribute = steps.first?.attribute else { return nil }
        if attribute.isIndexed { return attribute }
        let index = entity.indexes.first { $0.parts[0].isSame(as: attribute) }
        return index?.attribute(at: 0, behind: [])
    }

    private func isOfFirstStep(_ access: QueryPlan.Access) -> Bool {
        guard case .index(let attribute, _, _) = access, let first = steps.first else {
            return false
        }
        return first.attribute?.isSame(as: attribute) == true
    }

    /// Every row, in the order of an index where that saves work.
    private func unrestricted() -> Choice {
        var access = QueryPlan.Access.scan(keyBounds, isReversed: false)
        if let first = steps.first {
            if first.attribute != nil {
                if let attribute = firstStepIndex, limit != nil || conditions.isEmpty {
                    access = .index(attribute, [.all], isReversed: first.isReversed)
                }
            } else if first.isKey {
                access = .scan(keyBounds, isReversed: first.isReversed)
            }
        }
        var rest = Array(conditions.indices)
        if case .scan = access { rest = positionsBesideBounds }
        return Choice(
            access: access, ordering: ordering(of: access), rest: rest,
            lookups: lookups(for: rest))
    }

    /// What was looked up for conditions, in words, each once.
    private func lookups(for positions: [Int]) -> [String] {
        Set(positions).sorted().compactMap { related[$0]?.text }
    }

    /// A condition as each row is asked for it: without looking at other rows, if those were found
    /// beforehand.
    func asked(at position: Int) -> Condition {
        related[position]?.membership ?? conditions[position]
    }

    /// The access with an index read in the direction of the first step.
    private func directed(_ access: QueryPlan.Access) -> QueryPlan.Access {
        guard case .index(let attribute, let ranges, _) = access, isOfFirstStep(access) else {
            return access
        }
        return .index(attribute, ranges, isReversed: steps[0].isReversed)
    }

    private func ordering(of access: QueryPlan.Access) -> QueryPlan.Ordering {
        switch access {
        case .nothing: return .asRead
        case .scan(_, let isReversed):
            if steps.isEmpty { return isReversed ? .inMemory : .asRead }
            return steps[0].isKey && steps[0].isReversed == isReversed
                ? .asRead : .inMemory
        case .records, .combined: return steps.isEmpty ? .asRead : .inMemory
        case .referrers(_, let targets):
            let isOrdered = targets.count == 1 && !targets[0].isCutInKeys
            return steps.isEmpty && isOrdered ? .asRead : .inMemory
        case .index(let attribute, let ranges, let isReversed):
            if steps.isEmpty {
                let isOneValue = ranges.count == 1 && ranges[0].isValue && ranges[0].isExact
                return isOneValue && attribute.endsIndex ? .asRead : .inMemory
            }
            guard isOfFirstStep(access) else { return .inMemory }
            let isWhole = steps.count == 1 && !isReversed && !attribute.type.canBeCut
            return isWhole && attribute.endsIndex ? .asRead : .groups
        }
    }
}

extension AttributeBinding {
    /// Whether the record keys follow the attribute's values in its index.
    var endsIndex: Bool { place?.rest.isEmpty ?? true }
}

extension RecordKey {
    /// Whether keys that refer to the record hold only the start of its key.
    var isCutInKeys: Bool { byteCount > OrderedKey.referenceBytesMax }
}

extension KeyRange {
    /// Whether the range is that of one value, or of null.
    var isValue: Bool { !lower.isEmpty && upper == lower.successor && self != .present }
}
