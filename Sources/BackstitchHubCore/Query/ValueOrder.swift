import BackstitchCore
import CloudKitWire
import Foundation

/// How values of fields compare: numbers by size whatever their type, text and bytes byte by byte,
/// references by the name of their target.
enum ValueOrder {
    /// Which of two values is less; nil if they can't be compared.
    static func compare(_ left: ServiceValue, _ right: ServiceValue) -> ComparisonResult? {
        switch (left, right) {
        case (.string(let left), .string(let right)): order(left.utf8, right.utf8)
        case (.bytes(let left), .bytes(let right)): order(left, right)
        case (.reference(let left), .reference(let right)):
            order(left.recordName.utf8, right.recordName.utf8)
        case (.location(let left), .location(let right)):
            left.latitude == right.latitude
                ? order(left.longitude, right.longitude) : order(left.latitude, right.latitude)
        default: compareNumbers(left, right)
        }
    }

    private static func compareNumbers(
        _ left: ServiceValue, _ right: ServiceValue
    ) -> ComparisonResult? {
        if let left = left.wholeNumber, let right = right.wholeNumber { return order(left, right) }
        guard let left = left.number, let right = right.number else { return nil }
        return order(left, right)
    }

    private static func order<Value: Comparable>(_ left: Value, _ right: Value) -> ComparisonResult
    {
        left < right ? .orderedAscending : left == right ? .orderedSame : .orderedDescending
    }

    private static func order(
        _ left: some Sequence<UInt8>, _ right: some Sequence<UInt8>
    ) -> ComparisonResult {
        if left.lexicographicallyPrecedes(right) { return .orderedAscending }
        return left.elementsEqual(right) ? .orderedSame : .orderedDescending
    }

    /// Which of two values comes first in an order; those that can't be compared come by their type.
    static func order(_ left: ServiceValue, _ right: ServiceValue) -> ComparisonResult {
        compare(left, right) ?? order(left.rank, right.rank)
    }

    /// Whether two values are the same.
    static func isEqual(_ left: ServiceValue, _ right: ServiceValue) -> Bool {
        if case .list(let left, _) = left, case .list(let right, _) = right {
            return left.count == right.count && zip(left, right).allSatisfy { isEqual($0, $1) }
        }
        return compare(left, right) == .orderedSame
    }

    /// The metres between two places on a sphere (haversine formula; radius 6,371,000 m).
    static func distance(_ left: ServiceLocation, _ right: ServiceLocation) -> Double {
        let radians = Double.pi / 180
        let latitude = (right.latitude - left.latitude) * radians / 2
        let longitude = (right.longitude - left.longitude) * radians / 2
        let chord =
            sin(latitude) * sin(latitude) + cos(left.latitude * radians)
            * cos(right.latitude * radians) * sin(longitude) * sin(longitude)
        return 2 * 6_371_000 * asin(min(1, chord.squareRoot()))
    }
}

extension ServiceValue {
    fileprivate var wholeNumber: Int64? {
        switch self {
        case .int64(let number), .timestamp(let number): number
        default: nil
        }
    }

    fileprivate var number: Double? {
        if case .double(let number) = self { return number }
        return wholeNumber.map { Double($0) }
    }

    /// A number for the types that compare with one another.
    fileprivate var rank: Int {
        switch self {
        case .int64, .double, .timestamp: 0
        case .string: 1
        case .bytes: 2
        case .reference: 3
        case .location: 4
        case .asset: 5
        case .list: 6
        case .unknown: 7
        case .null: 8
        }
    }

    /// The elements of a list, or the value alone.
    var elements: [ServiceValue] {
        if case .list(let elements, _) = self { elements } else { [self] }
    }

    /// The words of text, or of a list of texts, in lower case.
    var tokens: Set<String> {
        var words: Set<String> = []
        for case .string(let text) in elements {
            for word in text.lowercased().split(whereSeparator: { !$0.isLetter && !$0.isNumber }) {
                words.insert(String(word))
            }
        }
        return words
    }
}
