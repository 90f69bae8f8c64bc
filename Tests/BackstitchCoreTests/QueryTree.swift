import Foundation

@testable import BackstitchCore

/// A random condition, once as Foundation has it and once by names.
struct QueryTree {
    typealias Expression = any StandardPredicateExpression<Bool>
    typealias Model = PredicateExpressions.Variable<Sample>

    var expression: Expression
    var condition: RecordQuery.Condition

    static func and(_ left: QueryTree, _ right: QueryTree) -> QueryTree {
        func join<
            Left: StandardPredicateExpression<Bool>, Right: StandardPredicateExpression<Bool>
        >(
            _ left: Left, _ right: Right
        ) -> Expression { PredicateExpressions.build_Conjunction(lhs: left, rhs: right) }
        return QueryTree(
            expression: join(left.expression, right.expression),
            condition: .all([left.condition, right.condition]))
    }

    static func or(_ left: QueryTree, _ right: QueryTree) -> QueryTree {
        func join<
            Left: StandardPredicateExpression<Bool>, Right: StandardPredicateExpression<Bool>
        >(
            _ left: Left, _ right: Right
        ) -> Expression { PredicateExpressions.build_Disjunction(lhs: left, rhs: right) }
        return QueryTree(
            expression: join(left.expression, right.expression),
            condition: .any([left.condition, right.condition]))
    }

    static func not(_ inner: QueryTree) -> QueryTree {
        func negate<Inner: StandardPredicateExpression<Bool>>(_ inner: Inner) -> Expression {
            PredicateExpressions.build_Negation(inner)
        }
        return QueryTree(
            expression: negate(inner.expression), condition: .not(inner.condition))
    }
}

/// Trees of conditions on samples.
extension SeededGenerator {
    mutating func tree(_ model: QueryTree.Model, depth: Int = 3) -> QueryTree {
        guard depth > 0, chance(0.7) else { return leaf(model) }
        switch Int.random(in: 0..<5, using: &self) {
        case 0, 1: return .and(tree(model, depth: depth - 1), tree(model, depth: depth - 1))
        case 2, 3: return .or(tree(model, depth: depth - 1), tree(model, depth: depth - 1))
        default: return .not(tree(model, depth: depth - 1))
        }
    }

    private mutating func leaf(_ model: QueryTree.Model) -> QueryTree {
        switch Int.random(in: 0..<22, using: &self) {
        case 0, 1: compared(model, \.age, "age", integer())
        case 2: compared(model, \.level, "level", Int.random(in: 4...9, using: &self))
        case 3: compared(model, \.size, "size", Int32(truncatingIfNeeded: integer()))
        case 4: compared(model, \.score, "score", double())
        case 5: compared(model, \.price, "price", decimal())
        case 6: compared(model, \.born, "born", date())
        case 7, 8: compared(model, \.name, "name", normalText())
        case 9: equal(model, \.nick, "nick", optional { $0.text() })
        case 10: equal(model, \.grade, "grade", optional { Int16($0.pick([0, 1, 2])) })
        case 11: equal(model, \.ratio, "ratio", optional { $0.float() })
        case 12: equal(model, \.seen, "seen", optional { $0.date() })
        case 13: equal(model, \.bonus, "bonus", optional { $0.decimal() })
        case 14: equal(model, \.flag, "flag", optional { $0.chance(0.5) })
        case 15: equal(model, \.boss, "boss", optional { $0.id() })
        case 16: equal(model, \.blob, "blob", optional { $0.data() })
        case 17: equal(model, \.token, "token", uuid())
        case 18: equal(model, \.isOn, "isOn", chance(0.5))
        case 19: textual(model)
        case 20: member(model)
        default: records(model)
        }
    }

    private mutating func compared<Constant: AttributeValue & Comparable & Codable>(
        _ model: QueryTree.Model, _ keyPath: any KeyPath<Sample, Constant> & Sendable,
        _ name: String, _ constant: Constant
    ) -> QueryTree {
        let left = PredicateExpressions.build_KeyPath(root: model, keyPath: keyPath)
        let right = PredicateExpressions.build_Arg(constant)
        let value = constant._recordValue
        switch Int.random(in: 0..<6, using: &self) {
        case 0:
            return QueryTree(
                expression: PredicateExpressions.build_Equal(lhs: left, rhs: right),
                condition: .equal(name, value))
        case 1:
            return QueryTree(
                expression: PredicateExpressions.build_NotEqual(lhs: left, rhs: right),
                condition: .notEqual(name, value))
        case 2:
            return QueryTree(
                expression: PredicateExpressions.build_Comparison(
                    lhs: left, rhs: right, op: .lessThan), condition: .less(name, than: value))
        case 3:
            return QueryTree(
                expression: PredicateExpressions.build_Comparison(
                    lhs: left, rhs: right, op: .lessThanOrEqual), condition: .atMost(name, value))
        case 4:
            return QueryTree(
                expression: PredicateExpressions.build_Comparison(
                    lhs: left, rhs: right, op: .greaterThan),
                condition: .greater(name, than: value))
        default:
            return QueryTree(
                expression: PredicateExpressions.build_Comparison(
                    lhs: left, rhs: right, op: .greaterThanOrEqual),
                condition: .atLeast(name, value))
        }
    }

    private mutating func equal<Constant: AttributeValue & Equatable & Codable>(
        _ model: QueryTree.Model, _ keyPath: any KeyPath<Sample, Constant> & Sendable,
        _ name: String, _ constant: Constant
    ) -> QueryTree {
        let left = PredicateExpressions.build_KeyPath(root: model, keyPath: keyPath)
        let right = PredicateExpressions.build_Arg(constant)
        let equal = QueryTree(
            expression: PredicateExpressions.build_Equal(lhs: left, rhs: right),
            condition: .equal(name, constant._recordValue))
        return chance(0.3) ? .not(equal) : equal
    }

    private mutating func textual(_ model: QueryTree.Model) -> QueryTree {
        let left = PredicateExpressions.build_KeyPath(root: model, keyPath: \.name)
        let text = text()
        let right = PredicateExpressions.build_Arg(text)
        return chance(0.5)
            ? QueryTree(
                expression: PredicateExpressions.build_contains(left, right),
                condition: .contains("name", text))
            : QueryTree(
                expression: PredicateExpressions.build_starts(left, with: right),
                condition: .starts("name", with: text))
    }

    private mutating func member(_ model: QueryTree.Model) -> QueryTree {
        let ages = (0..<4).map { _ in integer() }
        return QueryTree(
            expression: PredicateExpressions.build_contains(
                PredicateExpressions.build_Arg(ages),
                PredicateExpressions.build_KeyPath(root: model, keyPath: \.age)),
            condition: .member("age", of: ages.map(\._recordValue)))
    }

    private mutating func records(_ model: QueryTree.Model) -> QueryTree {
        let ids = (0..<6).map { _ in id() }
        return QueryTree(
            expression: PredicateExpressions.build_contains(
                PredicateExpressions.build_Arg(ids),
                PredicateExpressions.build_KeyPath(root: model, keyPath: \.id)),
            condition: .records(ids.map(\.key)))
    }
}
