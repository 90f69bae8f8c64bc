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
        for index in entity.indexes { compound(index).map { result.append($0) } }
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
        attribute(in: condition).flatMap { $0.isIndexed ? $0 : nil }
    }

    /// The attribute that a condition is about, if it is a range of an index that has it.
    private func attribute(in condition: Condition) -> AttributeBinding? {
        let operand: Operand
        switch condition {
        case .comparison(let left, _, .constant): operand = left
        case .isNull(let inner), .not(.isNull(let inner)), .membership(let inner, _):
            operand = inner
        case .prefix(let text, .constant(.string)): operand = text
        default: return nil
        }
        guard case .attribute(let name) = operand,
            let attribute = try? entity.attribute(named: name),
            ranges(for: condition, of: attribute) != nil
        else { return nil }
        return attribute
    }

    /// The read of an index over several attributes: after the attributes that have to have one value, that of
    /// the next one. Nil if no condition is about the first attribute.
    private func compound(_ index: IndexBinding) -> Candidate? {
        var positions: [Int] = []
        var exact: Set<Int> = []
        var prefix: [UInt8] = []
        for (at, part) in index.parts.enumerated() {
            let own = conditions.indices.filter { position in
                attribute(in: conditions[position])?.isSame(as: part) == true
            }
            let candidate = indexed(
                index.attribute(at: at, behind: prefix), positions: own)
            if own.isEmpty, at == 0 { return nil }
            positions += own
            exact.formUnion(candidate.exactPositions)
            guard case .index(_, let ranges, _) = candidate.access else {
                return Candidate(
                    rank: .records, access: .nothing, positions: positions,
                    exactPositions: exact)
            }
            let isValue = ranges.count == 1 && ranges[0].isValue
            if isValue, at + 1 < index.parts.count, goesOn(index.parts[at + 1]) {
                prefix += ranges[0].lower
                continue
            }
            let rank =
                prefix.isEmpty
                ? candidate.rank : min(candidate.rank, ranges.count > 1 ? Rank.values : .value)
            return Candidate(
                rank: rank, access: candidate.access, positions: positions,
                exactPositions: exact)
        }
        return nil
    }

    /// Whether a condition or the first sort key is about an attribute of an index.
    private func goesOn(_ part: AttributeBinding) -> Bool {
        steps.first?.attribute?.isSame(as: part) == true
            || conditions.contains { attribute(in: $0)?.isSame(as: part) == true }
    }

    /// The ranges of an index outside of which a condition can't hold; they are disjoint.
    private func ranges(for condition: Condition, of attribute: AttributeBinding) -> [KeyRange]? {
        let limit = attribute.place?.textBytesMax ?? OrderedKey.textBytesMax
        switch condition {
        case .comparison(_, let comparison, .constant(let value)):
            return KeyRange(comparison, value, type: attribute.type, textBytesMax: limit)
                .map { [$0] }
        case .isNull: return [.null]
        case .not(.isNull): return [.present]
        case .prefix(_, .constant(.string(let prefix))):
            return [KeyRange(prefix: prefix, textBytesMax: limit)]
        case .membership(_, let values):
            let ranges = values.compactMap {
                KeyRange(.equal, $0, type: attribute.type, textBytesMax: limit)
            }
            return Set(ranges).sorted { $0.lower.lexicographicallyPrecedes($1.lower) }
        default: return nil
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
