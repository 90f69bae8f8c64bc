/// What several measurements of the same thing come to.
public struct Summary: Equatable, Sendable {
    /// The middle one, or the mean of the two in the middle.
    public let median: Double
    /// The smallest.
    public let min: Double
    /// The largest.
    public let max: Double

    /// Sums up; nil of nothing.
    public init?(_ values: [Double]) {
        let sorted = values.sorted()
        guard let first = sorted.first, let last = sorted.last else { return nil }
        let middle = sorted.count / 2
        median =
            sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
        min = first
        max = last
    }
}

extension [Double] {
    /// The value that a share of all, from 0 to 1, are not above; 0 of nothing.
    public func percentile(_ share: Double) -> Double {
        guard !isEmpty else { return 0 }
        let rank = Int((share * Double(count)).rounded(.up)) - 1
        return sorted()[Swift.min(Swift.max(rank, 0), count - 1)]
    }
}
