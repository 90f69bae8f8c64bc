public import Foundation

/// Selects the records of an entity to fetch, count or observe, and their order.
///
/// A query is a value: each method returns another query, and nothing is read until it is run.
///
/// ```swift
/// Query<Employee>()
///     .where(#Predicate { $0.salary > 1000 && $0.email.starts(with: "a") })
///     .sorted(by: \.name)
///     .limit(50)
/// ```
///
/// Predicates are not evaluated on values but translated to conditions on stored rows, so that rows
/// which don't match are not decoded. What can't be translated fails when the query is run; it is
/// never answered wrongly. Strings compare as Swift's do: by canonical equivalence.
public struct Query<Model: Entity>: QueryConditions {
    @usableFromInline
    struct Sort: Sendable {
        /// The name of the attribute; nil for `id`.
        var name: @Sendable () throws -> String?
        var isReversed: Bool
    }

    @usableFromInline var predicates: [Predicate<Model>]
    @usableFromInline var conditions: [QueryCondition<Model>]
    @usableFromInline let referrers: ToMany<Model>?
    /// The zone whose records are asked for; nil for all.
    @usableFromInline var zone: RecordID.Zone?
    @usableFromInline var sorts: [Sort]
    @usableFromInline package private(set) var limitCount: Int?
    @usableFromInline package private(set) var offsetCount: Int

    /// All records of the entity, in the order of their record keys.
    ///
    /// Inlined where the entity is known, as all that makes a small query: generic code would look for the
    /// types of its lists each time.
    @inlinable
    public init() { self.init(referrers: nil) }

    /// The records at the other end of a to-many relationship.
    @inlinable
    public init(_ relationship: ToMany<Model>) { self.init(referrers: relationship) }

    @inlinable
    init(referrers: ToMany<Model>?) {
        self.referrers = referrers
        (predicates, conditions, sorts, zone) = ([], [], [], nil)
        (limitCount, offsetCount) = (nil, 0)
    }

    /// Adds a predicate: a record has to fulfil it too.
    @inlinable
    public func `where`(_ predicate: Predicate<Model>) -> Query {
        var query = self
        query.predicates.append(predicate)
        return query
    }

    /// Adds a condition: a record has to fulfil it too.
    @inlinable
    public func `where`(_ condition: QueryCondition<Model>) -> Query {
        var query = self
        query.conditions.append(condition)
        return query
    }

    /// The query for the records of one zone; the last zone that is given counts.
    ///
    /// Without it a query asks for the records of all zones of the store. In the order of record keys those of the
    /// own zone come first. A zone that the store does not have gives no records.
    /// - Complexity: Where all records are looked at, only those of the zone are; where an index leads to records,
    ///   those of other zones are read and left out.
    @inlinable
    public func `in`(_ zone: RecordID.Zone) -> Query {
        var query = self
        query.zone = zone
        return query
    }

    /// The query with its answer sorted by an attribute, after what it is sorted by already.
    ///
    /// Nil comes first, or last if the order is reversed. Records that are equal in all that is
    /// given are in the order of their record keys, so the answer is always the same. A key path
    /// that is no stored attribute, nor `id`, fails when the query is run.
    public func sorted<Attribute: OrderedAttributeValue>(
        by keyPath: any KeyPath<Model, Attribute> & Sendable, order: SortOrder = .forward
    ) -> Query {
        sorted(order) { try Self.attribute(at: keyPath) }
    }

    /// The query with its answer sorted by an attribute by name, before what it is sorted by already.
    package func sortedFirst(byName name: String, _ order: SortOrder) -> Query {
        var query = self
        query.sorts.insert(Sort(name: { name }, isReversed: order == .reverse), at: 0)
        return query
    }

    /// The query with its answer sorted by an attribute by name, after what it is sorted by already.
    func sorted(
        _ order: SortOrder, byName name: @escaping @Sendable () throws -> String?
    ) -> Query {
        var query = self
        query.sorts.append(Sort(name: name, isReversed: order == .reverse))
        return query
    }

    /// The query with its answer sorted by an attribute of the record that a reference leads to, after
    /// what it is sorted by already.
    ///
    /// Records whose reference leads to none come with those whose attribute is nil: first, or last if
    /// the order is reversed. Each record costs a look-up, and the answer is sorted in memory.
    ///
    /// ```swift
    /// Query<Employee>().sorted(by: \.department, \.name)
    /// ```
    public func sorted<Reference: RecordReference, Attribute: OrderedAttributeValue>(
        by reference: any KeyPath<Model, Reference> & Sendable,
        _ keyPath: any KeyPath<Reference.Referenced, Attribute> & Sendable,
        order: SortOrder = .forward
    ) -> Query {
        var query = self
        query.sorts.append(
            Sort(
                name: {
                    let first = try Self.storedAttribute(at: reference)
                    // The id of the other record is the reference itself.
                    guard let name = try Query<Reference.Referenced>.attribute(at: keyPath) else {
                        return first
                    }
                    return first + "." + name
                }, isReversed: order == .reverse))
        return query
    }

    /// The query for at most `count` records. A negative count fails when the query is run.
    public func limit(_ count: Int) -> Query {
        var query = self
        query.limitCount = count
        return query
    }

    /// The query for the first record of its answer.
    @usableFromInline package var onlyFirst: Query { limit(min(limitCount ?? 1, 1)) }

    /// The query without the first `count` records of its answer. A negative count fails when the
    /// query is run.
    public func offset(_ count: Int) -> Query {
        var query = self
        query.offsetCount = count
        return query
    }

    /// The same query by names.
    ///
    /// - Throws: ``QueryError`` for a predicate that can't be translated, or a key path that is not
    ///   a stored attribute.
    public func lowered() throws -> RecordQuery {
        var result = RecordQuery(entity: Model.entityName)
        result.zone = zone
        if let referrers {
            let name = try Self.attribute(at: referrers.inverse)
            result = result.adding(
                .comparison(
                    name.map { .attribute($0) } ?? .recordKey, .equal,
                    .constant(.reference(referrers.owner))))
        }
        for predicate in predicates {
            result = result.adding(try Condition(lowering: predicate))
        }
        for condition in conditions { result = result.adding(try condition.lowered()) }
        for sort in sorts {
            result = result.adding(
                SortStep(try sort.name(), isReversed: sort.isReversed))
        }
        if let limitCount { result = result.limit(limitCount) }
        return result.offset(offsetCount)
    }

    /// The name of the attribute at a key path, which is not `id`.
    package static func storedAttribute(at keyPath: PartialKeyPath<Model>) throws -> String {
        guard let name = try attribute(at: keyPath) else {
            throw QueryError(
                .unknownAttribute,
                "\(keyPath.shownName) of \(Model.entityName) differs in all records. Aggregates and groups "
                    + "take stored attributes.")
        }
        return name
    }

    /// The name of the attribute at a key path; nil for `id`.
    static func attribute(at keyPath: PartialKeyPath<Model>) throws -> String? {
        try position(of: keyPath).map { Model.entitySchema.attributes[$0].name }
    }

    /// The position in the declaration of the attribute at a key path; nil for `id`.
    package static func position(of keyPath: PartialKeyPath<Model>) throws -> Int? {
        if Model.isIdentity(keyPath) { return nil }
        guard let index = Model.attributeIndexes[keyPath] else {
            throw keyPath.unknown(in: Model.entityName)
        }
        return index
    }
}

extension ToMany {
    /// The query for the records at the other end, to be narrowed, sorted and limited.
    @inlinable public var query: Query<Target> { Query(self) }
}
