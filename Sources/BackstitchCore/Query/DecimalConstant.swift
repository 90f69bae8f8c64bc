import Foundation

/// A decimal that rows are compared with: by whole numbers if both have few digits.
struct DecimalConstant: Sendable {
    /// A number as a whole number and the count of its digits after the point.
    struct Scaled: Sendable {
        var number: Int64
        var scale: Int

        /// Reads plain decimal text of up to 18 digits; nil for other text.
        @inline(__always)
        init?(_ text: UnsafeRawBufferPointer) {
            guard text.count <= 19, let first = unsafe text.first else { return nil }
            number = 0
            scale = 0
            var hasPoint = false
            let isNegative = first == UInt8(ascii: "-")
            var at = isNegative ? 1 : 0
            while at < text.count {
                let digit = unsafe text[at] &- UInt8(ascii: "0")
                if digit <= 9 {
                    number = number &* 10 &+ Int64(digit)
                    if hasPoint { scale += 1 }
                } else if unsafe text[at] == UInt8(ascii: "."), !hasPoint {
                    hasPoint = true
                } else {
                    return nil
                }
                at += 1
            }
            if text.count == 19, !hasPoint, !isNegative { return nil }
            if isNegative { number = -number }
        }

        /// The number with more digits after the point; nil if it becomes too large.
        @inline(__always)
        func number(scale wanted: Int) -> Int64? {
            var result = number
            for _ in 0..<(wanted - scale) {
                let (product, hasOverflowed) = result.multipliedReportingOverflow(by: 10)
                if hasOverflowed { return nil }
                result = product
            }
            return result
        }
    }

    private let decimal: Decimal
    private let scaled: Scaled?

    init(_ decimal: Decimal) {
        self.decimal = decimal
        var text = decimal.description
        scaled = text.withUTF8 { unsafe Scaled(UnsafeRawBufferPointer($0)) }
    }

    /// Whether a comparison of a stored value with this decimal holds; a value of another type
    /// counts as null.
    func holds(_ comparison: Comparison, _ stored: _FieldValue) -> Bool {
        if stored.tag == .decimal, let scaled, let other = unsafe Scaled(stored.payload) {
            let scale = max(scaled.scale, other.scale)
            if let left = other.number(scale: scale), let right = scaled.number(scale: scale) {
                return comparison.holds(left, right)
            }
        }
        return stored.stored(as: .decimal).matches(comparison, .decimal(decimal))
    }
}
