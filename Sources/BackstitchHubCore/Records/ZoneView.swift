import BackstitchCore
import CloudKitWire

/// What a plan reads of a zone.
protocol ZoneView {
    /// The record of a name, or its tombstone.
    func record(_ name: String) throws -> StoredRecord?
    /// Visits the names of the records that refer to one in a way, until the closure returns false.
    func visitSources(
        of target: String, _ kind: RecordLink.Kind, _ visit: (String) throws -> Bool
    ) throws
    /// The file that a receipt proves the upload of.
    func uploadedAsset(receipt: String, recordName: String, fieldName: String) throws
        -> ServiceAsset?
}

/// A zone in the storage.
struct StoredZoneView: ZoneView {
    let transaction: any HubReading
    let place: ZonePlace
    /// In milliseconds since 1970.
    let now: Int64

    func record(_ name: String) throws -> StoredRecord? {
        try transaction.withValue(StoredRecord.key(place, name)) {
            transaction.work.countRecord()
            return try StoredRecord(recordName: name, stored: $0)
        }
    }

    func visitSources(
        of target: String, _ kind: RecordLink.Kind, _ visit: (String) throws -> Bool
    ) throws {
        let prefix = RecordLink.prefix(place, target: target).adding([kind.rawValue])
        try transaction.scan(prefix, from: nil) { key, value in
            guard value.elementsEqual(target.utf8) else { return true }
            return try visit(key.text(behind: prefix))
        }
    }

    func uploadedAsset(
        receipt: String, recordName: String, fieldName: String
    ) throws -> ServiceAsset? {
        let key = UploadRow.key(place.partition, receipt: receipt)
        guard let row: UploadRow = try transaction.row(key),
            row.zone == place.number, row.isGood(for: recordName, fieldName), row.expires > now,
            let checksum = row.checksum
        else { return nil }
        return ServiceAsset(fileChecksum: checksum, size: row.size)
    }
}
