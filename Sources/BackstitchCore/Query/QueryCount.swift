/// A number of elements or records that a condition asks for.
public struct QueryCount: Hashable, Sendable {
    package let comparison: Comparison
    package let number: Int

    package init(_ comparison: Comparison, _ number: Int) {
        self.comparison = comparison
        self.number = number
    }

    /// As many as this.
    public static func exactly(_ number: Int) -> QueryCount { QueryCount(.equal, number) }

    /// As many as this, or more.
    public static func atLeast(_ number: Int) -> QueryCount { QueryCount(.greaterOrEqual, number) }

    /// As many as this, or fewer.
    public static func atMost(_ number: Int) -> QueryCount { QueryCount(.lessOrEqual, number) }
}
