import Foundation

/// Conditions over operands of any kind, by way of decoded values.
extension BoundCondition {
    /// Computes an operand for one row.
    typealias Compute = @Sendable (RowBytes) throws -> RecordValue

    static func generalTest(for condition: Condition, in entity: EntityBinding) throws -> Test {
        switch condition {
        case .comparison(let left, let comparison, let right):
            let (left, right) = (try compute(left, in: entity), try compute(right, in: entity))
            return { try left($0).matches(comparison, right($0)) }
        case .isNull(let operand):
            let operand = try compute(operand, in: entity)
            return { try operand($0) == .null }
        case .membership(let operand, let values):
            let operand = try compute(operand, in: entity)
            return { row in
                let value = try operand(row)
                return values.contains { value.matches(.equal, $0) }
            }
        case .contains(let text, let part):
            let (text, part) = (try compute(text, in: entity), try compute(part, in: entity))
            return { row in
                guard case .string(let text) = try text(row), case .string(let part) = try part(row)
                else { return false }
                return TextConstant.characters(of: text, contain: part)
            }
        case .prefix(let text, let part):
            let (text, part) = (try compute(text, in: entity), try compute(part, in: entity))
            return { row in
                guard case .string(let text) = try text(row), case .string(let part) = try part(row)
                else { return false }
                return text.starts(with: part)
            }
        case .test(let operand):
            let operand = try compute(operand, in: entity)
            return { try operand($0) == .bool(true) }
        case .anyElement(let list, let condition):
            return try anyElementTest(list, condition, in: entity)
        case .referrers(let relation, let condition, let comparison, let number):
            return try referrersTest(relation, condition, comparison, number, in: entity)
        default:
            preconditionFailure("Only tests of operands are left to closures.")
        }
    }

    static func compute(_ operand: Operand, in entity: EntityBinding) throws -> Compute {
        switch operand {
        case .constant(let value): return { _ in value }
        case .attribute(let name):
            let attribute = try entity.attribute(named: name)
            let (field, type, without) = (attribute.field, attribute.type, attribute.defaultValue)
            if let derivation = attribute.derivation {
                return { row in
                    guard let value = try row.value(of: field) else { return without }
                    return derivation.apply(value.stored(as: type))
                }
            }
            return { row in try row.value(of: field)?.stored(as: type) ?? without }
        case .recordKey:
            return { row in
                guard let key = unsafe RecordKey(reading: row.key) else {
                    throw FieldError(.damaged)
                }
                return .reference(key)
            }
        case .condition(let condition):
            let test = try test(for: condition.simplified(), in: entity)
            return { .bool(try test($0)) }
        case .coalesce(let first, let second):
            let (first, second) = (try compute(first, in: entity), try compute(second, in: entity))
            return { row in
                let value = try first(row)
                return value == .null ? try second(row) : value
            }
        case .chained(let first, let second):
            let (first, second) = (try compute(first, in: entity), try compute(second, in: entity))
            return { row in try first(row) == .null ? .null : try second(row) }
        case .unwrapped(let operand):
            let name = entity.name
            let operand = try compute(operand, in: entity)
            return { row in
                let value = try operand(row)
                guard value != .null else {
                    throw QueryError(
                        .unwrappedNil,
                        "A query of \(name) unwraps nil with `!`. Ask for `!= nil` before it, or "
                            + "use `??`.")
                }
                return value
            }
        case .conditional(let test, let yes, let no):
            let test = try self.test(for: test.simplified(), in: entity)
            let (yes, no) = (try compute(yes, in: entity), try compute(no, in: entity))
            return { try test($0) ? yes($0) : no($0) }
        case .arithmetic(let operation, let left, let right, let type):
            let (left, right) = (try compute(left, in: entity), try compute(right, in: entity))
            return { try operation.result(left($0), right($0), as: type) }
        case .related(let name, let operand):
            return try relatedValue(name, operand, in: entity)
        case .element(let depth, _):
            return { $0.requiredContext().elements[depth] }
        case .count(let operand):
            let operand = try compute(operand, in: entity)
            return { row in
                switch try operand(row) {
                case .string(let text): .int64(Int64(text.count))
                case .bytes(let data): .int64(Int64(data.count))
                case .list(let elements): .int64(Int64(elements.count))
                default: .null
                }
            }
        }
    }
}
