/// One record to be pushed, as the state machine sees it.
package struct PushItem: Equatable, Sendable {
    package var modification: RecordModification
    /// The names of the records that must exist on the service before this one refers to them.
    package var requires: Set<String>
    /// The fields that hold those references.
    package var requiredFields: [String: String]
    /// The bytes that the modification takes in a request, roughly.
    package var byteCount: Int
    /// Fields that are left out, because they close a cycle of references or their files are not
    /// uploaded yet; they follow as an update.
    package var deferredFields: Set<String> = []
    /// When the service saved the version that is known here; 0 if none is.
    package var baseMilliseconds: Int64

    package init(
        _ modification: RecordModification, requiredFields: [String: String] = [:],
        baseMilliseconds: Int64 = 0
    ) {
        self.modification = modification
        self.baseMilliseconds = baseMilliseconds
        self.requiredFields = requiredFields
        requires = Set(requiredFields.values)
        byteCount = modification.byteCount
    }

    /// The modification without the deferred fields.
    package var sent: RecordModification {
        guard !deferredFields.isEmpty else { return modification }
        func sent(_ fields: NamedFields) -> NamedFields {
            fields.filter { !deferredFields.contains($0.key) }
        }
        return switch modification {
        case .create(let name, let type, let fields):
            .create(recordName: name, recordType: type, fields: sent(fields))
        case .update(let name, let type, let tag, let fields):
            .update(recordName: name, recordType: type, changeTag: tag, fields: sent(fields))
        case .delete: modification
        }
    }

    package var isCreate: Bool {
        if case .create = modification { true } else { false }
    }

    package var isDelete: Bool {
        if case .delete = modification { true } else { false }
    }
}

extension RecordModification {
    /// The bytes that the modification takes in a request, roughly.
    package var byteCount: Int {
        switch self {
        case .create(let name, let type, let fields):
            60 + name.utf8.count + type.utf8.count + Self.byteCount(fields)
        case .update(let name, let type, let tag, let fields):
            60 + name.utf8.count + type.utf8.count + tag.utf8.count + Self.byteCount(fields)
        case .delete(let name, let tag):
            60 + name.utf8.count + tag.utf8.count
        }
    }

    private static func byteCount(_ fields: NamedFields) -> Int {
        fields.withReader { reader in
            var bytes = 0
            reader.visit { bytes += unsafe 12 + $0.name.count + $0.byteCountInRequest }
            return bytes
        }
    }
}

extension NamedFieldEntry {
    /// The bytes that the value takes in a request, roughly. Texts are not decoded.
    fileprivate var byteCountInRequest: Int {
        switch tag {
        case .string: unsafe payload.count
        case .int64, .double, .date: 8
        case .bytes: unsafe payload.count * 4 / 3
        default: decoded.byteCount
        }
    }
}

extension ServiceValue {
    /// The bytes that the value takes in a request, roughly.
    package var byteCount: Int {
        switch self {
        case .null: 4
        case .string(let text): text.utf8.count
        case .int64, .double, .timestamp: 8
        case .bytes(let bytes): bytes.count * 4 / 3
        case .reference(let reference): reference.recordName.utf8.count + 24
        case .asset, .location: 48
        case .list(let elements, _): elements.reduce(2) { $0 + 1 + $1.byteCount }
        case .unknown(let value): value.typeName.utf8.count + value.json.utf8.count
        }
    }
}
