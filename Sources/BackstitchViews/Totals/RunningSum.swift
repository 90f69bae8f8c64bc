import BackstitchCore
import BackstitchLog
import BackstitchStore
import Foundation

/// An exact sum of numbers of one type, which numbers can be taken away from again.
enum RunningSum: Equatable {
    case integers(Int128)
    case decimals(Decimal)
    case doubles(ExactSum)

    /// Zero, for numbers of a type.
    init(of type: AttributeType) {
        switch type {
        case .decimal: self = .decimals(0)
        case .float, .double: self = .doubles(ExactSum())
        default: self = .integers(0)
        }
    }

    /// Adds a number, or takes it away; null and what is no number of the type leaves the sum.
    ///
    /// - Throws: `invalidProjection` if a sum of decimals needs more than 38 digits.
    mutating func change(by value: RecordValue, isAdded: Bool) throws {
        switch (self, value) {
        case (.integers(let sum), _):
            guard let number = value.wholeNumber else { break }
            self = .integers(isAdded ? sum + Int128(number) : sum - Int128(number))
        case (.decimals(var sum), .decimal(var number)):
            var result = Decimal()
            let failure =
                unsafe isAdded
                ? NSDecimalAdd(&result, &sum, &number, .plain)
                : NSDecimalSubtract(&result, &sum, &number, .plain)
            guard failure == .noError else {
                throw StoreError(
                    .invalidProjection,
                    "A sum needs more than the 38 digits of a Decimal. Round values before they are "
                        + "saved: a quotient such as a third has that many digits by itself.")
            }
            unsafe NSDecimalCompact(&result)
            self = .decimals(result)
        case (.doubles(var sum), .double(let number)):
            guard number.isFinite else {
                throw StoreError(
                    .invalidProjection, "A number to sum up is NaN or infinite. Leave it out.")
            }
            // So that the sum is the only one that holds its words, and is changed in place.
            self = .integers(0)
            if isAdded { sum.add(number) } else { sum.subtract(number) }
            self = .doubles(sum)
        default: break
        }
    }

    /// The sum of numbers of a type, as a value.
    ///
    /// - Throws: `invalidQuery` if a sum of integers leaves 64 bits.
    func total(of type: AttributeType) throws -> RecordValue {
        switch self {
        case .integers(let sum):
            guard let number = Int64(exactly: sum) else {
                throw StoreError(
                    .invalidQuery,
                    "The sum of a group leaves the range of 64 bits. Ask for the average.")
            }
            return type.value(wholeNumber: number)
        case .decimals(let sum): return .decimal(sum)
        case .doubles(let sum): return .double(sum.double)
        }
    }

    /// The mean of so many numbers; null of none.
    func mean(of count: Int, _ type: AttributeType) -> RecordValue {
        guard count > 0 else { return .null }
        return switch self {
        case .integers(let sum): type.mean(ofSum: sum, count: count)
        case .decimals(let sum): .decimal(sum / Decimal(count))
        case .doubles(let sum): .double(sum.double / Double(count))
        }
    }

    /// The value that is stored: 16 bytes little-endian, a decimal, or the bytes of an exact sum.
    var stored: RecordValue {
        switch self {
        case .integers(let sum):
            unsafe .bytes(withUnsafeBytes(of: sum.littleEndian) { unsafe Data($0) })
        case .decimals(let sum): .decimal(sum)
        case .doubles(let sum): .bytes(Data(sum.bytes))
        }
    }

    /// Reads a stored value; nil if it is not of the type.
    init?(_ stored: RecordValue, of type: AttributeType) {
        switch (stored, RunningSum(of: type)) {
        case (.bytes(let bytes), .integers) where bytes.count == 16:
            let sum = unsafe bytes.withUnsafeBytes { unsafe $0.loadUnaligned(as: Int128.self) }
            self = .integers(Int128(littleEndian: sum))
        case (.decimal(let sum), .decimals): self = .decimals(sum)
        case (.bytes(let bytes), .doubles):
            guard let sum = ExactSum(bytes: Array(bytes)) else { return nil }
            self = .doubles(sum)
        default: return nil
        }
    }
}
