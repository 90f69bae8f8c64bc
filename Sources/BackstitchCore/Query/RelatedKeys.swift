/// The records to which a condition on related records leads, if they are few and quickly found.
struct RelatedKeys {
    private let access: QueryPlan.Access
    private let isExact: Bool
    private let rank: QueryPlanner.Rank
    /// That a record is one of those that the condition can hold for.
    let condition: Condition
    /// The same, if it means what the condition does and is told by the record itself.
    let membership: Condition?
    /// How they were found, in words.
    let text: String

    /// The access to the records, for a planner.
    func candidate(at position: Int) -> QueryPlanner.Candidate {
        QueryPlanner.Candidate(
            rank: rank, access: access, positions: [position],
            exactPositions: isExact ? [position] : [])
    }

    /// What the conditions of a planner lead to, by their positions.
    ///
    /// - Throws: ``QueryError`` for names and values that don't fit, or what the source threw.
    static func found<Source: RowSource & ~Copyable>(
        by planner: QueryPlanner, in entity: EntityBinding, costs: PlanningCosts,
        on source: borrowing Source
    ) throws -> [Int: RelatedKeys] {
        var found: [Int: RelatedKeys] = [:]
        for (position, condition) in planner.conditions.enumerated() {
            if let (name, inner) = condition.throughReference {
                let attribute = try entity.attribute(named: name)
                guard attribute.hasInverse else { continue }
                found[position] = try targets(
                    of: attribute, fulfilling: inner, in: entity.target(of: name), costs, source)
            } else if case .referrers(let relation, let inner, let comparison, let number) =
                condition, comparison.holdsOnlyForSome(number)
            {
                let isOne = comparison.isAnyOne(number)
                found[position] = try owners(
                    by: relation, fulfilling: inner, isOne: isOne, in: entity, costs, source)
            }
        }
        return found
    }

    /// The records that a reference may lead to.
    private static func targets<Source: RowSource & ~Copyable>(
        of attribute: AttributeBinding, fulfilling condition: Condition,
        in target: EntityBinding, _ costs: PlanningCosts, _ source: borrowing Source
    ) throws -> RelatedKeys? {
        let query = RecordQuery(entity: target.name).adding(condition)
        let plan = try QueryPlan(query, in: target, needsRows: false, costs: costs, on: source)
        guard try plan.isShort(costs, source) else { return nil }
        var keys: [RecordKey] = []
        try unsafe QueryExecutor.matches(plan, on: source, needsBody: false) { _, key, _ in
            guard let key = unsafe RecordKey(reading: key) else { throw QueryExecutor.damaged }
            keys.append(key)
            return true
        }
        keys = Set(keys).sorted()
        let condition = Condition.membership(
            .attribute(attribute.name), keys.map { .reference($0) })
        return RelatedKeys(
            access: keys.isEmpty ? .nothing : .referrers(attribute, keys),
            isExact: !keys.contains(where: \.isCutInKeys),
            rank: keys.count > 1 ? .values : .value,
            condition: condition, membership: condition,
            text: text(keys.count, of: target, by: plan))
    }

    /// The records that those of another entity refer to.
    private static func owners<Source: RowSource & ~Copyable>(
        by relation: InverseReference, fulfilling condition: Condition, isOne: Bool,
        in entity: EntityBinding, _ costs: PlanningCosts, _ source: borrowing Source
    ) throws -> RelatedKeys? {
        let (other, attribute) = try entity.referrers(by: relation)
        let query = RecordQuery(entity: other.name).adding(condition)
            .adding(.not(.isNull(.attribute(attribute.name))))
        let plan = try QueryPlan(query, in: other, costs: costs, on: source)
        guard try plan.isShort(costs, source) else { return nil }
        var keys: Set<RecordKey> = []
        var count = 0
        try unsafe QueryExecutor.matches(plan, on: source, needsBody: true) { _, _, body in
            guard let body = unsafe body, let fields = unsafe PackedFields(body) else {
                throw QueryExecutor.damaged
            }
            if case .reference(let key) = try attribute.value(of: fields) { keys.insert(key) }
            count += 1
            return true
        }
        return RelatedKeys(
            access: keys.isEmpty ? .nothing : .records(keys.sorted()), isExact: isOne,
            rank: .records,
            condition: .membership(.recordKey, keys.sorted().map { .reference($0) }),
            membership: nil,
            text: text(count, of: other, by: plan))
    }

    private static func text(
        _ count: Int, of entity: EntityBinding, by plan: QueryPlan
    ) -> String {
        "look up \(count) \(entity.name) \(count == 1 ? "record" : "records"): "
            + plan.explanation.steps.joined(separator: ", ")
    }
}

extension QueryPlan {
    /// Whether so little is read that it may be read before another query is planned.
    fileprivate func isShort<Source: RowSource & ~Copyable>(
        _ costs: PlanningCosts, _ source: borrowing Source
    ) throws -> Bool {
        guard let footprint = source.footprint else {
            return try access.entryCount(upTo: costs.relatedBound, of: entity.number, on: source)
                < costs.relatedBound
        }
        return try footprint.inside {
            try access.entryCount(upTo: costs.relatedBound, of: entity.number, on: source)
                < costs.relatedBound
        }
    }
}

extension Comparison {
    /// Whether no count of zero compares so with a number.
    fileprivate func holdsOnlyForSome(_ number: Int) -> Bool { !holds(0, number) }

    /// Whether each count but zero compares so with a number.
    fileprivate func isAnyOne(_ number: Int) -> Bool {
        switch self {
        case .greater, .notEqual: number == 0
        case .greaterOrEqual: number == 1
        default: false
        }
    }
}

extension Condition {
    /// What is asked of the record that a reference leads to, if the condition is about nothing else and
    /// does not hold without such a record.
    fileprivate var throughReference: (name: String, condition: Condition)? {
        switch self {
        case .comparison(.related(let name, let operand), let comparison, .constant(let value))
        where value != .null && comparison != .notEqual:
            (name, Condition.comparison(operand, comparison, .constant(value)).simplified())
        case .membership(.related(let name, let operand), let values)
        where !values.contains(.null):
            (name, Condition.membership(operand, values).simplified())
        case .contains(.related(let name, let operand), .constant(let part)):
            (name, .contains(operand, .constant(part)))
        case .prefix(.related(let name, let operand), .constant(let part)):
            (name, .prefix(operand, .constant(part)))
        case .not(.isNull(.related(let name, let operand))):
            (name, Condition.not(.isNull(operand)).simplified())
        default: nil
        }
    }
}
