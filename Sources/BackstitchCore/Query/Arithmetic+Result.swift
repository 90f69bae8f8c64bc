import Foundation

extension Arithmetic {
    /// The result of a calculation in a type, null if an operand is null.
    ///
    /// - Throws: ``QueryError`` with code `arithmeticOverflow` if Swift would trap.
    func result(_ left: RecordValue, _ right: RecordValue, as type: AttributeType) throws
        -> RecordValue
    {
        switch (left, right, type) {
        case (.int64(let left), .int64(let right), .int16):
            .int64(Int64(try result(Int16(clamping: left), Int16(clamping: right))))
        case (.int64(let left), .int64(let right), .int32):
            .int64(Int64(try result(Int32(clamping: left), Int32(clamping: right))))
        case (.int64(let left), .int64(let right), _):
            .int64(try result(left, right))
        case (.double(let left), .double(let right), .float):
            .double(Double(try result(Float(left), Float(right))))
        case (.double(let left), .double(let right), _):
            .double(try result(left, right))
        case (.decimal(let left), .decimal(let right), _):
            .decimal(try result(left, right))
        default:
            .null
        }
    }

    private func result<Number: FixedWidthInteger>(
        _ left: Number, _ right: Number
    ) throws -> Number {
        let (number, hasOverflowed) =
            switch self {
            case .add: left.addingReportingOverflow(right)
            case .subtract: left.subtractingReportingOverflow(right)
            case .multiply: left.multipliedReportingOverflow(by: right)
            case .divide: left.dividedReportingOverflow(by: right)
            case .remainder: left.remainderReportingOverflow(dividingBy: right)
            }
        guard !hasOverflowed else {
            throw QueryError(
                .arithmeticOverflow,
                "A query calculates \(left) \(rawValue) \(right), which has no result in "
                    + "\(Number.self). Bring the numbers into range first.")
        }
        return number
    }

    private func result<Number: FloatingPoint>(_ left: Number, _ right: Number) throws -> Number {
        switch self {
        case .add: left + right
        case .subtract: left - right
        case .multiply: left * right
        case .divide: left / right
        case .remainder: throw Self.noRemainder
        }
    }

    private func result(_ left: Decimal, _ right: Decimal) throws -> Decimal {
        switch self {
        case .add: left + right
        case .subtract: left - right
        case .multiply: left * right
        case .divide: left / right
        case .remainder: throw Self.noRemainder
        }
    }

    private static var noRemainder: QueryError {
        QueryError(.unsupportedExpression, "A remainder is of whole numbers.")
    }
}
