/// `Float`.
enum FloatTraits: FloatingTraits {
    static let type = AttributeType.float
    static let readsAll = false

    static func value(stored field: _FieldValue) -> RecordValue? {
        field.storedFloat.map { .double($0) }
    }

    static func value(service value: RecordValue) -> RecordValue? {
        switch value {
        case .double(let number):
            Float(number).isFinite ? .double(Double(Float(number))) : nil
        case .int64(let number): .double(Double(number))
        default: nil
        }
    }

    static func isReadable(_ value: RecordValue) -> Bool { self.value(service: value) != nil }

    static func saved(_ value: RecordValue) throws(ValueError) -> RecordValue {
        guard let number = content(of: value) else { return value }
        let rounded = Float(number)
        guard rounded.isFinite else {
            throw ValueError(reason: "the number is out of the range of \(type)")
        }
        return .double(Double(rounded))
    }
}
