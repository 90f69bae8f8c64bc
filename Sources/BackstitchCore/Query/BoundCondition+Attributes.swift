import Foundation

/// Tests of one attribute against constants, read from the row's bytes.
///
/// A row without the field has the default, whose result is found beforehand.
extension BoundCondition {
    static func nullTest(_ attribute: AttributeBinding) -> Test {
        let (field, type) = (attribute.field, attribute.type)
        let isNullWithout = attribute.defaultValue == .null
        switch type {
        case .int16, .int32, .int64:
            return { row in
                guard let value = try row.value(of: field) else { return isNullWithout }
                return value.storedInt64 == nil
            }
        case .string, .url:
            return { row in
                guard let value = try row.value(of: field) else { return isNullWithout }
                return value.tag != .string
            }
        case .reference:
            return { row in
                guard let value = try row.value(of: field) else { return isNullWithout }
                return value.storedKey == nil
            }
        default:
            return { row in
                guard let value = try row.value(of: field) else { return isNullWithout }
                return value.stored(as: type) == .null
            }
        }
    }

    static func comparisonTest(
        _ attribute: AttributeBinding, _ comparison: Comparison, _ constant: Value
    ) -> Test {
        let field = attribute.field
        let without = attribute.defaultValue.matches(comparison, constant)
        switch (constant, attribute.type) {
        case (.int64(let number), .int16), (.int64(let number), .int32),
            (.int64(let number), .int64):
            return numeric(field, comparison, number, without: without) { $0.storedInt64 }
        case (.date(let milliseconds), .date):
            return numeric(field, comparison, milliseconds, without: without) {
                $0.storedMilliseconds
            }
        case (.double(let number), .double):
            return numeric(field, comparison, number, without: without) { $0.storedDouble }
        case (.double(let number), .float):
            return numeric(field, comparison, number, without: without) { $0.storedFloat }
        case (.bool(let truth), .bool):
            return numeric(field, comparison, truth ? 1 : 0, without: without) {
                $0.storedBool.map { $0 ? 1 : 0 }
            }
        case (.string(let text), .string), (.string(let text), .url):
            let constant = TextConstant(text)
            return { row in
                guard let value = try row.value(of: field) else { return without }
                guard value.tag == .string else { return comparison == .notEqual }
                return constant.holds(comparison, value.payload)
            }
        case (.reference(let key), .reference):
            return bytes(field, comparison, key.bytes, without: without) { $0.storedKey }
        case (.bytes(let data), .data):
            return bytes(field, comparison, [UInt8](data), without: without) {
                $0.tag == .bytes ? $0.payload : nil
            }
        case (.uuid(let uuid), .uuid):
            let constant = withUnsafeBytes(of: uuid.uuid) { [UInt8]($0) }
            return { row in
                guard let value = try row.value(of: field) else { return without }
                if value.tag == .uuid, value.payload.count == 16 {
                    return constant.withUnsafeBytes {
                        comparison.holds(value.payload.order($0), 0)
                    }
                }
                return value.stored(as: .uuid).matches(comparison, .uuid(uuid))
            }
        case (.decimal(let decimal), .decimal):
            let constant = DecimalConstant(decimal)
            return { row in
                guard let value = try row.value(of: field) else { return without }
                return constant.holds(comparison, value)
            }
        default:
            let type = attribute.type
            return { row in
                guard let value = try row.value(of: field) else { return without }
                return value.stored(as: type).matches(comparison, constant)
            }
        }
    }

    /// One closure per comparison, so that none is chosen for each row.
    @inline(__always)
    private static func numeric<Number: Comparable & Sendable>(
        _ field: FieldID, _ comparison: Comparison, _ constant: Number, without: Bool,
        _ read: @escaping @Sendable (FieldValue) -> Number?
    ) -> Test {
        switch comparison {
        case .equal:
            return { row in
                guard let value = try row.value(of: field) else { return without }
                guard let number = read(value) else { return false }
                return number == constant
            }
        case .notEqual:
            return { row in
                guard let value = try row.value(of: field) else { return without }
                guard let number = read(value) else { return true }
                return number != constant
            }
        case .less:
            return { row in
                guard let value = try row.value(of: field) else { return without }
                guard let number = read(value) else { return false }
                return number < constant
            }
        case .lessOrEqual:
            return { row in
                guard let value = try row.value(of: field) else { return without }
                guard let number = read(value) else { return false }
                return number <= constant
            }
        case .greater:
            return { row in
                guard let value = try row.value(of: field) else { return without }
                guard let number = read(value) else { return false }
                return number > constant
            }
        case .greaterOrEqual:
            return { row in
                guard let value = try row.value(of: field) else { return without }
                guard let number = read(value) else { return false }
                return number >= constant
            }
        }
    }

    @inline(__always)
    private static func bytes(
        _ field: FieldID, _ comparison: Comparison, _ constant: [UInt8], without: Bool,
        _ read: @escaping @Sendable (FieldValue) -> UnsafeRawBufferPointer?
    ) -> Test {
        { row in
            guard let value = try row.value(of: field) else { return without }
            guard let bytes = read(value) else { return comparison == .notEqual }
            return constant.withUnsafeBytes { comparison.holds(bytes.order($0), 0) }
        }
    }

    static func containsTest(_ attribute: AttributeBinding, _ part: TextConstant) -> Test {
        let field = attribute.field
        var without = false
        if case .string(let text) = attribute.defaultValue {
            without = TextConstant.characters(of: text, contain: part.text)
        }
        return { [without] row in
            guard let value = try row.value(of: field) else { return without }
            return value.tag == .string && part.isContained(in: value.payload)
        }
    }

    static func prefixTest(_ attribute: AttributeBinding, _ prefix: TextConstant) -> Test {
        let field = attribute.field
        var without = false
        if case .string(let text) = attribute.defaultValue {
            without = text.starts(with: prefix.text)
        }
        return { [without] row in
            guard let value = try row.value(of: field) else { return without }
            return value.tag == .string && prefix.starts(value.payload)
        }
    }

    static func membershipTest(_ attribute: AttributeBinding, _ values: [Value]) -> Test {
        let (field, type) = (attribute.field, attribute.type)
        let without = values.contains { attribute.defaultValue.matches(.equal, $0) }
        let hasNull = values.contains(.null)
        switch type {
        case .int16, .int32, .int64:
            let numbers = Set(
                values.compactMap { if case .int64(let number) = $0 { number } else { nil } })
            return { row in
                guard let value = try row.value(of: field) else { return without }
                return value.storedInt64.map { numbers.contains($0) } ?? hasNull
            }
        case .reference:
            let keys = SortedBytes(
                values.compactMap { if case .reference(let key) = $0 { key.bytes } else { nil } })
            return { row in
                guard let value = try row.value(of: field) else { return without }
                return value.storedKey.map { keys.contains($0) } ?? hasNull
            }
        default:
            // Equality of values agrees with hashing but for NaN, which equals nothing.
            let set = Set(values.filter { $0.matches(.equal, $0) })
            return { row in
                guard let value = try row.value(of: field) else { return without }
                return set.contains(value.stored(as: type))
            }
        }
    }
}
