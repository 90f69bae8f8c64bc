/// How stored values and the service's values become one another.
package enum ServiceMapping {
    /// A stored value in the form that the service has for it.
    package static func serviceValue(
        _ value: RecordValue, of attribute: AttributeSchema?
    ) -> ServiceValue {
        switch value {
        case .null: return .null
        case .int64(let number): return .int64(number)
        case .string(let text): return .string(text)
        case .date(let milliseconds): return .timestamp(milliseconds: milliseconds)
        case .list(let elements):
            return .list(elements.map { serviceValue($0, of: attribute) })
        case .unknown(let value): return .unknown(value)
        case .reference(let key):
            return .reference(
                ServiceReference(
                    recordName: key.name.description,
                    action: action(attribute?.reference?.onDelete)))
        default:
            return value.traits?.serviceValue(
                of: value, isLossless: attribute?.isLossless ?? false) ?? .null
        }
    }

    /// Writes a stored value in the form that the service has for it, under a name.
    package static func write(
        _ value: RecordValue, of attribute: AttributeSchema?, named name: String,
        to writer: inout NamedFieldsWriter
    ) {
        writer.write(serviceValue(value, of: attribute), named: name)
    }

    /// The reference action that a delete rule asks for.
    package static func action(_ rule: AttributeSchema.DeleteRule?) -> ServiceReference.Action {
        switch rule {
        case .cascade: .deleteSelf
        case .deny: .validate
        case .nullify, .noAction, nil: .none
        }
    }

    /// The service's value as it is stored: in the attribute's type if one is declared and the
    /// value fits, else just as it came.
    package static func storedValue(
        _ value: ServiceValue, of attribute: AttributeSchema?, zone: UInt8 = 0
    ) -> (value: RecordValue, fits: Bool) {
        let (stored, fits) = storedValue(value, of: attribute?.type, zone: zone)
        return (stored, fits && (stored == .null || attribute?.allows(stored) ?? true))
    }

    /// The service's value as it is stored: in the type if one is declared and the value fits,
    /// else just as it came.
    package static func storedValue(
        _ value: ServiceValue, of type: AttributeType?, zone: UInt8 = 0
    ) -> (value: RecordValue, fits: Bool) {
        if let type, let files = files(value, type) { return (files, true) }
        let plain = plainValue(value, zone: zone)
        guard let type, plain != .null else { return (plain, true) }
        guard let typed = typedValue(plain, type, zone: zone) else { return (plain, false) }
        return (typed, true)
    }

    /// Writes the service's value as ``storedValue(_:of:zone:)`` has it; a null leaves no trace.
    ///
    /// - Returns: whether it fits the type; nil if it left no trace.
    package static func write(
        _ value: ServiceValue, as column: ServiceColumn, zone: UInt8 = 0,
        to writer: inout _FieldWriter
    ) throws(FieldError) -> Bool? {
        let (field, type) = (column.field, column.type)
        if let allowed = column.allowedValues {
            let (stored, fits) = storedValue(value, of: type, zone: zone)
            try writer.write(stored, of: field)
            return stored == .null ? nil : fits && stored.isAmong(allowed)
        }
        switch (value, type) {
        case (.string(let text), .string), (.string(let text), nil):
            try writer.write(string: text, of: field)
        case (.int64(let number), .int64), (.int64(let number), nil):
            try writer.write(int64: number, of: field)
        case (.timestamp(let milliseconds), .date), (.timestamp(let milliseconds), nil):
            try writer.write(milliseconds: milliseconds, of: field)
        case (.double(let number), .double), (.double(let number), nil):
            guard number.isFinite else { return nil }
            try writer.write(double: number, of: field)
        case (.bytes(let bytes), .data), (.bytes(let bytes), nil):
            try writer.write(bytes: bytes, of: field)
        default:
            let (stored, fits) = storedValue(value, of: type, zone: zone)
            try writer.write(stored, of: field)
            return stored == .null ? nil : fits
        }
        return true
    }

    /// Writes a packed field as ``write(_:as:zone:to:)`` does; values of a form that rows have too are
    /// copied.
    package static func write(
        _ entry: NamedFieldEntry, as column: ServiceColumn, zone: UInt8 = 0,
        to writer: inout _FieldWriter
    ) throws(FieldError) -> Bool? {
        let isCopied =
            switch (entry.tag, column.type) {
            case (.string, .string), (.string, nil), (.int64, .int64), (.int64, nil),
                (.date, .date), (.date, nil), (.bytes, .data), (.bytes, nil):
                column.allowedValues == nil
            default: false
            }
        guard isCopied else {
            return try write(entry.decoded, as: column, zone: zone, to: &writer)
        }
        try unsafe writer.write(raw: entry.value, of: column.field)
        return true
    }

    /// Files in a declared type; nil if the value or the type is another one.
    private static func files(_ value: ServiceValue, _ type: AttributeType) -> RecordValue? {
        switch (value, type) {
        case (.asset(let file), .asset): return Asset(file).map { .asset($0) }
        case (.list(let elements, of: .asset), .assetList):
            let all = elements.compactMap { files($0, .asset) }
            return all.count == elements.count ? .list(all) : nil
        default: return nil
        }
    }

    private static func plainValue(_ value: ServiceValue, zone: UInt8) -> RecordValue {
        switch value {
        case .null: .null
        case .string(let text): .string(text)
        case .int64(let number): .int64(number)
        case .double(let number): number.isFinite ? .double(number) : .null
        case .timestamp(let milliseconds): .date(milliseconds: milliseconds)
        case .bytes(let bytes): .bytes(bytes)
        case .reference(let reference): plainReference(reference.recordName, zone: zone)
        case .location(let location):
            location.latitude.isFinite && location.longitude.isFinite
                ? .location(location.place) : .null
        case .asset, .list(_, of: .asset): .unknown(UnknownValue(lasting: value))
        case .list(let elements, _): .list(elements.map { plainValue($0, zone: zone) })
        case .unknown(let value): .unknown(value)
        }
    }

    /// A reference; an impossible name is kept as the text that it is.
    private static func plainReference(_ text: String, zone: UInt8) -> RecordValue {
        let name = RecordName(text)
        return name.violation == nil ? .reference(RecordKey(name, zone: zone)) : .string(text)
    }

    /// A plain value in a declared type, or nil if it does not fit.
    private static func typedValue(
        _ value: RecordValue, _ type: AttributeType, zone: UInt8
    ) -> RecordValue? {
        switch value {
        case .unknown(let value):
            // What an earlier version did not know.
            value.known.flatMap { known in
                files(known, type)
                    ?? (known.holdsFiles
                        ? nil : typedValue(plainValue(known, zone: zone), type, zone: zone))
            }
        case .list(let elements): type.element.flatMap { typedList(elements, $0, zone: zone) }
        default: type.traits?.value(service: value)
        }
    }

    private static func typedList(
        _ elements: [RecordValue], _ type: AttributeType, zone: UInt8
    ) -> RecordValue? {
        let typed = elements.compactMap { typedValue($0, type, zone: zone) }
        return typed.count == elements.count ? .list(typed) : nil
    }

    /// Whether two stored values are the same on the service. References to records of one name in two zones
    /// are not.
    package static func areSame(
        _ first: RecordValue, _ second: RecordValue, of attribute: AttributeSchema?
    ) -> Bool {
        if first == second { return true }
        if let isSame = haveSameFiles(first, second) { return isSame }
        if referApart(first, second) { return false }
        let (one, other) = (serviceValue(first, of: attribute), serviceValue(second, of: attribute))
        guard one != other else { return true }
        // What was stored before the type was declared has more digits than the type.
        return storedValue(one, of: attribute).value == storedValue(other, of: attribute).value
    }

    /// Whether two values refer to records that are not the same.
    private static func referApart(_ first: RecordValue, _ second: RecordValue) -> Bool {
        switch (first, second) {
        case (.reference(let one), .reference(let other)): one != other
        case (.list(let ones), .list(let others)):
            ones.count == others.count && zip(ones, others).contains { referApart($0, $1) }
        default: false
        }
    }

    /// Whether two values hold the same files; nil if one of them holds none.
    private static func haveSameFiles(_ first: RecordValue, _ second: RecordValue) -> Bool? {
        switch (first, second) {
        case (.asset(let one), .asset(let other)):
            return one.hasSameContent(as: other)
        case (.list(let ones), .list(let others)):
            guard ones.count == others.count else { return nil }
            var isSame = true
            for (one, other) in zip(ones, others) {
                guard let pair = haveSameFiles(one, other) else { return nil }
                isSame = isSame && pair
            }
            return ones.isEmpty ? nil : isSame
        default: return nil
        }
    }
}

extension ServiceValue {
    /// Whether it is a file, or a list of them.
    fileprivate var holdsFiles: Bool {
        switch self {
        case .asset, .list(_, of: .asset): true
        default: false
        }
    }
}
