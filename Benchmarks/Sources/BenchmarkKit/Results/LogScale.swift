import Foundation

/// A logarithmic scale that has 1 on it.
public struct LogScale: Equatable, Sendable {
    /// The value at the left end.
    public let low: Double
    /// The value at the right end.
    public let high: Double
    private let width: Double

    private static let steps = [1.0, 2, 5]

    /// A scale of a width that shows all positive values, and half to double in any case.
    public init(covering values: [Double], width: Double) {
        let shown = values.filter { $0 > 0 && $0.isFinite }
        let least = min(shown.min() ?? 0.5, 0.5)
        let most = max(shown.max() ?? 2, 2)
        low = Self.steps(around: least).last { $0 <= least } ?? least
        high = Self.steps(around: most).first { $0 >= most } ?? most
        self.width = width
    }

    /// Where a value stands, from the left end; values outside stand at the ends.
    public func position(_ value: Double) -> Double {
        guard value > 0 else { return 0 }
        let share = log(value / low) / log(high / low)
        return min(max(share, 0), 1) * width
    }

    /// The values that have a line: 1, 2 and 5 times the powers of ten.
    public var ticks: [Double] {
        var ticks: [Double] = []
        for exponent in Int(log10(low).rounded(.down))...Int(log10(high).rounded(.up)) {
            ticks += Self.steps.map { $0 * pow(10, Double(exponent)) }
        }
        return ticks.filter { $0 > low * 0.999 && $0 < high * 1.001 }
    }

    /// How a line is labelled.
    public static func label(_ tick: Double) -> String { String(format: "%g", tick) }

    /// The steps of the powers of ten around a value.
    private static func steps(around value: Double) -> [Double] {
        let exponent = Int(log10(value).rounded(.down))
        return ((exponent - 1)...(exponent + 1)).flatMap { exponent in
            steps.map { $0 * pow(10, Double(exponent)) }
        }
    }
}
