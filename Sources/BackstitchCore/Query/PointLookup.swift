import Foundation

/// A query for the records that have one value in one attribute, in no order but that of their keys.
///
/// Most queries are of this form, and planning them takes longer than answering them. A lookup is
/// read from the query itself, without conditions in between.
package struct PointLookup {
    /// The position of the attribute in the declaration.
    package let position: Int
    package let value: RecordValue
}

extension Query {
    /// The query as a lookup; nil if it asks for anything else.
    ///
    /// - Parameter forms: What was learned from queries of the same type.
    package func pointLookup(_ forms: inout PointLookupForms) -> PointLookup? {
        guard isUnsorted, limitCount ?? 1 > 0, offsetCount >= 0 else { return nil }
        if let referrers, predicates.isEmpty {
            guard let position = forms.position(at: referrers.inverse) else { return nil }
            return PointLookup(position: position, value: .reference(referrers.owner))
        }
        guard referrers == nil, predicates.count == 1 else { return nil }
        let predicate = predicates[0]
        let expression = predicate.expression
        guard let form = forms.form(of: expression),
            let (variable, path, value) = form.parts(of: expression),
            variable == predicate.variable.key,
            let keyPath = path as? PartialKeyPath<Model>,
            let position = forms.position(at: keyPath)
        else { return nil }
        return PointLookup(position: position, value: value)
    }
}

/// The types of expressions and the key paths that were looked at before.
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

    mutating func form(of expression: any PredicateExpression) -> (any PointExpression.Type)? {
        let type = type(of: expression)
        if let known = forms[ObjectIdentifier(type)] { return known }
        let form = type as? any PointExpression.Type
        if forms.count == Self.countMax { forms = [:] }
        forms[ObjectIdentifier(type)] = .some(form)
        return form
    }

    mutating func position<Model: Entity>(at keyPath: PartialKeyPath<Model>) -> Int? {
        if let known = positions[ObjectIdentifier(keyPath)] { return known.position }
        guard let position = Model.attributeIndexes[keyPath] else { return nil }
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
    var captured: RecordValue { value.value }
}

extension QueryPlan {
    /// The plan for a lookup, the same that planning its conditions would give, but for what is
    /// told about it; nil if no index answers it alone.
    package init?(
        _ lookup: PointLookup, of field: FieldID, limit: Int?, offset: Int,
        in entity: EntityBinding
    ) {
        guard let index = entity.attributes.firstIndex(where: { $0.field == field }) else {
            return nil
        }
        let attribute = entity.attributes[index]
        guard let access = Self.access(to: lookup.value, of: attribute) else { return nil }
        self.init(entity: entity, access: access, limit: limit, offset: offset)
    }

    private static func access(to value: RecordValue, of attribute: AttributeBinding) -> Access? {
        switch (attribute.type, value) {
        case (.reference, .reference(let key)):
            guard attribute.hasInverse, !attribute.isIndexed, !key.isCutInKeys else { return nil }
            return .referrers(attribute, [key])
        case (.string, .string), (.int16, .int64), (.int32, .int64), (.int64, .int64),
            (.uuid, .uuid):
            guard attribute.isIndexed,
                let range = KeyRange(.equal, value, type: attribute.type), range.isExact
            else { return nil }
            return .index(attribute, [range], isReversed: false)
        default:
            return nil
        }
    }
}
