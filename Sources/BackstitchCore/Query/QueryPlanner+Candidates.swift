extension QueryPlanner {
    /// Each access that answers some of the conditions.
    func candidates() -> [Candidate] {
        var result: [Candidate] = []
        var positionsByAttribute: [(attribute: AttributeBinding, positions: [Int])] = []
        for (position, condition) in conditions.enumerated() {
            if let keys = recordKeys(in: condition) {
                result.append(
                    Candidate(
                        rank: .records, access: .records(keys), positions: [position],
                        exactPositions: [position]))
            }
            if let keys = related[position] { result.append(keys.candidate(at: position)) }
            if let candidate = referrers(in: condition, at: position) { result.append(candidate) }
            if let candidate = union(of: condition, at: position) { result.append(candidate) }
            guard let attribute = indexedAttribute(in: condition) else { continue }
            if let known = positionsByAttribute.firstIndex(where: { $0.attribute == attribute }) {
                positionsByAttribute[known].positions.append(position)
            } else {
                positionsByAttribute.append((attribute, [position]))
            }
        }
        for (attribute, positions) in positionsByAttribute {
            result.append(indexed(attribute, positions: positions))
        }
        return result
    }

    /// The alternatives of a condition, each by its own access, if all of them have one.
    private func union(of condition: Condition, at position: Int) -> Candidate? {
        guard case .any(let parts) = condition else { return nil }
        var sources: [KeySource] = []
        var isExact = true
        var rank = Rank.values
        for part in parts {
            let planner = QueryPlanner(entity: entity, condition: part, steps: [], limit: nil)
            guard let best = planner.bestByRank(planner.candidates()), best.rank != .notNull else {
                return nil
            }
            if best.access == .nothing { continue }
            guard let source = best.access.keySource else { return nil }
            sources.append(source)
            rank = max(rank, best.rank)
            if best.exactPositions.count < planner.conditions.count { isExact = false }
        }
        let access: QueryPlan.Access =
            sources.isEmpty ? .nothing : .combined(.union(sources))
        return Candidate(
            rank: rank, access: access, positions: [position],
            exactPositions: isExact ? [position] : [])
    }

    /// The keys of the only records for which a condition on the record key can hold.
    private func recordKeys(in condition: Condition) -> [RecordKey]? {
        guard let (operand, values) = condition.alternatives, operand == .recordKey else {
            return nil
        }
        return Self.keys(in: values)
    }

    private static func keys(in values: [RecordValue]) -> [RecordKey] {
        Set(values.compactMap { if case .reference(let key) = $0 { key } else { nil } }).sorted()
    }

    private func referrers(in condition: Condition, at position: Int) -> Candidate? {
        guard let (operand, values) = condition.alternatives,
            case .attribute(let name) = operand, !values.contains(.null),
            let attribute = try? entity.attribute(named: name), attribute.hasInverse
        else { return nil }
        let targets = Self.keys(in: values)
        let isExact = !targets.contains(where: \.isCutInKeys)
        return Candidate(
            rank: targets.count > 1 ? .values : .value, access: .referrers(attribute, targets),
            positions: [position], exactPositions: isExact ? [position] : [])
    }

    /// The indexed attribute that a condition is about, if it is a range of the index.
    private func indexedAttribute(in condition: Condition) -> AttributeBinding? {
        let operand: Operand
        switch condition {
        case .comparison(let left, _, .constant): operand = left
        case .isNull(let inner), .not(.isNull(let inner)), .membership(let inner, _):
            operand = inner
        case .prefix(let text, .constant(.string)): operand = text
        default: return nil
        }
        guard case .attribute(let name) = operand,
            let attribute = try? entity.attribute(named: name), attribute.isIndexed,
            ranges(for: condition, of: attribute) != nil
        else { return nil }
        return attribute
    }

    /// The ranges of an index outside of which a condition can't hold; they are disjoint.
    private func ranges(for condition: Condition, of attribute: AttributeBinding) -> [KeyRange]? {
        switch condition {
        case .comparison(_, let comparison, .constant(let value)):
            KeyRange(comparison, value, type: attribute.type).map { [$0] }
        case .isNull: [.null]
        case .not(.isNull): [.present]
        case .prefix(_, .constant(.string(let prefix))): [KeyRange(prefix: prefix)]
        case .membership(_, let values):
            Set(values.compactMap { KeyRange(.equal, $0, type: attribute.type) })
                .sorted { $0.lower.lexicographicallyPrecedes($1.lower) }
        default: nil
        }
    }

    private func indexed(_ attribute: AttributeBinding, positions: [Int]) -> Candidate {
        var common: [KeyRange] = [.all]
        var exact: Set<Int> = []
        for position in positions {
            guard let ranges = ranges(for: conditions[position], of: attribute) else { continue }
            common = common.flatMap { one in ranges.map { one.intersection($0) } }
                .filter { !$0.isEmpty }
            if ranges.allSatisfy(\.isExact) { exact.insert(position) }
        }
        common.sort { $0.lower.lexicographicallyPrecedes($1.lower) }
        let access: QueryPlan.Access =
            common.isEmpty ? .nothing : .index(attribute, common, isReversed: false)
        return Candidate(
            rank: rank(of: common), access: access, positions: positions, exactPositions: exact)
    }

    private func rank(of ranges: [KeyRange]) -> Rank {
        if ranges.isEmpty { return .records }
        if ranges.allSatisfy({ $0.isValue && $0.isExact }) {
            return ranges.count == 1 ? .value : .values
        }
        if ranges == [.present] { return .notNull }
        let isBounded = ranges.allSatisfy {
            $0.lower != KeyRange.present.lower && $0.upper != KeyRange.present.upper
        }
        return isBounded ? .range : .halfRange
    }
}
