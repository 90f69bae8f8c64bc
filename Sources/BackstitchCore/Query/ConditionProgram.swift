import Foundation

/// The steps of a bound condition in one piece of memory, with the constants that they read.
///
/// Invariant: nothing changes after `init`, so that any thread may run it.
@safe
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
        unsafe steps = .allocate(capacity: builder.steps.count)
        unsafe steps.initialize(from: builder.steps, count: builder.steps.count)
        unsafe self.constants = constants
        unsafe builder.constants.withUnsafeBytes { bytes in
            guard let source = bytes.baseAddress else { return }
            unsafe constants.copyMemory(from: source, byteCount: bytes.count)
        }
        texts = builder.texts
        keys = builder.keys
        tests = builder.tests
    }

    deinit {
        unsafe steps.deallocate()
        unsafe constants.deallocate()
    }
}

/// Runs a program; valid as long as the condition that it was taken from is kept.
@safe
struct ConditionRunner {
    private let steps: UnsafePointer<ConditionStep>
    private let constants: UnsafeRawPointer
    private let program: Unmanaged<ConditionProgram>
    private let first: Int32

    /// - Parameter program: Kept by the caller as long as the runner.
    @unsafe init(_ program: ConditionProgram, first: Int32) {
        unsafe self.steps = UnsafePointer(program.steps)
        unsafe self.constants = UnsafeRawPointer(program.constants)
        unsafe self.program = .passUnretained(program)
        self.first = first
    }

    /// Whether the condition holds for a row.
    @inline(__always)
    func holds(for row: RowBytes) throws -> Bool {
        var at = first
        while at >= 0 {
            let step = unsafe steps + Int(at)
            at = try unsafe holds(step, row) ? step.pointee.onTrue : step.pointee.onFalse
        }
        return at == ConditionStep.accept
    }

    @inline(__always)
    private func holds(_ step: UnsafePointer<ConditionStep>, _ row: RowBytes) throws -> Bool {
        switch unsafe step.pointee.kind {
        case .closure:
            return try unsafe program._withUnsafeGuaranteedRef {
                try unsafe $0.tests[step.pointee.position](row)
            }
        case .recordKey:
            return unsafe Self.outcome(row.key, constant(step), step)
        default:
            break
        }
        guard let value = try unsafe row.value(of: FieldID(step.pointee.field)) else {
            return unsafe step.pointee.outcomes.has(ConditionStep.Outcomes.absent.rawValue)
        }
        switch unsafe step.pointee.kind {
        case .integer:
            return unsafe Self.outcome(
                value.storedInt64, Int64(bitPattern: step.pointee.bits), step)
        case .milliseconds:
            return unsafe Self.outcome(
                value.storedMilliseconds, Int64(bitPattern: step.pointee.bits), step)
        case .bool:
            return unsafe Self.outcome(
                value.storedBool.map { $0 ? 1 : 0 }, Int64(bitPattern: step.pointee.bits), step)
        case .double:
            return unsafe Self.outcome(
                value.storedDouble, Double(bitPattern: step.pointee.bits), step)
        case .float:
            return unsafe Self.outcome(
                value.storedFloat, Double(bitPattern: step.pointee.bits), step)
        case .ascii:
            guard value.tag == .string else { return unsafe Self.nullOutcome(step) }
            let constant = unsafe constant(step)
            let order = unsafe value.payload.order(constant)
            // The same bytes are the same text, and ASCII sorts as bytes do.
            if unsafe order == 0 || value.payload.isASCII {
                return unsafe Self.outcome(order, 0, step)
            }
            return unsafe text(step, value)
        case .text:
            guard value.tag == .string else { return unsafe Self.nullOutcome(step) }
            return unsafe text(step, value)
        case .reference:
            guard let key = unsafe value.storedKey else { return unsafe Self.nullOutcome(step) }
            return unsafe Self.outcome(key, constant(step), step)
        case .bytes:
            guard value.tag == .bytes else { return unsafe Self.nullOutcome(step) }
            return unsafe Self.outcome(value.payload, constant(step), step)
        case .uuid:
            guard value.tag == .uuid, unsafe value.payload.count == 16 else {
                return unsafe otherUUID(step, value)
            }
            return unsafe Self.outcome(value.payload, constant(step), step)
        case .contains, .prefix:
            return unsafe value.tag == .string && text(step, value)
        case .isNull:
            return unsafe value.isNull(as: step.pointee.type)
        case .integerMember:
            guard let number = value.storedInt64 else { return unsafe Self.nullOutcome(step) }
            return unsafe isMember(number, step)
        case .referenceMember:
            guard let key = unsafe value.storedKey else { return unsafe Self.nullOutcome(step) }
            return unsafe program._withUnsafeGuaranteedRef {
                unsafe $0.keys[step.pointee.position].contains(key)
            }
        case .closure, .recordKey:
            return false
        }
    }

    @inline(__always)
    private func constant(_ step: UnsafePointer<ConditionStep>) -> UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(
            start: constants + step.pointee.start, count: step.pointee.count)
    }

    @inline(__always)
    private static func nullOutcome(_ step: UnsafePointer<ConditionStep>) -> Bool {
        unsafe step.pointee.outcomes.has(ConditionStep.Outcomes.null.rawValue)
    }

    @inline(__always)
    private static func outcome<Number: Comparable>(
        _ number: Number?, _ constant: Number, _ step: UnsafePointer<ConditionStep>
    ) -> Bool {
        guard let number else { return unsafe nullOutcome(step) }
        let outcome: UInt8 =
            number < constant ? 1 : number == constant ? 2 : number > constant ? 4 : 8
        return unsafe step.pointee.outcomes.has(outcome)
    }

    @inline(__always)
    private static func outcome(
        _ bytes: UnsafeRawBufferPointer, _ constant: UnsafeRawBufferPointer,
        _ step: UnsafePointer<ConditionStep>
    ) -> Bool {
        unsafe outcome(bytes.order(constant), 0, step)
    }

    private func isMember(_ number: Int64, _ step: UnsafePointer<ConditionStep>) -> Bool {
        var (low, high) = unsafe (0, step.pointee.count)
        let numbers = unsafe constants + step.pointee.start
        while low < high {
            let middle = (low + high) / 2
            let found = unsafe Int64(
                littleEndian: numbers.loadUnaligned(fromByteOffset: 8 * middle, as: Int64.self))
            if found == number { return true }
            if found < number { low = middle + 1 } else { high = middle }
        }
        return false
    }

    /// What a constant text says of a stored one.
    private func text(_ step: UnsafePointer<ConditionStep>, _ value: _FieldValue) -> Bool {
        unsafe program._withUnsafeGuaranteedRef { program in
            let constant = unsafe program.texts[step.pointee.position]
            return switch unsafe step.pointee.kind {
            case .contains: unsafe constant.isContained(in: value.payload)
            case .prefix: unsafe constant.starts(value.payload)
            default: unsafe constant.holds(step.pointee.comparison, value.payload)
            }
        }
    }

    /// A UUID that is stored otherwise than as its 16 bytes.
    private func otherUUID(_ step: UnsafePointer<ConditionStep>, _ value: _FieldValue) -> Bool {
        guard let uuid = value.storedUUID else { return unsafe Self.nullOutcome(step) }
        return unsafe withUnsafeBytes(of: uuid.uuid) {
            unsafe Self.outcome($0, constant(step), step)
        }
    }
}

extension _FieldValue {
    /// Whether the value counts as null for an attribute of a type.
    @inline(__always)
    func isNull(as type: AttributeType) -> Bool {
        switch type {
        case .int16, .int32, .int64: storedInt64 == nil
        case .string, .url: tag != .string
        case .reference: unsafe storedKey == nil
        case .date: storedMilliseconds == nil
        case .double: storedDouble == nil
        default: stored(as: type) == .null
        }
    }
}
