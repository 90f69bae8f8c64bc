import BackstitchCore
import CloudKitWire

extension ServiceRecord {
    /// A record as the protocol tells it.
    ///
    /// - Parameter requestedFields: The fields that were asked for; nil for all.
    /// - Throws: `serviceUnavailable` if the service left out what a record must have.
    init(_ record: WireRecord, requestedFields: Set<String>? = nil) throws(ServiceError) {
        guard let name = record.recordName, let tag = record.recordChangeTag,
            let modified = record.modified ?? record.created
        else {
            throw ServiceError(
                .serviceUnavailable, "the reply has a record without name, tag or time")
        }
        let fields = NamedFields(
            record.fields.lazy.compactMap { name, field in
                field.value.map { (key: name, value: $0) }
            })
        self.init(
            recordName: name, recordType: record.recordType ?? "", changeTag: tag,
            modifiedMilliseconds: modified.timestamp, fields: fields,
            requestedFields: requestedFields)
    }
}

extension LookupResult {
    /// The result for a record that a reply has, which may lack what every record has.
    init(_ record: WireRecord) {
        do throws(ServiceError) {
            self = .found(try ServiceRecord(record))
        } catch {
            self = .failed(error)
        }
    }
}

extension WireRecordOperation {
    /// An operation for the wire.
    init(_ modification: RecordModification) throws(ServiceError) {
        var record = WireRecord(recordName: modification.recordName)
        let kind: Kind
        switch modification {
        case .create(_, let type, let fields):
            kind = .create
            record.recordType = type
            record.fields = try WireFields(fields)
        case .update(_, let type, let tag, let fields):
            kind = .update
            record.recordType = type
            record.recordChangeTag = tag
            record.fields = try WireFields(fields)
        case .delete(_, let tag):
            kind = .delete
            record.recordChangeTag = tag
        }
        self.init(kind, record)
    }

    /// The size of the record that an update leads to, in bytes.
    func byteCount(over old: WireRecord) -> Int {
        var merged = old
        merged.fields.merge(record.fields) { $1 }
        merged.fields = merged.fields.filter { $0.value.value != nil }
        return WireRecordOperation(.update, merged).byteCount
    }

    /// The size that the limits count, in bytes.
    var byteCount: Int {
        (record.recordName?.utf8.count ?? 0) + (record.recordType?.utf8.count ?? 0)
            + record.fields.byteCount
    }
}
