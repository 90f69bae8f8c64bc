import Foundation

/// A condition on the records of an entity, made of typed tests of their attributes.
///
/// It means the same as a predicate and is made at run time, part by part. The compiler checks each
/// test by itself, so that many of them take it no longer than one.
///
/// ```swift
/// var wanted = QueryCondition<Site>().where(\.area, in: 1..<3)
/// if let name { wanted = wanted.where(\.name, is: name) }
/// let sites = Query<Site>().where(.any([wanted, .not(QueryCondition().where(\.owner, is: nil))]))
/// ```
public struct QueryCondition<Model: Entity>: QueryConditions {
    /// What a condition is made of. A list in a list of its kind is part of it, so that a loop that adds one
    /// condition after another nests none.
    private enum Form: Sendable {
        case test(@Sendable () throws -> Condition)
        case all([QueryCondition])
        case any([QueryCondition])
        indirect case not(QueryCondition)
    }

    private let form: Form
    /// How deep conditions are nested in it. What is too deep is an error in the place of its parts.
    let depth: Int
    /// The attribute and the value, if the condition is that they are equal.
    @usableFromInline
    let equality:
        (
            keyPath: any PartialKeyPath<Model> & Sendable, value: RecordValue,
            comparison: TextComparison
        )?

    package init(
        depth: Int = 1, _ lowered: @escaping @Sendable () throws -> Condition
    ) {
        self.init(.test(lowered), depth: depth)
    }

    private init(_ form: Form, depth: Int) {
        let isTooDeep = depth > Condition.depthMax
        self.form = isTooDeep ? .test { throw QueryError.nestedTooDeep } : form
        self.depth = depth
        equality = nil
    }

    private init(_ form: Form, of parts: [QueryCondition]) {
        self.init(form, depth: 1 + (parts.map(\.depth).max() ?? 0))
    }

    init(
        _ keyPath: any PartialKeyPath<Model> & Sendable, equals value: RecordValue,
        comparing comparison: TextComparison = .exact,
        _ lowered: @escaping @Sendable () throws -> Condition
    ) {
        form = .test(lowered)
        depth = 1
        equality = (keyPath, value, comparison)
    }

    /// Holds if an attribute equals a value.
    @usableFromInline
    init<Attribute: AttributeValue>(
        _ keyPath: any KeyPath<Model, Attribute> & Sendable, equals value: Attribute
    ) {
        self.init(keyPath, equals: value._recordValue) {
            let name = try Query<Model>.attribute(at: keyPath)
            return .comparison(
                name.map { .attribute($0) } ?? .recordKey, .equal,
                .constant(try RecordValue(comparing: value)))
        }
    }

    /// Holds for every record, until it is narrowed.
    public init() { self.init { .constant(true) } }

    /// Holds if both do.
    public func `where`(_ condition: QueryCondition) -> QueryCondition {
        .all([self, condition])
    }

    /// Holds if every condition does. An empty list always holds.
    ///
    /// A query whose conditions are nested more than 200 deep fails when it is run. Lists of the same kind in
    /// one another are one list, however a loop collects them.
    public static func all(_ conditions: [QueryCondition]) -> QueryCondition {
        let parts = conditions.flatMap { part -> [QueryCondition] in
            if case .all(let inner) = part.form { inner } else { [part] }
        }
        return QueryCondition(.all(parts), of: parts)
    }

    /// Holds if at least one condition does. An empty list never holds. See ``all(_:)`` for how deep it may be nested.
    public static func any(_ conditions: [QueryCondition]) -> QueryCondition {
        let parts = conditions.flatMap { part -> [QueryCondition] in
            if case .any(let inner) = part.form { inner } else { [part] }
        }
        return QueryCondition(.any(parts), of: parts)
    }

    /// Holds if the condition does not.
    public static func not(_ condition: QueryCondition) -> QueryCondition {
        if case .not(let inner) = condition.form { return inner }
        return QueryCondition(.not(condition), of: [condition])
    }

    /// The condition by names.
    ///
    /// - Throws: ``QueryError`` as for a query.
    package func lowered() throws -> Condition {
        switch form {
        case .test(let lowered): try lowered()
        case .all(let parts): .all(try parts.map { try $0.lowered() })
        case .any(let parts): .any(try parts.map { try $0.lowered() })
        case .not(let inner): .not(try inner.lowered())
        }
    }
}

/// A query or a condition, which further conditions can narrow.
///
/// Nil equals nil and nothing else; it is neither less nor greater than any value, and in no range. A value is
/// compared as it would be saved: a date is rounded to whole milliseconds, a duration to nanoseconds. A key
/// path that is no stored attribute, nor `id`, fails when the query is run.
public protocol QueryConditions<Model>: Sendable {
    /// The entity whose records are tested.
    associatedtype Model: Entity

    /// Adds a condition: a record has to fulfil it too.
    func `where`(_ condition: QueryCondition<Model>) -> Self
}

extension QueryConditions {
    /// Keeps records whose attribute equals a value, or is nil if the value is nil.
    @inlinable
    public func `where`<Attribute: AttributeValue>(
        _ keyPath: any KeyPath<Model, Attribute> & Sendable, is value: Attribute
    ) -> Self {
        self.where(QueryCondition(keyPath, equals: value))
    }

    /// Keeps records whose attribute differs from a value, or is not nil if the value is nil.
    public func `where`<Attribute: AttributeValue>(
        _ keyPath: any KeyPath<Model, Attribute> & Sendable, isNot value: Attribute
    ) -> Self {
        compared(keyPath, .notEqual, value)
    }

    /// Keeps records whose attribute is less than a value.
    public func `where`<Attribute: OrderedAttributeValue>(
        _ keyPath: any KeyPath<Model, Attribute> & Sendable, lessThan value: Attribute._Bound
    ) -> Self {
        compared(keyPath, .less, value)
    }

    /// Keeps records whose attribute is at most a value.
    public func `where`<Attribute: OrderedAttributeValue>(
        _ keyPath: any KeyPath<Model, Attribute> & Sendable, atMost value: Attribute._Bound
    ) -> Self {
        compared(keyPath, .lessOrEqual, value)
    }

    /// Keeps records whose attribute is greater than a value.
    public func `where`<Attribute: OrderedAttributeValue>(
        _ keyPath: any KeyPath<Model, Attribute> & Sendable, greaterThan value: Attribute._Bound
    ) -> Self {
        compared(keyPath, .greater, value)
    }

    /// Keeps records whose attribute is at least a value.
    public func `where`<Attribute: OrderedAttributeValue>(
        _ keyPath: any KeyPath<Model, Attribute> & Sendable, atLeast value: Attribute._Bound
    ) -> Self {
        compared(keyPath, .greaterOrEqual, value)
    }

    /// Keeps records whose attribute is in a range, without its upper bound.
    public func `where`<Attribute: OrderedAttributeValue>(
        _ keyPath: any KeyPath<Model, Attribute> & Sendable, in range: Range<Attribute._Bound>
    ) -> Self {
        compared(keyPath, .greaterOrEqual, range.lowerBound)
            .compared(keyPath, .less, range.upperBound)
    }

    /// Keeps records whose attribute is in a range, both bounds included.
    public func `where`<Attribute: OrderedAttributeValue>(
        _ keyPath: any KeyPath<Model, Attribute> & Sendable, in range: ClosedRange<Attribute._Bound>
    ) -> Self {
        compared(keyPath, .greaterOrEqual, range.lowerBound)
            .compared(keyPath, .lessOrEqual, range.upperBound)
    }

    /// Keeps records whose attribute equals one of several values, which may include nil.
    public func `where`<Attribute: AttributeValue>(
        _ keyPath: any KeyPath<Model, Attribute> & Sendable, in values: [Attribute]
    ) -> Self {
        tested(keyPath) { .membership($0, try values.map { try RecordValue(comparing: $0) }) }
    }

    /// Keeps records whose text contains another, compared by characters.
    public func `where`(
        _ keyPath: any KeyPath<Model, String> & Sendable, contains text: String
    ) -> Self {
        tested(keyPath) { .contains($0, .constant(.string(text))) }
    }

    /// Keeps records whose text is not nil and contains another, compared by characters.
    public func `where`(
        _ keyPath: any KeyPath<Model, String?> & Sendable, contains text: String
    ) -> Self {
        tested(keyPath) { .contains($0, .constant(.string(text))) }
    }

    /// Keeps records whose list contains a value.
    public func `where`<Element: ScalarAttributeValue>(
        _ keyPath: any KeyPath<Model, [Element]> & Sendable, contains element: Element
    ) -> Self {
        tested(keyPath) { .contains($0, .constant(try RecordValue(comparing: element))) }
    }

    /// Keeps records whose list is not nil and contains a value.
    public func `where`<Element: ScalarAttributeValue>(
        _ keyPath: any KeyPath<Model, [Element]?> & Sendable, contains element: Element
    ) -> Self {
        tested(keyPath) { .contains($0, .constant(try RecordValue(comparing: element))) }
    }

    /// Keeps records whose text starts with another, compared by characters.
    public func `where`(
        _ keyPath: any KeyPath<Model, String> & Sendable, startsWith text: String
    ) -> Self {
        tested(keyPath) { .prefix($0, .constant(.string(text))) }
    }

    /// Keeps records whose text is not nil and starts with another, compared by characters.
    public func `where`(
        _ keyPath: any KeyPath<Model, String?> & Sendable, startsWith text: String
    ) -> Self {
        tested(keyPath) { .prefix($0, .constant(.string(text))) }
    }

    private func compared(
        _ keyPath: any PartialKeyPath<Model> & Sendable, _ comparison: Comparison,
        _ value: some AttributeValue
    ) -> Self {
        tested(keyPath) {
            .comparison($0, comparison, .constant(try RecordValue(comparing: value)))
        }
    }

    private func tested(
        _ keyPath: any PartialKeyPath<Model> & Sendable,
        _ test: @escaping @Sendable (Operand) throws -> Condition
    ) -> Self {
        self.where(
            QueryCondition {
                let name = try Query<Model>.attribute(at: keyPath)
                return try test(name.map { .attribute($0) } ?? .recordKey)
            })
    }
}

extension RecordValue {
    /// A value that a program compares with, in the form that it would be saved in: attributes have no other
    /// values. A time or a duration beyond all that can be saved is at the end of the range.
    ///
    /// - Throws: ``QueryError`` if a date is not a number.
    init(comparing value: some AttributeValue) throws {
        self = value._recordValue
        guard self == .null else { return }
        if let date = value as? Date {
            guard let milliseconds = date.comparedMilliseconds else {
                throw QueryError(
                    .typeMismatch,
                    "A query compares with a date that is not a number. Give a date.")
            }
            self = .date(milliseconds: milliseconds)
        } else if let duration = value as? Duration {
            self = .duration(nanoseconds: duration < .zero ? .min : .max)
        }
    }
}
