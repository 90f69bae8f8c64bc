import BackstitchCore
import CloudKitWire

/// A record whose fields were read.
final class QueriedRecord {
    let record: StoredRecord
    let zoneName: String
    let fields: WireFields
    /// The words of the fields that were asked for, so that each is split once.
    private var tokens: [ServiceFieldName: Set<String>] = [:]

    init(_ record: StoredRecord, zoneName: String) throws(HubError) {
        self.record = record
        self.zoneName = zoneName
        fields = try record.fields()
    }

    /// The value of a field, or of what the hub keeps about the record.
    func value(_ name: ServiceFieldName) -> ServiceValue? {
        switch name {
        case .field(let name): return fields[name]?.value
        case .system(.recordName): return Self.reference(record.recordName)
        case .system(.createdUserRecordName): return Self.reference(record.createdBy)
        case .system(.modifiedUserRecordName): return Self.reference(record.modifiedBy)
        case .system(.parent): return Self.reference(record.parent)
        case .system(.share): return nil
        case .system(.createdTimestamp): return .timestamp(milliseconds: record.created)
        case .system(.modifiedTimestamp): return .timestamp(milliseconds: record.modified)
        }
    }

    /// The words of a field with a value.
    func tokens(of name: ServiceFieldName, _ value: ServiceValue) -> Set<String> {
        if let known = tokens[name] { return known }
        let words = value.tokens
        tokens[name] = words
        return words
    }

    private static func reference(_ name: String) -> ServiceValue? {
        name.isEmpty ? nil : .reference(ServiceReference(recordName: name, action: .unspecified))
    }
}
