import Foundation

/// How one aggregate is calculated from one row after another.
struct Accumulator {
    /// What came of some rows.
    struct State {
        fileprivate var count = 0
        fileprivate var integers: Int128 = 0
        /// The sum of finite doubles; nil before the first.
        fileprivate var doubles: ExactSum?
        /// The sum of infinities and NaNs; zero while only finite doubles came.
        fileprivate var nonfinite = 0.0
        fileprivate var decimals = Decimal(0)
        fileprivate var bestKey: [UInt8] = []
        fileprivate var best = RecordValue.null
    }

    private let function: RecordQuery.Aggregate.Function
    private let attribute: AttributeBinding?
    /// For sums of whole numbers, what is particular to their type.
    private let integerTraits: (any IntegerTraits.Type)?
    private let readsInt64: Bool

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
    func add(
        _ fields: PackedFields, to state: inout State, scratch: inout ByteBuffer
    ) throws {
        guard let attribute else {
            state.count += 1
            return
        }
        switch function {
        case .count:
            if try attribute.value(of: fields) != .null { state.count += 1 }
        case .sum, .average:
            if readsInt64, let number = try fields.value(of: attribute.field)?.storedInt64 {
                state.integers += Int128(number)
                state.count += 1
            } else {
                try add(attribute.value(of: fields), attribute, to: &state)
            }
        case .minimum, .maximum:
            scratch.removeAll()
            try attribute.appendKey(of: fields, to: &scratch, textBytesMax: .max)
            guard unsafe scratch.bytes[0] != OrderedKey.null else { return }
            state.count += 1
            guard unsafe isBetter(scratch.bytes, than: state) else { return }
            state.bestKey = scratch.array
            state.best = try attribute.value(of: fields)
        }
    }

    /// Whether a key comes before the best one, or behind it for a maximum. An empty key is that of no value.
    private func isBetter(_ key: UnsafeRawBufferPointer, than state: State) -> Bool {
        if state.bestKey.isEmpty { return true }
        let order = unsafe key.order(state.bestKey)
        return function == .minimum ? order < 0 : order > 0
    }

    private func add(
        _ value: RecordValue, _ attribute: AttributeBinding, to state: inout State
    ) throws {
        switch value {
        case .double(let number):
            if number.isFinite {
                state.doubles = state.doubles ?? ExactSum()
                state.doubles?.add(number)
            } else {
                state.nonfinite += number
            }
        case .decimal(var number):
            var sum = Decimal()
            let failure = unsafe NSDecimalAdd(&sum, &state.decimals, &number, .plain)
            guard failure == .noError else { throw Self.inexact(attribute) }
            state.decimals = sum
        default:
            guard let number = integerTraits?.content(of: value) else { return }
            state.integers += Int128(number)
        }
        state.count += 1
    }

    /// Whether rows may be taken in by several states, which are added up afterwards. A sum of decimals may
    /// have too many digits after some rows only, and says so as it comes to them.
    var isDivisible: Bool {
        (function != .sum && function != .average) || attribute?.type != .decimal
    }

    /// Adds what came of rows that come after those of the other state.
    func add(_ later: State, to state: inout State) {
        state.integers += later.integers
        state.nonfinite += later.nonfinite
        if let sum = later.doubles {
            state.doubles?.add(sum)
            state.doubles = state.doubles ?? sum
        }
        state.count += later.count
        guard !later.bestKey.isEmpty,
            unsafe later.bestKey.withUnsafeBytes({ unsafe isBetter($0, than: state) })
        else { return }
        state.bestKey = later.bestKey
        state.best = later.best
    }

    /// What was calculated.
    ///
    /// - Throws: ``QueryError`` with code `arithmeticOverflow` if a sum leaves its type.
    func result(of state: State) throws -> RecordValue {
        switch function {
        case .count: return .int64(Int64(state.count))
        case .minimum, .maximum: return state.best
        case .sum: return try sum(of: state)
        case .average:
            guard state.count > 0, let attribute else { return .null }
            switch attribute.type {
            case .decimal: return .decimal(state.decimals / Decimal(state.count))
            case .float, .double: return .double(state.doublesSum / Double(state.count))
            default:
                return integerTraits?.mean(ofSum: state.integers, count: state.count) ?? .null
            }
        }
    }

    private func sum(of state: State) throws -> RecordValue {
        guard let attribute else { return .null }
        switch attribute.type {
        case .decimal: return .decimal(state.decimals)
        case .float, .double: return .double(state.doublesSum)
        default:
            guard let sum = Int64(exactly: state.integers) else {
                throw QueryError(
                    .arithmeticOverflow,
                    "The sum of \(attribute.name) leaves the range of 64 bits. Ask for the "
                        + "average and the count, or sum up parts of the records.")
            }
            return integerTraits?.value(sum) ?? .null
        }
    }

    private static func inexact(_ attribute: AttributeBinding) -> QueryError {
        QueryError(
            .arithmeticOverflow,
            "The sum of \(attribute.name) needs more than the 38 digits of a Decimal. A quotient such "
                + "as a third has that many by itself: round values before they are saved, or "
                + "fetch them and add them up rounded.")
    }
}

extension Accumulator.State {
    /// Rounded once, so that it is the same in whatever order rows were added.
    fileprivate var doublesSum: Double { nonfinite == 0 ? doubles?.double ?? 0 : nonfinite }
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
