/// How a query is answered: which rows are looked at, which are left out, and how they are ordered.
///
/// A plan may be made with a look at the data or without. The answer is the same.
@usableFromInline
package struct QueryPlan: Sendable {
    /// Where the rows come from.
    package enum Access: Hashable, Sendable {
        /// No row can match.
        case nothing
        /// Every row whose record key is within a range, by record key.
        case scan(KeyRange = .all, isReversed: Bool)
        /// The rows with these keys, which ascend.
        case records([RecordKey])
        /// The entries of an index within disjoint ranges, which ascend.
        case index(AttributeBinding, [KeyRange], isReversed: Bool)
        /// The rows that refer to one of these records.
        case referrers(AttributeBinding, [RecordKey])
        /// The rows of a set of keys that is collected first, by record key.
        case combined(KeySource)
    }

    /// How the rows get into order.
    package enum Ordering: Hashable, Sendable {
        /// They come in it.
        case asRead
        /// They come in the order of the first step; those that are equal in it are sorted.
        case groups
        /// They are sorted when all are read.
        case inMemory
    }

    /// A key of the order: an attribute of the record or of a related one, or else the record key.
    package struct Step: Hashable, Sendable {
        package let attribute: AttributeBinding?
        package let related: RelatedAttribute?
        package let isReversed: Bool

        /// Whether it is the record key.
        var isKey: Bool { attribute == nil && related == nil }
    }

    package let entity: EntityBinding
    /// What is asked of the records of the answer.
    package let condition: Condition
    /// What a changed record has to fulfil to concern whoever observes the answer: the condition, where
    /// what related records say is replaced by what was found of them, or else left open.
    let observed: Condition
    package let access: Access
    /// What is asked of each row, or nil if every row that is read matches.
    package let filter: Condition?
    package let test: BoundCondition?
    package let steps: [Step]
    package let ordering: Ordering
    package private(set) var limit: Int?
    package private(set) var offset: Int
    /// The place after which the answer begins; nil for its start.
    package private(set) var position: QueryPosition?
    /// The conditions that the access answers, for the explanation.
    let answered: [Condition]

    /// What was looked up beforehand among related records, for the explanation.
    let lookups: [String]

    /// The entries that the access is known or likely to read; nil if nothing was counted.
    package let estimate: Int?

    /// Plans a query of an entity by its form.
    ///
    /// - Throws: ``QueryError`` for another entity, unknown attributes, values of a wrong type, and
    ///   negative counts.
    package init(_ query: RecordQuery, in entity: EntityBinding) throws {
        try self.init(query, in: entity, needsRows: true, relating: { _ in [:] }) { $0.choice() }
    }

    /// Plans a query of an entity with a look at what its indexes hold.
    ///
    /// - Parameter needsRows: Whether the rows of the answer will be read.
    package init<Source: RowSource & ~Copyable>(
        _ query: RecordQuery, in entity: EntityBinding, needsRows: Bool = true,
        costs: PlanningCosts = PlanningCosts(), on source: borrowing Source
    ) throws {
        try self.init(
            query, in: entity, needsRows: needsRows, costs: costs,
            relating: { try RelatedKeys.found(by: $0, in: entity, costs: costs, on: source) }
        ) { planner in
            try planner.choice(by: { access, bound in
                // How a plan is found does not change what it answers.
                guard let footprint = source.footprint else {
                    return try access.entryCount(upTo: bound, of: entity.number, on: source)
                }
                return try footprint.inside {
                    try access.entryCount(upTo: bound, of: entity.number, on: source)
                }
            })
        }
    }

    /// Plans a query so that each row of the entity is looked at, by record key.
    ///
    /// - Throws: As the others.
    init(scanning query: RecordQuery, in entity: EntityBinding) throws {
        try self.init(query, in: entity, needsRows: true, relating: { _ in [:] }) { planner in
            QueryPlanner.Choice(
                access: .scan(planner.keyBounds, isReversed: false), ordering: .inMemory,
                rest: planner.positionsBesideBounds)
        }
    }

    private init(
        _ query: RecordQuery, in entity: EntityBinding, needsRows: Bool,
        costs: PlanningCosts = PlanningCosts(),
        relating relate: (QueryPlanner) throws -> [Int: RelatedKeys],
        choosing choose: (QueryPlanner) throws -> QueryPlanner.Choice
    ) throws {
        guard query.entity == entity.name else {
            throw QueryError(
                .unknownEntity, "A query of \(query.entity) was planned for \(entity.name).")
        }
        try Self.check(query.limitCount, "limit", of: entity)
        try Self.check(query.offsetCount, "offset", of: entity)
        let steps = try Self.steps(query.sortSteps, in: entity)
        let asked = Condition.all(query.conditions)
        try asked.checkDepth()
        condition = try asked.simplified().resolved(in: entity).simplified()
        var planner = QueryPlanner(
            entity: entity, condition: condition, steps: steps,
            limit: query.limitCount, needsRows: needsRows, costs: costs)
        let related = try relate(planner)
        planner.related = related
        observed = Condition.all(
            planner.conditions.enumerated().map { position, condition in
                related[position]?.condition ?? condition.bounded()
            }
        ).simplified()
        let choice = try choose(planner)
        self.entity = entity
        self.steps = steps
        limit = query.limitCount
        offset = query.offsetCount
        position = nil
        access = choice.access
        ordering = choice.ordering
        answered = choice.answered
        estimate = choice.estimate
        lookups = choice.lookups
        filter = Self.all(choice.rest.map { planner.conditions[$0] })
        test = try Self.all(choice.rest.map { planner.asked(at: $0) })
            .map { try BoundCondition($0, in: entity) }
    }

    private static func all(_ conditions: [Condition]) -> Condition? {
        conditions.count > 1 ? .all(conditions) : conditions.first
    }

    /// A plan whose access alone gives the answer. Its condition is not told, so that any record
    /// may belong to it.
    init(entity: EntityBinding, access: Access, limit: Int?, offset: Int) {
        self.entity = entity
        condition = .constant(true)
        observed = condition
        self.access = access
        self.limit = limit
        self.offset = offset
        filter = nil
        test = nil
        steps = []
        ordering = .asRead
        position = nil
        answered = []
        lookups = []
        estimate = nil
    }

    /// Whether rows of other records decide what belongs to the answer, or where.
    package var asksOthers: Bool {
        condition.asksOthers || steps.contains { $0.related != nil }
    }

    /// The plan for a part of the answer: after a position, and at most `count` records.
    package func page(after position: QueryPosition?, offset: Int, limit: Int) -> QueryPlan {
        var plan = self
        plan.position = position
        plan.offset = offset
        plan.limit = limit
        return plan
    }

    private static func check(_ count: Int?, _ name: String, of entity: EntityBinding) throws {
        if let count, count < 0 {
            throw QueryError(
                .negativeCount,
                "A query of \(entity.name) has the \(name) \(count). Pass zero or more.")
        }
    }

    /// The steps up to the record key, after which nothing is equal any more, each once.
    private static func steps(_ sorts: [SortStep], in entity: EntityBinding) throws -> [Step] {
        var result: [Step] = []
        var isComplete = false
        for sort in sorts {
            let step = try Step(sort, in: entity)
            if isComplete
                || result.contains(where: {
                    $0.attribute == step.attribute && $0.related == step.related
                })
            {
                continue
            }
            isComplete = step.isKey
            result.append(step)
        }
        // The record key ascends anyway.
        if let last = result.last, last.isKey, !last.isReversed { result.removeLast() }
        return result
    }
}
