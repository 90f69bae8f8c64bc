extension Comparison {
    /// Whether the comparison asks for an order, not for equality.
    var isOrder: Bool { self != .equal && self != .notEqual }

    /// Whether the comparison holds between two values of an ordered type.
    @inline(__always)
    func holds<Ordered: Comparable>(_ left: Ordered, _ right: Ordered) -> Bool {
        switch self {
        case .equal: left == right
        case .notEqual: left != right
        case .less: left < right
        case .lessOrEqual: left <= right
        case .greater: left > right
        case .greaterOrEqual: left >= right
        }
    }
}

extension RecordValue {
    /// Whether a comparison holds between two values of one type.
    ///
    /// Values of different types are unequal and in no order.
    func matches(_ comparison: Comparison, _ other: RecordValue) -> Bool {
        switch (self, other) {
        case (.null, .null): comparison == .equal
        case (.int64(let left), .int64(let right)): comparison.holds(left, right)
        case (.double(let left), .double(let right)): comparison.holds(left, right)
        case (.string(let left), .string(let right)): comparison.holds(left, right)
        case (.date(let left), .date(let right)): comparison.holds(left, right)
        // Lists and values of unknown types are equal or not, and in no order.
        case (.list, .list), (.unknown, .unknown):
            comparison == (self == other ? .equal : .notEqual)
        default:
            tag == other.tag
                ? traits?.holds(comparison, self, other) ?? (comparison == .notEqual)
                : comparison == .notEqual
        }
    }
}
