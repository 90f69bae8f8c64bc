/// Conditions that rows of other records decide.
extension BoundCondition {
    /// Computes an operand of the record that a reference points to.
    static func relatedValue(
        _ name: String, _ operand: Operand, in entity: EntityBinding
    ) throws -> Compute {
        let field = try entity.attribute(named: name).field
        let target = try entity.target(of: name)
        let compute = try compute(operand, in: target)
        return { row in
            guard let key = try unsafe row.value(of: field)?.storedKey else { return .null }
            var value = RecordValue.null
            try unsafe row.requiredContext().withRow(of: target.number, key: key) { other in
                value = try compute(other)
            }
            return value
        }
    }

    /// The test of the number of records that refer to the row's and fulfil a condition.
    static func referrersTest(
        _ relation: InverseReference, _ condition: Condition, _ comparison: Comparison,
        _ number: Int,
        in entity: EntityBinding
    ) throws -> Test {
        let (other, attribute) = try entity.referrers(by: relation)
        let condition = condition.simplified()
        let inner =
            condition == .constant(true) ? nil : try BoundCondition(condition, in: other)
        let stop = comparison.countThatTells(number)
        return { row in
            let context = row.requiredContext()
            let count =
                unsafe stop == 0
                ? 0
                : try context.countReferrers(
                    of: other, attribute, to: row.key, fulfilling: condition, inner, upTo: stop)
            return comparison.holds(count, number)
        }
    }
}

extension Comparison {
    /// The count after which it is known how it compares with a number; 0 if it always is.
    fileprivate func countThatTells(_ number: Int) -> Int {
        switch self {
        case .less, .greaterOrEqual: max(0, number)
        default: max(0, number < .max ? number + 1 : number)
        }
    }
}
