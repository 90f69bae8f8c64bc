import Foundation

/// Calculates one aggregate from one row after another.
final class Accumulator {
    private let function: RecordQuery.Aggregate.Function
    private let attribute: AttributeBinding?
    /// For sums of whole numbers, what is particular to their type.
    private let integerTraits: (any IntegerTraits.Type)?
    private let readsInt64: Bool
    private var count = 0
    private var integers: Int128 = 0
    /// The sum of finite doubles; nil before the first.
    private var doubles: ExactSum?
    /// The sum of infinities and NaNs; zero while only finite doubles came.
    private var nonfinite = 0.0
    private var decimals = Decimal(0)
    private var bestKey = ByteBuffer(capacity: 32)
    private var best = RecordValue.null

    init(_ aggregate: RecordQuery.Aggregate, in entity: EntityBinding) throws {
        function = aggregate.function
        attribute = try aggregate.attribute.map { try entity.attribute(named: $0) }
        integerTraits = attribute?.type.traits as? any IntegerTraits.Type
        readsInt64 = integerTraits?.tag == .int64
        guard let attribute else { return }
        if function == .minimum || function == .maximum {
            try attribute.requireOrder(to: "asks for the \(function.rawValue) of", in: entity)
        }
        guard function == .sum || function == .average else { return }
        let type = attribute.type
        guard type.traits?.isNumber ?? false else {
            throw QueryError(
                .typeMismatch,
                "A query of \(entity.name) asks for the \(function.rawValue) of "
                    + "\(attribute.name), which is a \(type). Only numbers have one: ask for an "
                    + "attribute that is a number, or count the records.")
        }
    }

    /// Takes a row in.
    ///
    /// - Parameter scratch: A buffer that may be overwritten.
    func add(_ fields: PackedFields?, scratch: inout ByteBuffer) throws {
        guard let attribute else {
            count += 1
            return
        }
        guard let fields else { preconditionFailure("An aggregate of an attribute needs rows.") }
        let stored = try fields.value(of: attribute.field)
        switch function {
        case .count:
            if try attribute.value(of: fields) != .null { count += 1 }
        case .sum, .average:
            if let stored, let number = stored.storedInt64, readsInt64 {
                integers += Int128(number)
                count += 1
            } else {
                try add(attribute.value(of: fields), attribute)
            }
        case .minimum, .maximum:
            scratch.removeAll()
            try attribute.appendKey(of: fields, to: &scratch, textBytesMax: .max)
            guard unsafe scratch.bytes[0] != OrderedKey.null else { return }
            let order = unsafe count == 0 ? 0 : scratch.bytes.order(bestKey.bytes)
            count += 1
            guard count == 1 || (function == .minimum ? order < 0 : order > 0) else { return }
            bestKey.removeAll()
            unsafe bestKey.append(scratch.bytes)
            best = try attribute.value(of: fields)
        }
    }

    private func add(_ value: RecordValue, _ attribute: AttributeBinding) throws {
        switch value {
        case .double(let number):
            if number.isFinite {
                doubles = doubles ?? ExactSum()
                doubles?.add(number)
            } else {
                nonfinite += number
            }
        case .decimal(var number):
            var sum = Decimal()
            let failure = unsafe NSDecimalAdd(&sum, &decimals, &number, .plain)
            guard failure == .noError else { throw Self.inexact(attribute) }
            decimals = sum
        default:
            guard let number = integerTraits?.content(of: value) else { return }
            integers += Int128(number)
        }
        count += 1
    }

    /// Whether rows may be taken in by several of these, which are added up afterwards. A sum of decimals may
    /// have too many digits after some rows only, and says so as it comes to them.
    var isDivisible: Bool {
        (function != .sum && function != .average) || attribute?.type != .decimal
    }

    /// Adds the results of another one, whose rows come after its own.
    func add(_ later: Accumulator) {
        integers += later.integers
        nonfinite += later.nonfinite
        if let sum = later.doubles {
            doubles?.add(sum)
            doubles = doubles ?? sum
        }
        if later.count > 0, function == .minimum || function == .maximum {
            let order = unsafe count == 0 ? 0 : later.bestKey.bytes.order(bestKey.bytes)
            if count == 0 || (function == .minimum ? order < 0 : order > 0) {
                bestKey.removeAll()
                unsafe bestKey.append(later.bestKey.bytes)
                best = later.best
            }
        }
        count += later.count
    }

    /// What was calculated.
    ///
    /// - Throws: ``QueryError`` with code `arithmeticOverflow` if a sum leaves its type.
    func result() throws -> RecordValue {
        switch function {
        case .count: return .int64(Int64(count))
        case .minimum, .maximum: return best
        case .sum: return try sum()
        case .average:
            guard count > 0, let attribute else { return .null }
            switch attribute.type {
            case .decimal: return .decimal(decimals / Decimal(count))
            case .float, .double: return .double(doublesSum / Double(count))
            default: return integerTraits?.mean(ofSum: integers, count: count) ?? .null
            }
        }
    }

    private func sum() throws -> RecordValue {
        guard let attribute else { return .null }
        switch attribute.type {
        case .decimal: return .decimal(decimals)
        case .float, .double: return .double(doublesSum)
        default:
            guard let sum = Int64(exactly: integers) else {
                throw QueryError(
                    .arithmeticOverflow,
                    "The sum of \(attribute.name) leaves the range of 64 bits. Ask for the "
                        + "average and the count, or sum up parts of the records.")
            }
            return integerTraits?.value(sum) ?? .null
        }
    }

    /// Rounded once, so that it is the same in whatever order rows were added.
    private var doublesSum: Double { nonfinite == 0 ? doubles?.double ?? 0 : nonfinite }

    private static func inexact(_ attribute: AttributeBinding) -> QueryError {
        QueryError(
            .arithmeticOverflow,
            "The sum of \(attribute.name) needs more than the 38 digits of a Decimal. Sum up parts "
                + "of the records.")
    }
}

extension AttributeBinding {
    /// The effective value of the attribute in a row.
    package func value(of fields: PackedFields) throws(FieldError) -> RecordValue {
        guard let value = try fields.value(of: field), value.tag != .null else {
            return defaultValue
        }
        return effective(value)
    }
}
