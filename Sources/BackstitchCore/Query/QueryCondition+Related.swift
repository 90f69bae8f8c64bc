public import Foundation

extension QueryCondition {
    /// Holds for the records that match a predicate.
    public init(_ predicate: Predicate<Model>) {
        self.init { try Condition(lowering: predicate) }
    }
}

extension QueryConditions {
    // MARK: Records at the other end of a reference

    /// Keeps records whose reference leads to a record that fulfils a condition.
    ///
    /// A reference that is nil, or whose record is not there, leads to none.
    ///
    /// ```swift
    /// let sales = QueryCondition<Department>().where(\.name, is: "Sales")
    /// let staff = Query<Employee>().where(\.department, fulfils: sales)
    /// ```
    public func `where`<Reference: RecordReference>(
        _ keyPath: any KeyPath<Model, Reference> & Sendable,
        fulfils condition: QueryCondition<Reference.Referenced>
    ) -> Self {
        self.where(
            QueryCondition(depth: condition.depth + 1) {
                let name = try Query<Model>.storedAttribute(at: keyPath)
                return .test(.related(name, .condition(try condition.lowered())))
            })
    }

    /// Keeps records whose reference leads to a record that matches a predicate.
    ///
    /// A reference that is nil, or whose record is not there, leads to none.
    public func `where`<Reference: RecordReference>(
        _ keyPath: any KeyPath<Model, Reference> & Sendable,
        fulfils predicate: Predicate<Reference.Referenced>
    ) -> Self {
        self.where(keyPath, fulfils: QueryCondition(predicate))
    }

    // MARK: Records that refer to this one

    /// Keeps records to which some records refer that fulfil a condition.
    public func `where`<Target: Entity>(
        _ keyPath: any KeyPath<Model, ToMany<Target>> & Sendable,
        containsWhere condition: QueryCondition<Target>
    ) -> Self {
        self.where(keyPath, count: 1..., of: condition)
    }

    /// Keeps records to which some records refer that match a predicate.
    public func `where`<Target: Entity>(
        _ keyPath: any KeyPath<Model, ToMany<Target>> & Sendable,
        containsWhere predicate: Predicate<Target>
    ) -> Self {
        self.where(keyPath, containsWhere: QueryCondition(predicate))
    }

    /// Keeps records to which none refers, or some do.
    public func `where`<Target: Entity>(
        _ keyPath: any KeyPath<Model, ToMany<Target>> & Sendable, isEmpty: Bool
    ) -> Self {
        isEmpty ? self.where(keyPath, count: 0) : self.where(keyPath, count: 1...)
    }

    /// Keeps records to which as many refer as asked for.
    ///
    /// - Parameters:
    ///   - count: A number, or a range of numbers such as `2...`.
    ///   - condition: What the records that count have to fulfil.
    public func `where`<Target: Entity>(
        _ keyPath: any KeyPath<Model, ToMany<Target>> & Sendable, count: some _QueryCount,
        of condition: QueryCondition<Target> = QueryCondition<Target>()
    ) -> Self {
        self.where(
            QueryCondition(depth: condition.depth + 1) {
                let relation = try Query<Model>.relation(at: keyPath)
                let condition = try condition.lowered()
                return count.condition { .referrers(relation, condition, $0, $1) }
            })
    }

    // MARK: Lists

    /// Keeps records whose list has no elements, or has some.
    public func `where`<Element: ScalarAttributeValue>(
        _ keyPath: any KeyPath<Model, [Element]> & Sendable, isEmpty: Bool
    ) -> Self {
        isEmpty ? self.where(keyPath, count: 0) : self.where(keyPath, count: 1...)
    }

    /// Keeps records whose list is not nil, and has no elements, or has some.
    public func `where`<Element: ScalarAttributeValue>(
        _ keyPath: any KeyPath<Model, [Element]?> & Sendable, isEmpty: Bool
    ) -> Self {
        isEmpty ? self.where(keyPath, count: 0) : self.where(keyPath, count: 1...)
    }

    /// Keeps records whose list has as many elements as asked for: a number, or a range such as `2...`.
    public func `where`<Element: ScalarAttributeValue>(
        _ keyPath: any KeyPath<Model, [Element]> & Sendable, count: some _QueryCount
    ) -> Self {
        listed(keyPath) { list in count.condition { Condition(count: $0, $1, of: list) } }
    }

    /// Keeps records whose list is not nil, and has as many elements as asked for.
    public func `where`<Element: ScalarAttributeValue>(
        _ keyPath: any KeyPath<Model, [Element]?> & Sendable, count: some _QueryCount
    ) -> Self {
        listed(keyPath) { list in count.condition { Condition(count: $0, $1, of: list) } }
    }

    /// Keeps records an element of whose list matches a predicate.
    ///
    /// ```swift
    /// query.where(\.labels, containsWhere: #Predicate { $0.starts(with: "a") })
    /// ```
    public func `where`<Element: ScalarAttributeValue>(
        _ keyPath: any KeyPath<Model, [Element]> & Sendable,
        containsWhere predicate: Predicate<Element>
    ) -> Self {
        listed(keyPath) { .anyElement($0, try Condition(element: predicate, of: Model.entityName)) }
    }

    /// Keeps records whose list is not nil, and an element of it matches a predicate.
    public func `where`<Element: ScalarAttributeValue>(
        _ keyPath: any KeyPath<Model, [Element]?> & Sendable,
        containsWhere predicate: Predicate<Element>
    ) -> Self {
        listed(keyPath) { .anyElement($0, try Condition(element: predicate, of: Model.entityName)) }
    }

    private func listed(
        _ keyPath: any PartialKeyPath<Model> & Sendable,
        _ test: @escaping @Sendable (Operand) throws -> Condition
    ) -> Self {
        self.where(
            QueryCondition { try test(.attribute(try Query<Model>.storedAttribute(at: keyPath))) })
    }
}

extension Condition {
    /// A condition on the number of elements of a list.
    init(count comparison: Comparison, _ number: Int, of list: Operand) {
        self = .comparison(.count(list), comparison, .constant(.int64(Int64(number))))
    }

    /// The condition that holds for an element of a list where `predicate` does.
    fileprivate init<Element: ScalarAttributeValue>(
        element predicate: Predicate<Element>, of entityName: String
    ) throws {
        var context = LoweringContext(
            variables: [
                predicate.variable.key: .element(depth: 0, Element._attributeType)
            ],
            attribute: { _ in nil }, entityName: entityName)
        context.listDepth = 1
        self = try context.condition(predicate.expression).simplified()
    }
}

extension Query {
    /// The relation behind a to-many relationship.
    static func relation(at keyPath: AnyKeyPath) throws -> InverseReference {
        guard
            let found = Model.entitySchema.toMany.first(where: { $0.keyPath == keyPath }),
            let inverse = found.inverse()
        else {
            throw QueryError(
                .unknownAttribute,
                "\(keyPath.shownName) is no to-many relationship of \(Model.entityName) that was declared "
                    + "with its inverse.")
        }
        return InverseReference(entity: found.target, attribute: inverse)
    }
}
