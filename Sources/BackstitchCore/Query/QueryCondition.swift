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
    package let lowered: @Sendable () throws -> Condition
    /// The attribute and the value, if the condition is that they are equal.
    @usableFromInline
    let equality:
        (
            keyPath: any PartialKeyPath<Model> & Sendable, value: RecordValue,
            comparison: TextComparison
        )?

    package init(_ lowered: @escaping @Sendable () throws -> Condition) {
        self.lowered = lowered
        equality = nil
    }

    init(
        _ keyPath: any PartialKeyPath<Model> & Sendable, equals value: RecordValue,
        comparing comparison: TextComparison = .exact,
        _ lowered: @escaping @Sendable () throws -> Condition
    ) {
        self.lowered = lowered
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
                name.map { .attribute($0) } ?? .recordKey, .equal, try Operand(constant: value))
        }
    }

    /// Holds for every record, until it is narrowed.
    public init() { self.init { .constant(true) } }

    /// Holds if both do.
    public func `where`(_ condition: QueryCondition) -> QueryCondition {
        QueryCondition { .all([try self.lowered(), try condition.lowered()]) }
    }

    /// Holds if every condition does. An empty list always holds.
    public static func all(_ conditions: [QueryCondition]) -> QueryCondition {
        QueryCondition { .all(try conditions.map { try $0.lowered() }) }
    }

    /// Holds if at least one condition does. An empty list never holds.
    public static func any(_ conditions: [QueryCondition]) -> QueryCondition {
        QueryCondition { .any(try conditions.map { try $0.lowered() }) }
    }

    /// Holds if the condition does not.
    public static func not(_ condition: QueryCondition) -> QueryCondition {
        QueryCondition { .not(try condition.lowered()) }
    }
}

/// A query or a condition, which further conditions can narrow.
///
/// Nil equals nil and nothing else; it is neither less nor greater than any value, and in no range. A key
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
        tested(keyPath) { attribute in
            .membership(attribute, try values.compactMap { try Operand(constant: $0).storable })
        }
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
        tested(keyPath) { .contains($0, .constant(element._recordValue)) }
    }

    /// Keeps records whose list is not nil and contains a value.
    public func `where`<Element: ScalarAttributeValue>(
        _ keyPath: any KeyPath<Model, [Element]?> & Sendable, contains element: Element
    ) -> Self {
        tested(keyPath) { .contains($0, .constant(element._recordValue)) }
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
        tested(keyPath) { .comparison($0, comparison, try Operand(constant: value)) }
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

extension Operand {
    /// The operand for a value that a program compares with.
    ///
    /// - Throws: ``QueryError`` if a date is not a number.
    init(constant value: some AttributeValue) throws {
        guard let date = value as? Date else {
            self = .constant(value._recordValue)
            return
        }
        switch TimeConstant(date) {
        case .whole(let milliseconds): self = .constant(.date(milliseconds: milliseconds))
        case .after(let milliseconds): self = .instant(afterMilliseconds: milliseconds)
        case nil:
            throw QueryError(
                .typeMismatch, "A query compares with a date that is not a number. Give a date.")
        }
    }

    /// The constant that a stored value may equal; nil for a time between two whole milliseconds.
    fileprivate var storable: RecordValue? {
        guard case .constant(let value) = self else { return nil }
        return value
    }
}
