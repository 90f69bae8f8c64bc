import BackstitchCore
import CloudKitWire

extension ServiceRecord {
    /// A record as the protocol tells it.
    ///
    /// - Parameter requestedFields: The fields that were asked for; nil for all.
    /// - Throws: `serviceUnavailable` if it can't be read, or lacks what a record must have.
    init(
        _ record: PulledRecord, requestedFields: Set<String>? = nil
    ) throws(ServiceError) {
        if let flaw = record.flaw {
            let name = record.recordName.map { " '\($0)'" } ?? ""
            throw ServiceError(
                .serviceUnavailable,
                ServiceError.words("the record\(name) can't be read: \(flaw.message)"))
        }
        try self.init(
            record.recordName, record.recordType, record.recordChangeTag, record.modified,
            record.fields, requestedFields)
    }

    /// The record that an error has.
    init(_ record: WireRecord) throws(ServiceError) {
        let fields = NamedFields(
            record.fields.lazy.compactMap { name, field in
                field.value.map { (key: name, value: $0) }
            })
        try self.init(
            record.recordName, record.recordType, record.recordChangeTag,
            (record.modified ?? record.created)?.timestamp, fields, nil)
    }

    private init(
        _ name: String?, _ type: String?, _ tag: String?, _ modified: Int64?,
        _ fields: NamedFields, _ requestedFields: Set<String>?
    ) throws(ServiceError) {
        guard let name, let tag, let modified else {
            let record = name.map { "the record '\($0)'" } ?? "a record"
            throw ServiceError(
                .serviceUnavailable,
                ServiceError.words("the reply has \(record) without name, tag or time"))
        }
        self.init(
            recordName: name, recordType: type ?? "", changeTag: tag,
            modifiedMilliseconds: modified, fields: fields, requestedFields: requestedFields)
    }
}

extension LookupResult {
    /// The result for a record that a reply has, which may lack what every record has.
    init(_ record: PulledRecord) {
        do throws(ServiceError) {
            self = .found(try ServiceRecord(record))
        } catch {
            self = .failed(error)
        }
    }
}

extension RecordModification {
    /// The modification as it is sent.
    ///
    /// - Throws: `invalidRequest` for values that the protocol can't spell.
    func checked() throws(ServiceError) -> RecordModification {
        switch self {
        case .create(let name, let type, let fields):
            return .create(recordName: name, recordType: type, fields: try fields.checked())
        case .update(let name, let type, let tag, let fields):
            return .update(
                recordName: name, recordType: type, changeTag: tag, fields: try fields.checked())
        case .delete: return self
        }
    }

    var isUpdate: Bool { if case .update = self { true } else { false } }
    var isDelete: Bool { if case .delete = self { true } else { false } }

    /// The size that the limits count, in bytes.
    var countedBytes: Int {
        recordName.utf8.count + (recordType?.utf8.count ?? 0) + fields.countedBytes
    }

    private var recordType: String? {
        switch self {
        case .create(_, let type, _), .update(_, let type, _, _): type
        case .delete: nil
        }
    }

    private var fields: NamedFields {
        switch self {
        case .create(_, _, let fields), .update(_, _, _, let fields): fields
        case .delete: [:]
        }
    }

    /// The size of the record that an update leads to, in bytes.
    func countedBytes(over old: PulledRecord) -> Int {
        let merged = old.fields.merging(fields).filter { $0.value != .null }
        return (old.recordName?.utf8.count ?? 0) + (old.recordType?.utf8.count ?? 0)
            + merged.countedBytes
    }
}
