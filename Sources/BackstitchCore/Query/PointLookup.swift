public import Foundation

/// A query for the records that have one value in one attribute, in no order but that of their keys.
///
/// Most queries are of this form, and planning them takes longer than answering them. A lookup is
/// read from the query itself, without conditions in between.
package struct PointLookup {
    /// The position of the attribute in the declaration.
    package let position: Int
    package let value: RecordValue
    /// How texts are compared.
    package var comparison = TextComparison.exact
}

extension EntityBinding {
    /// An attribute as an index has it that tells alone which records have a value; nil if none does.
    package func indexed(
        _ field: FieldID, comparing comparison: TextComparison
    ) -> AttributeBinding? {
        switch comparison {
        case .exact: attributes.first { $0.field == field && $0.isIndexed }
        case .insensitive:
            indexes.first {
                $0.parts.count == 1 && $0.parts[0].field == field
                    && $0.parts[0].derivation == .folded
            }?.attribute(at: 0, behind: [])
        }
    }
}

extension AttributeBinding {
    /// A value to look for in the attribute's index, if the entries with it are those of the records that
    /// have it, unless keys cut it; nil for values of other types.
    package func indexed(_ value: RecordValue) -> RecordValue? {
        switch (type, value) {
        case (.string, .string), (.int16, .int64), (.int32, .int64), (.int64, .int64),
            (.uuid, .uuid):
            return value.converted(to: type).map { derivation?.apply($0) ?? $0 }
        default:
            return nil
        }
    }
}

/// The one test of a query that has no other and no order, as it was written.
@usableFromInline
package enum PointTest {
    case predicate(any StandardPredicateExpression<Bool>, of: PredicateExpressions.VariableID)
    case equality(AnyKeyPath, RecordValue, TextComparison)
}

extension Query {
    /// What the query asks for, if that is one test of the record alone, for records in the order of
    /// their keys; nil if it asks for anything else. What is generic is inlined into the user's code.
    @inlinable package var pointTest: PointTest? {
        guard sorts.isEmpty, referrers == nil, predicates.count + conditions.count == 1,
            zone == nil, limitCount ?? 1 > 0, offsetCount >= 0
        else { return nil }
        guard let predicate = predicates.first else {
            return conditions[0].equality.map { .equality($0.keyPath, $0.value, $0.comparison) }
        }
        return .predicate(predicate.expression, of: predicate.variable.key)
    }

    /// The query as a lookup; nil if it asks for anything else.
    ///
    /// - Parameter forms: What was learned from queries of the same type.
    package func pointLookup(_ forms: inout PointLookupForms) -> PointLookup? {
        if let test = pointTest { return forms.lookup(test) { Model.position(at: $0) } }
        guard let referrers, sorts.isEmpty, predicates.isEmpty, conditions.isEmpty,
            zone == nil, limitCount ?? 1 > 0, offsetCount >= 0,
            let position = forms.position(at: referrers.inverse, { Model.position(at: $0) })
        else { return nil }
        return PointLookup(position: position, value: .reference(referrers.owner))
    }
}

extension Entity {
    /// The position in the declaration of the attribute at a key path; nil for others.
    @usableFromInline
    package static func position(at keyPath: AnyKeyPath) -> Int? {
        (keyPath as? PartialKeyPath<Self>).flatMap { attributeIndexes[$0] }
    }
}

/// The types of expressions and the key paths that were looked at before, of queries of one entity.
///
/// Asking the runtime whether a type conforms, or for the attribute at a key path, takes as long as
/// reading a record. Key paths that are written out are one object each.
///
/// Types and key paths, which the compiler does not take for `Sendable`, never change: those of stored
/// properties capture nothing. The dictionaries are values like any other.
package struct PointLookupForms: @unchecked Sendable {
    /// More than a program has of places that query one entity.
    private static let countMax = 256

    private var forms: [ObjectIdentifier: (any PointExpression.Type)?] = [:]
    private var positions: [ObjectIdentifier: (keyPath: AnyKeyPath, position: Int)] = [:]

    package init() {}

    /// What a test looks for; nil if it is no equality of an attribute and a value.
    ///
    /// - Parameter learn: The position of the attribute at a key path of the entity.
    package mutating func lookup(
        _ test: PointTest, _ learn: (AnyKeyPath) -> Int?
    ) -> PointLookup? {
        switch test {
        case .equality(let keyPath, let value, let comparison):
            return position(at: keyPath, learn).map {
                PointLookup(position: $0, value: value, comparison: comparison)
            }
        case .predicate(let expression, let tested):
            guard let form = form(of: expression),
                let (variable, path, value) = form.parts(of: expression), variable == tested,
                let position = position(at: path, learn)
            else { return nil }
            return PointLookup(position: position, value: value)
        }
    }

    private mutating func form(
        of expression: any StandardPredicateExpression<Bool>
    ) -> (any PointExpression.Type)? {
        let type = type(of: expression)
        if let known = forms[ObjectIdentifier(type)] { return known }
        let form = type as? any PointExpression.Type
        if forms.count == Self.countMax { forms = [:] }
        forms[ObjectIdentifier(type)] = .some(form)
        return form
    }

    fileprivate mutating func position(
        at keyPath: AnyKeyPath, _ learn: (AnyKeyPath) -> Int?
    ) -> Int? {
        if let known = positions[ObjectIdentifier(keyPath)] { return known.position }
        guard let position = learn(keyPath) else { return nil }
        if positions.count == Self.countMax { positions = [:] }
        positions[ObjectIdentifier(keyPath)] = (keyPath, position)
        return position
    }
}

/// A comparison of an attribute with a captured value.
protocol PointExpression {
    var variable: PredicateExpressions.VariableID { get }
    var keyPath: AnyKeyPath { get }
    var captured: RecordValue { get }
}

extension PointExpression {
    /// The parts of an expression that is known to be of this type.
    static func parts(
        of expression: any PredicateExpression
    ) -> (PredicateExpressions.VariableID, AnyKeyPath, RecordValue)? {
        guard let expression = expression as? Self else { return nil }
        return (expression.variable, expression.keyPath, expression.captured)
    }
}

extension PredicateExpressions.Equal: PointExpression
where LHS: AttributeExpression, RHS: CapturedAttributeValue {
    var variable: PredicateExpressions.VariableID { lhs.variable }
    var keyPath: AnyKeyPath { lhs.path }
    var captured: RecordValue { rhs.captured }
}

/// A key path of a variable.
protocol AttributeExpression {
    var variable: PredicateExpressions.VariableID { get }
    var path: AnyKeyPath { get }
}

extension PredicateExpressions.KeyPath: AttributeExpression where Root: VariableExpression {
    var variable: PredicateExpressions.VariableID { root.variable }
    var path: AnyKeyPath { keyPath }
}

protocol VariableExpression {
    var variable: PredicateExpressions.VariableID { get }
}

extension PredicateExpressions.Variable: VariableExpression {
    var variable: PredicateExpressions.VariableID { key }
}

/// A captured value of a type that attributes can have.
protocol CapturedAttributeValue {
    var captured: RecordValue { get }
}

extension PredicateExpressions.Value: CapturedAttributeValue where Output: AttributeValue {
    var captured: RecordValue { value._recordValue }
}

extension QueryPlan {
    /// The plan for a lookup, the same that planning its conditions would give, but for what is
    /// told about it; nil if no index answers it alone.
    package init?(
        _ lookup: PointLookup, of field: FieldID, limit: Int?, offset: Int,
        in entity: EntityBinding
    ) {
        guard let access = Self.access(lookup, of: field, in: entity) else { return nil }
        self.init(entity: entity, access: access, limit: limit, offset: offset)
    }

    private static func access(
        _ lookup: PointLookup, of field: FieldID, in entity: EntityBinding
    ) -> Access? {
        if case .reference(let key) = lookup.value {
            guard let attribute = entity.attributes.first(where: { $0.field == field }),
                attribute.type == .reference, attribute.hasInverse, !attribute.isIndexed,
                !key.isCutInKeys
            else { return nil }
            return .referrers(attribute, [key])
        }
        guard let attribute = entity.indexed(field, comparing: lookup.comparison),
            let value = attribute.indexed(lookup.value),
            let range = KeyRange(
                .equal, value, type: attribute.type,
                textBytesMax: attribute.place?.textBytesMax ?? OrderedKey.textBytesMax),
            range.isExact
        else { return nil }
        return .index(attribute, [range], isReversed: false)
    }
}
