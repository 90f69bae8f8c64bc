public import Foundation

extension Date {
    /// The time in whole milliseconds since 1970, rounded to the nearest, as the service keeps it;
    /// nil if it is not finite or some 10,000 years away.
    @inlinable
    package var wholeMilliseconds: Int64? {
        let milliseconds = (timeIntervalSince1970 * 1000).rounded()
        guard milliseconds.isFinite, abs(milliseconds) < 1e15 else { return nil }
        return Int64(milliseconds)
    }

    /// The milliseconds that a query compares with: ``wholeMilliseconds``, or a time beyond all that can be stored;
    /// nil for a date that is not a number.
    package var comparedMilliseconds: Int64? {
        if let wholeMilliseconds { return wholeMilliseconds }
        guard !timeIntervalSince1970.isNaN else { return nil }
        return timeIntervalSince1970 < 0 ? -1_000_000_000_000_000 : 1_000_000_000_000_000
    }

    /// The time at a number of milliseconds since 1970.
    @inlinable
    package init(milliseconds: Int64) {
        self.init(timeIntervalSince1970: Double(milliseconds) / 1000)
    }
}
