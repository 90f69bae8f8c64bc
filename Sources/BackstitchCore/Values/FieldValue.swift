public import Foundation

/// One stored value: its tag and its payload, not yet decoded.
///
/// The value does not own its bytes: it is valid as long as the row it was read from.
@safe
public struct _FieldValue {
    @usableFromInline package let tag: FieldTag
    @usableFromInline package let payload: UnsafeRawBufferPointer

    @inlinable
    package init(tag: FieldTag, payload: UnsafeRawBufferPointer) {
        self.tag = tag
        unsafe self.payload = payload
    }

    /// Whether the payload has the form that its tag asks for.
    package var isWellFormed: Bool {
        switch tag {
        case .null: unsafe payload.isEmpty
        case .string: unsafe String(utf8: payload) != nil
        case .reference: unsafe RecordKey(reading: payload)?.byteCount == payload.count
        case .list: (try? decoded()) != nil
        case .unknown: (try? unknown()).map { $0.violation == nil } ?? false
        default: (try? decoded()) != nil
        }
    }

    @usableFromInline
    package func mismatch() -> FieldError { FieldError(.typeMismatch(stored: "\(tag)")) }

    @inlinable
    package func int64() throws(FieldError) -> Int64 {
        guard tag == .int64 else {
            guard tag == .bool, unsafe payload.count == 1 else { throw mismatch() }
            return unsafe Int64(payload[0])
        }
        guard unsafe payload.count == 8 else { throw FieldError(.damaged) }
        return unsafe payload.little(Int64.self, at: 0)
    }

    @inlinable
    package func bool() throws(FieldError) -> Bool {
        if tag == .bool, unsafe payload.count == 1 { return unsafe payload[0] != 0 }
        switch try int64() {
        case 0: return false
        case 1: return true
        default: throw FieldError(.integerOverflow)
        }
    }

    @inlinable
    package func double() throws(FieldError) -> Double {
        switch tag {
        case .double where unsafe payload.count == 8:
            return unsafe Double(bitPattern: payload.little(UInt64.self, at: 0))
        case .int64 where unsafe payload.count == 8:
            return unsafe Double(payload.little(Int64.self, at: 0))
        default:
            throw mismatch()
        }
    }

    @inlinable
    package func string() throws(FieldError) -> String {
        guard tag == .string else { throw mismatch() }
        return unsafe String(stored: payload)
    }

    @usableFromInline
    package func data() throws(FieldError) -> Data {
        guard tag == .bytes else { throw mismatch() }
        return unsafe Data(payload)
    }

    @inlinable
    package func milliseconds() throws(FieldError) -> Int64 {
        guard tag == .date, unsafe payload.count == 8 else { throw mismatch() }
        return unsafe payload.little(Int64.self, at: 0)
    }

    @inlinable
    package func uuid() throws(FieldError) -> UUID {
        switch tag {
        case .uuid where unsafe payload.count == 16:
            return unsafe UUID(uuid: payload.loadUnaligned(as: uuid_t.self))
        case .string:
            guard let uuid = UUID(uuidString: try string()) else { throw mismatch() }
            return uuid
        default:
            throw mismatch()
        }
    }

    @inlinable
    package func reference() throws(FieldError) -> RecordKey {
        guard tag == .reference, let key = unsafe RecordKey(reading: payload) else {
            throw mismatch()
        }
        return key
    }

    @usableFromInline
    package func location() throws(FieldError) -> GeoLocation {
        guard tag == .location, unsafe payload.count == 16 else { throw mismatch() }
        return unsafe GeoLocation(
            latitude: Double(bitPattern: payload.little(UInt64.self, at: 0)),
            longitude: Double(bitPattern: payload.little(UInt64.self, at: 8)))
    }

    @usableFromInline
    package func decimal() throws(FieldError) -> Decimal {
        switch tag {
        case .decimal:
            let text = unsafe String(decoding: payload, as: UTF8.self)
            guard let decimal = Decimal(string: text) else { throw mismatch() }
            return decimal
        case .string:
            guard let decimal = Decimal(whole: try string()) else { throw mismatch() }
            return decimal
        case .double:
            guard let decimal = Decimal(string: "\(try double())") else { throw mismatch() }
            return decimal
        case .int64:
            return Decimal(try int64())
        default:
            throw mismatch()
        }
    }

    /// The value as a `RecordValue`, whatever its tag.
    @usableFromInline
    package func decoded() throws(FieldError) -> RecordValue {
        switch tag {
        case .null: return .null
        case .int64: return .int64(try int64())
        case .double: return .double(try double())
        case .string: return .string(try string())
        case .date: return .date(milliseconds: try milliseconds())
        case .list: return .list(try elements())
        case .unknown: return .unknown(try unknown())
        default:
            guard let traits = AttributeTypes[tag] else { throw mismatch() }
            return try unsafe traits.value(payload: payload)
        }
    }

    private func unknown() throws(FieldError) -> UnknownValue {
        guard tag == .unknown, unsafe payload.count >= 2 else { throw FieldError(.damaged) }
        let start = unsafe 2 + Int(payload.little(UInt16.self, at: 0))
        guard unsafe start <= payload.count,
            let name = unsafe String(utf8: payload.part(2..<start)),
            let json = unsafe String(utf8: payload.part(start..<payload.count))
        else { throw FieldError(.damaged) }
        return UnknownValue(typeName: name, json: json)
    }

    private func elements() throws(FieldError) -> [RecordValue] {
        var elements: [RecordValue] = []
        for part in try parts() { elements.append(try part.decoded()) }
        return elements
    }

    /// The elements of a list.
    @usableFromInline
    package func parts() throws(FieldError) -> [_FieldValue] {
        guard tag == .list else { throw mismatch() }
        var parts: [_FieldValue] = []
        var offset = 0
        while unsafe offset < payload.count {
            guard unsafe offset + 5 <= payload.count else { throw FieldError(.damaged) }
            let count = unsafe Int(payload.little(UInt32.self, at: offset))
            let start = offset + 4
            guard count >= 1, unsafe start + count <= payload.count,
                let tag = unsafe FieldTag(rawValue: payload[start]), tag != .list
            else { throw FieldError(.damaged) }
            let bytes = unsafe payload.part((start + 1)..<(start + count))
            unsafe parts.append(_FieldValue(tag: tag, payload: bytes))
            offset = start + count
        }
        return parts
    }
}
