import Foundation

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

extension Value {
    /// Whether a comparison holds between two values of one type.
    ///
    /// Values of different types are unequal and in no order.
    func matches(_ comparison: Comparison, _ other: Value) -> Bool {
        switch (self, other) {
        case (.null, .null): comparison == .equal
        case (.bool(let left), .bool(let right)):
            comparison.holds(left ? 1 : 0, right ? 1 : 0)
        case (.int64(let left), .int64(let right)): comparison.holds(left, right)
        case (.double(let left), .double(let right)): comparison.holds(left, right)
        case (.string(let left), .string(let right)): comparison.holds(left, right)
        case (.date(let left), .date(let right)): comparison.holds(left, right)
        case (.decimal(let left), .decimal(let right)): comparison.holds(left, right)
        case (.reference(let left), .reference(let right)): comparison.holds(left, right)
        case (.bytes(let left), .bytes(let right)):
            comparison.holds(left, right, inOrder: { left.lexicographicallyPrecedes($0) })
        case (.uuid(let left), .uuid(let right)):
            comparison.holds(left, right) { other in
                withUnsafeBytes(of: left.uuid) { one in
                    withUnsafeBytes(of: other.uuid) { one.lexicographicallyPrecedes($0) }
                }
            }
        // Places, lists and values of unknown types are equal or not, and in no order.
        case (.location, .location), (.list, .list), (.unknown, .unknown):
            comparison == (self == other ? .equal : .notEqual)
        default: comparison == .notEqual
        }
    }
}

extension Comparison {
    /// Whether the comparison holds, by equality and a test whether left comes before right.
    fileprivate func holds<Element: Equatable>(
        _ left: Element, _ right: Element, inOrder isBefore: (Element) -> Bool
    ) -> Bool {
        switch self {
        case .equal: left == right
        case .notEqual: left != right
        case .less: left != right && isBefore(right)
        case .lessOrEqual: left == right || isBefore(right)
        case .greater: left != right && !isBefore(right)
        case .greaterOrEqual: left == right || !isBefore(right)
        }
    }
}
