import BackstitchCore
import CloudKitWire

extension StoredRecord {
    /// The record as replies tell it, with all fields, and no addresses of files.
    func wire() throws(HubError) -> WireRecord {
        var record = WireRecord(recordName: recordName, recordType: recordType)
        record.recordChangeTag = changeTag
        record.isDeleted = isDeleted
        guard !isDeleted else { return record }
        record.fields = try fields()
        record.parent = parent.isEmpty ? nil : parent
        record.created = WireRecord.Stamp(
            timestamp: created, userRecordName: createdBy, deviceID: Self.deviceID)
        record.modified = WireRecord.Stamp(
            timestamp: modified, userRecordName: modifiedBy, deviceID: Self.deviceID)
        return record
    }

    /// What replies tell of the device that wrote, as CloudKit does for all web clients.
    static let deviceID = "iCloud"
}
