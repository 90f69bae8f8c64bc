/// A number of elements or records that a condition asks for: an `Int` is that many, and a range such as
/// `2...`, `...3` or `2...5` any number in it.
public protocol _QueryCount: Sendable {
    /// The smallest number that fits; nil if any small number does.
    var _atLeast: Int? { get }
    /// The largest number that fits; nil if any large number does.
    var _atMost: Int? { get }
}

extension Int: _QueryCount {
    /// The number.
    public var _atLeast: Int? { self }
    /// The number.
    public var _atMost: Int? { self }
}

extension ClosedRange: _QueryCount where Bound == Int {
    /// The lower bound.
    public var _atLeast: Int? { lowerBound }
    /// The upper bound.
    public var _atMost: Int? { upperBound }
}

extension PartialRangeFrom: _QueryCount where Bound == Int {
    /// The lower bound.
    public var _atLeast: Int? { lowerBound }
    /// None.
    public var _atMost: Int? { nil }
}

extension PartialRangeThrough: _QueryCount where Bound == Int {
    /// None.
    public var _atLeast: Int? { nil }
    /// The upper bound.
    public var _atMost: Int? { upperBound }
}

extension _QueryCount {
    /// The condition on a number that fits, made of its comparisons with the bounds.
    func condition(_ comparison: (Comparison, Int) -> Condition) -> Condition {
        switch (_atLeast, _atMost) {
        case (let least?, let most?) where least == most: comparison(.equal, least)
        case (let least?, nil): comparison(.greaterOrEqual, least)
        case (nil, let most?): comparison(.lessOrEqual, most)
        case (let least, let most):
            .all(
                [
                    least.map { comparison(.greaterOrEqual, $0) },
                    most.map { comparison(.lessOrEqual, $0) },
                ].compactMap { $0 })
        }
    }
}
