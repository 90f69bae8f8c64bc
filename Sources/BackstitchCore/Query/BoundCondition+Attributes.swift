import Foundation

/// Tests of one attribute against constants that no step of a program does.
///
/// A row without the field has the default, whose result is found beforehand.
extension BoundCondition {
    static func comparisonTest(
        _ attribute: AttributeBinding, _ comparison: Comparison, _ constant: RecordValue
    ) -> Test {
        let (field, type) = (attribute.field, attribute.type)
        let without = attribute.defaultValue.matches(comparison, constant)
        if case (.decimal(let decimal), .decimal) = (constant, type) {
            let constant = DecimalConstant(decimal)
            return { row in
                guard let value = try row.value(of: field) else { return without }
                return constant.holds(comparison, value)
            }
        }
        return { row in
            guard let value = try row.value(of: field) else { return without }
            return value.stored(as: type).matches(comparison, constant)
        }
    }

    static func membershipTest(_ attribute: AttributeBinding, _ values: [RecordValue]) -> Test {
        let (field, type) = (attribute.field, attribute.type)
        let without = values.contains { attribute.defaultValue.matches(.equal, $0) }
        // Equality of values agrees with hashing but for NaN, which equals nothing.
        let set = Set(values.filter { $0.matches(.equal, $0) })
        return { row in
            guard let value = try row.value(of: field) else { return without }
            return set.contains(value.stored(as: type))
        }
    }
}
