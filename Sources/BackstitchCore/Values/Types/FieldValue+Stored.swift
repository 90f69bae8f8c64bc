import Foundation

/// Stored values as keys and conditions see them: nil if the value does not fit the type.
extension _FieldValue {
    @inline(__always)
    var storedInt64: Int64? {
        if tag == .int64, unsafe payload.count == 8 {
            return unsafe payload.little(Int64.self, at: 0)
        }
        return unsafe tag == .bool && payload.count == 1 ? Int64(payload[0]) : nil
    }

    @inline(__always)
    var storedMilliseconds: Int64? {
        unsafe tag == .date && payload.count == 8 ? payload.little(Int64.self, at: 0) : nil
    }

    @inline(__always)
    var storedBool: Bool? {
        if tag == .bool, unsafe payload.count == 1 { return unsafe payload[0] != 0 }
        guard let number = storedInt64, number == 0 || number == 1 else { return nil }
        return number == 1
    }

    @inline(__always)
    var storedDouble: Double? {
        guard unsafe payload.count == 8 else { return nil }
        if tag == .double { return unsafe Double(bitPattern: payload.little(UInt64.self, at: 0)) }
        return unsafe tag == .int64 ? Double(payload.little(Int64.self, at: 0)) : nil
    }

    /// The number rounded to a Float, as a reader of a Float attribute sees it.
    @inline(__always)
    var storedFloat: Double? {
        guard let number = storedDouble else { return nil }
        let rounded = Float(number)
        return rounded.isFinite ? Double(rounded) : nil
    }

    var storedUUID: UUID? {
        if tag == .uuid, unsafe payload.count == 16 {
            return unsafe UUID(uuid: payload.loadUnaligned(as: uuid_t.self))
        }
        return tag == .string ? try? uuid() : nil
    }

    /// The bytes of a stored record key.
    @inline(__always)
    var storedKey: UnsafeRawBufferPointer? {
        guard tag == .reference, unsafe payload.count >= 3 else { return nil }
        let count = unsafe payload[1] == 0 ? 18 : 3 + Int(payload[2])
        return unsafe payload[1] <= 1 && payload.count == count ? payload : nil
    }

    /// The value as an attribute of a type.
    func stored(as type: AttributeType) -> RecordValue {
        let value: RecordValue?
        switch type {
        case .string:
            value = unsafe tag == .string ? .string(String(decoding: payload, as: UTF8.self)) : nil
        case .int64: value = storedInt64.map { .int64($0) }
        case .double: value = storedDouble.map { .double($0) }
        case .date: value = storedMilliseconds.map { .date(milliseconds: $0) }
        default:
            value =
                type.traits.map { $0.value(stored: self) }
                ?? type.element.flatMap { storedList(of: $0) }
        }
        return value ?? .null
    }

    /// The list, where each element is one of a type.
    private func storedList(of element: AttributeType) -> RecordValue? {
        guard let parts = try? parts() else { return nil }
        let elements = parts.map { $0.stored(as: element) }
        return elements.contains(.null) ? nil : .list(elements)
    }
}
