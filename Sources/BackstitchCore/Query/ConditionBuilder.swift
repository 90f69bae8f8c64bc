import Foundation

/// Turns a condition into the steps of a program.
///
/// Each condition is built for two targets: where to go on if it holds, and if it does not. Parts
/// are built from the last to the first, so that a target is known before what jumps to it.
struct ConditionBuilder {
    private(set) var steps: [ConditionStep] = []
    private(set) var constants: [UInt8] = []
    private(set) var texts: [TextConstant] = []
    private(set) var keys: [SortedBytes] = []
    private(set) var tests: [BoundCondition.Test] = []
    let entity: EntityBinding

    init(entity: EntityBinding) {
        self.entity = entity
    }

    /// Adds a condition and returns its first step, or the target that it always leads to.
    mutating func add(
        _ condition: Condition, onTrue: Int32, onFalse: Int32
    ) throws -> Int32 {
        switch condition {
        case .constant(let truth): return truth ? onTrue : onFalse
        case .all(let parts):
            return try parts.reversed().reduce(onTrue) { next, part in
                try add(part, onTrue: next, onFalse: onFalse)
            }
        case .any(let parts):
            return try parts.reversed().reduce(onFalse) { next, part in
                try add(part, onTrue: onTrue, onFalse: next)
            }
        case .not(let inner): return try add(inner, onTrue: onFalse, onFalse: onTrue)
        case .conditional(let test, let yes, let no):
            let yes = try add(yes, onTrue: onTrue, onFalse: onFalse)
            let no = try add(no, onTrue: onTrue, onFalse: onFalse)
            return try add(test, onTrue: yes, onFalse: no)
        default:
            var step = try self.step(for: condition)
            step.onTrue = onTrue
            step.onFalse = onFalse
            steps.append(step)
            return Int32(steps.count - 1)
        }
    }

    private mutating func step(for condition: Condition) throws -> ConditionStep {
        if let attribute = try derivedAttribute(in: condition) {
            if let test = BoundCondition.foldedTest(attribute, condition) { return closure(test) }
            return closure(try BoundCondition.generalTest(for: condition, in: entity))
        }
        switch condition {
        case .isNull(.attribute(let name)):
            return nullStep(try entity.attribute(named: name))
        case .comparison(.attribute(let name), let comparison, .constant(let value)):
            let attribute = try entity.attribute(named: name)
            if let step = comparisonStep(attribute, comparison, value) { return step }
            return closure(BoundCondition.comparisonTest(attribute, comparison, value))
        case .comparison(.recordKey, let comparison, .constant(.reference(let key))):
            var step = ConditionStep(kind: .recordKey)
            step.outcomes = ConditionStep.Outcomes(comparison)
            keep(key.bytes, in: &step)
            return step
        case .contains(.attribute(let name), .constant(let element))
        where try entity.attribute(named: name).type.element != nil:
            return closure(
                BoundCondition.elementTest(try entity.attribute(named: name), element))
        case .contains(.attribute(let name), .constant(.string(let part))):
            return textStep(.contains, try entity.attribute(named: name), part) {
                TextConstant.characters(of: $0, contain: part)
            }
        case .prefix(.attribute(let name), .constant(.string(let part))):
            return textStep(.prefix, try entity.attribute(named: name), part) {
                $0.starts(with: part)
            }
        case .membership(.attribute(let name), let values):
            let attribute = try entity.attribute(named: name)
            if let step = memberStep(attribute, values) { return step }
            return closure(BoundCondition.membershipTest(attribute, values))
        case .membership(.recordKey, let values):
            let keys = SortedBytes(Self.keys(in: values))
            return closure { unsafe keys.contains($0.key) }
        default:
            return closure(try BoundCondition.generalTest(for: condition, in: entity))
        }
    }

    /// The derived attribute that a condition asks about, which no step of a program reads.
    private func derivedAttribute(in condition: Condition) throws -> AttributeBinding? {
        switch condition {
        case .isNull(.attribute(let name)), .comparison(.attribute(let name), _, _),
            .contains(.attribute(let name), _), .prefix(.attribute(let name), _),
            .membership(.attribute(let name), _):
            let attribute = try entity.attribute(named: name)
            return attribute.derivation == nil ? nil : attribute
        default: return nil
        }
    }

    private mutating func closure(_ test: @escaping BoundCondition.Test) -> ConditionStep {
        var step = ConditionStep(kind: .closure)
        step.position = tests.count
        tests.append(test)
        return step
    }

    private mutating func keep(_ bytes: [UInt8], in step: inout ConditionStep) {
        step.start = constants.count
        step.count = bytes.count
        constants += bytes
    }

    private func nullStep(_ attribute: AttributeBinding) -> ConditionStep {
        var step = ConditionStep(kind: .isNull)
        step.field = attribute.field.rawValue
        step.type = attribute.type
        if attribute.defaultValue == .null { step.outcomes = .absent }
        return step
    }

    private mutating func comparisonStep(
        _ attribute: AttributeBinding, _ comparison: Comparison, _ constant: RecordValue
    ) -> ConditionStep? {
        var step = ConditionStep(kind: .integer)
        switch (constant, attribute.type) {
        case (.int64(let number), .int16), (.int64(let number), .int32),
            (.int64(let number), .int64):
            step.bits = UInt64(bitPattern: number)
        case (.date(let milliseconds), .date):
            step.kind = .milliseconds
            step.bits = UInt64(bitPattern: milliseconds)
        case (.bool(let truth), .bool):
            step.kind = .bool
            step.bits = truth ? 1 : 0
        case (.double(let number), .double):
            step.kind = .double
            step.bits = number.bitPattern
        case (.double(let number), .float):
            step.kind = .float
            step.bits = number.bitPattern
        case (.string(let text), .string), (.string(let text), .url):
            let bytes = Array(text.utf8)
            step.kind = bytes.allSatisfy { $0 < 0x80 } ? .ascii : .text
            step.position = texts.count
            texts.append(TextConstant(text))
            keep(bytes, in: &step)
        case (.reference(let key), .reference):
            step.kind = .reference
            keep(key.bytes, in: &step)
        case (.bytes(let data), .data):
            step.kind = .bytes
            keep(Array(data), in: &step)
        case (.uuid(let uuid), .uuid):
            step.kind = .uuid
            unsafe keep(withUnsafeBytes(of: uuid.uuid) { unsafe Array($0) }, in: &step)
        default:
            return nil
        }
        step.field = attribute.field.rawValue
        step.comparison = comparison
        step.outcomes = ConditionStep.Outcomes(comparison)
        if attribute.defaultValue.matches(comparison, constant) { step.outcomes.insert(.absent) }
        return step
    }

    private mutating func textStep(
        _ kind: ConditionStep.Kind, _ attribute: AttributeBinding, _ part: String,
        _ holds: (String) -> Bool
    ) -> ConditionStep {
        var step = ConditionStep(kind: kind)
        step.field = attribute.field.rawValue
        step.position = texts.count
        texts.append(TextConstant(part))
        if case .string(let text) = attribute.defaultValue, holds(text) {
            step.outcomes = .absent
        }
        return step
    }

    private mutating func memberStep(
        _ attribute: AttributeBinding, _ values: [RecordValue]
    ) -> ConditionStep? {
        var step = ConditionStep(kind: .integerMember)
        switch attribute.type {
        case .int16, .int32, .int64:
            let numbers = Set(
                values.compactMap { if case .int64(let number) = $0 { number } else { nil } })
            keep(numbers.sorted().flatMap(\.littleEndianBytes), in: &step)
            step.count = numbers.count
        case .reference:
            step.kind = .referenceMember
            step.position = keys.count
            keys.append(SortedBytes(Self.keys(in: values)))
        default: return nil
        }
        step.field = attribute.field.rawValue
        if values.contains(.null) { step.outcomes.insert(.null) }
        if values.contains(where: { attribute.defaultValue.matches(.equal, $0) }) {
            step.outcomes.insert(.absent)
        }
        return step
    }

    private static func keys(in values: [RecordValue]) -> [[UInt8]] {
        values.compactMap { if case .reference(let key) = $0 { key.bytes } else { nil } }
    }
}
