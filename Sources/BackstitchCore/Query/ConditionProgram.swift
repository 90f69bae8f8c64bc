import Foundation

/// The steps of a bound condition in one piece of memory, with the constants that they read.
///
/// Invariant: nothing changes after `init`, so that any thread may run it.
final class ConditionProgram: @unchecked Sendable {
    typealias Test = BoundCondition.Test

    let steps: UnsafeMutablePointer<ConditionStep>
    let constants: UnsafeMutableRawPointer
    let texts: [TextConstant]
    let keys: [SortedBytes]
    let tests: [Test]

    init(_ builder: ConditionBuilder) {
        let constants = UnsafeMutableRawPointer.allocate(
            byteCount: builder.constants.count, alignment: 8)
        steps = .allocate(capacity: builder.steps.count)
        steps.initialize(from: builder.steps, count: builder.steps.count)
        self.constants = constants
        builder.constants.withUnsafeBytes { bytes in
            guard let source = bytes.baseAddress else { return }
            constants.copyMemory(from: source, byteCount: bytes.count)
        }
        texts = builder.texts
        keys = builder.keys
        tests = builder.tests
    }

    deinit {
        steps.deallocate()
        constants.deallocate()
    }
}

/// Runs a program; valid as long as the condition that it was taken from is kept.
struct ConditionRunner {
    private let steps: UnsafePointer<ConditionStep>
    private let constants: UnsafeRawPointer
    private let program: Unmanaged<ConditionProgram>
    private let first: Int32

    init(_ program: ConditionProgram, first: Int32) {
        self.steps = UnsafePointer(program.steps)
        self.constants = UnsafeRawPointer(program.constants)
        self.program = .passUnretained(program)
        self.first = first
    }

    /// Whether the condition holds for a row.
    @inline(__always)
    func holds(for row: RowBytes) throws -> Bool {
        var at = first
        while at >= 0 {
            let step = steps + Int(at)
            at = try holds(step, row) ? step.pointee.onTrue : step.pointee.onFalse
        }
        return at == ConditionStep.accept
    }

    @inline(__always)
    private func holds(_ step: UnsafePointer<ConditionStep>, _ row: RowBytes) throws -> Bool {
        switch step.pointee.kind {
        case .closure:
            return try program._withUnsafeGuaranteedRef { try $0.tests[step.pointee.position](row) }
        case .recordKey:
            return Self.outcome(row.key, constant(step), step)
        default:
            break
        }
        guard let value = try row.value(of: FieldID(step.pointee.field)) else {
            return step.pointee.outcomes.has(ConditionStep.Outcomes.absent.rawValue)
        }
        switch step.pointee.kind {
        case .integer:
            return Self.outcome(
                value.storedInt64, Int64(bitPattern: step.pointee.bits), step)
        case .milliseconds:
            return Self.outcome(
                value.storedMilliseconds, Int64(bitPattern: step.pointee.bits), step)
        case .bool:
            return Self.outcome(
                value.storedBool.map { $0 ? 1 : 0 }, Int64(bitPattern: step.pointee.bits), step)
        case .double:
            return Self.outcome(value.storedDouble, Double(bitPattern: step.pointee.bits), step)
        case .float:
            return Self.outcome(value.storedFloat, Double(bitPattern: step.pointee.bits), step)
        case .ascii:
            guard value.tag == .string else { return Self.nullOutcome(step) }
            let constant = constant(step)
            let order = value.payload.order(constant)
            // The same bytes are the same text, and ASCII sorts as bytes do.
            if order == 0 || value.payload.isASCII { return Self.outcome(order, 0, step) }
            return text(step, value)
        case .text:
            guard value.tag == .string else { return Self.nullOutcome(step) }
            return text(step, value)
        case .reference:
            guard let key = value.storedKey else { return Self.nullOutcome(step) }
            return Self.outcome(key, constant(step), step)
        case .bytes:
            guard value.tag == .bytes else { return Self.nullOutcome(step) }
            return Self.outcome(value.payload, constant(step), step)
        case .uuid:
            guard value.tag == .uuid, value.payload.count == 16 else {
                return otherUUID(step, value)
            }
            return Self.outcome(value.payload, constant(step), step)
        case .contains, .prefix:
            return value.tag == .string && text(step, value)
        case .isNull:
            return value.isNull(as: step.pointee.type)
        case .integerMember:
            guard let number = value.storedInt64 else { return Self.nullOutcome(step) }
            return isMember(number, step)
        case .referenceMember:
            guard let key = value.storedKey else { return Self.nullOutcome(step) }
            return program._withUnsafeGuaranteedRef {
                $0.keys[step.pointee.position].contains(key)
            }
        case .closure, .recordKey:
            return false
        }
    }

    @inline(__always)
    private func constant(_ step: UnsafePointer<ConditionStep>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: constants + step.pointee.start, count: step.pointee.count)
    }

    @inline(__always)
    private static func nullOutcome(_ step: UnsafePointer<ConditionStep>) -> Bool {
        step.pointee.outcomes.has(ConditionStep.Outcomes.null.rawValue)
    }

    @inline(__always)
    private static func outcome<Number: Comparable>(
        _ number: Number?, _ constant: Number, _ step: UnsafePointer<ConditionStep>
    ) -> Bool {
        guard let number else { return nullOutcome(step) }
        let outcome: UInt8 =
            number < constant ? 1 : number == constant ? 2 : number > constant ? 4 : 8
        return step.pointee.outcomes.has(outcome)
    }

    @inline(__always)
    private static func outcome(
        _ bytes: UnsafeRawBufferPointer, _ constant: UnsafeRawBufferPointer,
        _ step: UnsafePointer<ConditionStep>
    ) -> Bool {
        outcome(bytes.order(constant), 0, step)
    }

    private func isMember(_ number: Int64, _ step: UnsafePointer<ConditionStep>) -> Bool {
        var (low, high) = (0, step.pointee.count)
        let numbers = constants + step.pointee.start
        while low < high {
            let middle = (low + high) / 2
            let found = numbers.loadUnaligned(fromByteOffset: 8 * middle, as: Int64.self)
            if found == number { return true }
            if found < number { low = middle + 1 } else { high = middle }
        }
        return false
    }

    /// What a constant text says of a stored one.
    private func text(_ step: UnsafePointer<ConditionStep>, _ value: _FieldValue) -> Bool {
        program._withUnsafeGuaranteedRef { program in
            let constant = program.texts[step.pointee.position]
            return switch step.pointee.kind {
            case .contains: constant.isContained(in: value.payload)
            case .prefix: constant.starts(value.payload)
            default: constant.holds(step.pointee.comparison, value.payload)
            }
        }
    }

    /// A UUID that is stored otherwise than as its 16 bytes.
    private func otherUUID(_ step: UnsafePointer<ConditionStep>, _ value: _FieldValue) -> Bool {
        guard let uuid = value.storedUUID else { return Self.nullOutcome(step) }
        return withUnsafeBytes(of: uuid.uuid) { Self.outcome($0, constant(step), step) }
    }
}

extension _FieldValue {
    /// Whether the value counts as null for an attribute of a type.
    @inline(__always)
    func isNull(as type: AttributeType) -> Bool {
        switch type {
        case .int16, .int32, .int64: storedInt64 == nil
        case .string, .url: tag != .string
        case .reference: storedKey == nil
        case .date: storedMilliseconds == nil
        case .double: storedDouble == nil
        default: stored(as: type) == .null
        }
    }
}
