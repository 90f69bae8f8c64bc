import CloudKitWire

/// A record whose fields were read.
final class QueriedRecord {
    let record: StoredRecord
    let zoneName: String
    let fields: WireFields
    /// The words of the fields that were asked for, so that each is split once.
    private var tokens: [WireFieldName: Set<String>] = [:]

    init(_ record: StoredRecord, zoneName: String) throws(HubFailure) {
        self.record = record
        self.zoneName = zoneName
        fields = try record.fields()
    }

    /// The value of a field, or of what the hub keeps about the record.
    func value(_ name: WireFieldName) -> WireValue? {
        switch name {
        case .field(let name): return fields[name]?.value
        case .system(.recordName): return Self.reference(record.recordName)
        case .system(.createdUserRecordName): return Self.reference(record.createdBy)
        case .system(.modifiedUserRecordName): return Self.reference(record.modifiedBy)
        case .system(.parent): return Self.reference(record.parent)
        case .system(.share): return nil
        case .system(.createdTimestamp): return .timestamp(record.created)
        case .system(.modifiedTimestamp): return .timestamp(record.modified)
        }
    }

    /// The words of a field with a value.
    func tokens(of name: WireFieldName, _ value: WireValue) -> Set<String> {
        if let known = tokens[name] { return known }
        let words = value.tokens
        tokens[name] = words
        return words
    }

    private static func reference(_ name: String) -> WireValue? {
        name.isEmpty ? nil : .reference(WireReference(recordName: name))
    }
}
