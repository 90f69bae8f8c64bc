import CloudKitWire

/// What a plan reads of a zone.
protocol ZoneView {
    /// The record of a name, or its tombstone.
    func record(_ name: String) throws -> StoredRecord?
    /// The records that refer to one.
    func sources(of target: String) throws -> [LinkSource]
    /// The file that a receipt proves the upload of.
    func uploadedAsset(receipt: String, recordName: String, fieldName: String) throws -> WireAsset?
}

/// A zone in the storage.
struct StoredZoneView: ZoneView {
    let transaction: any HubReading
    let zone: UInt32
    /// In milliseconds since 1970.
    let now: Int64

    func record(_ name: String) throws -> StoredRecord? {
        try transaction.withValue(StoredRecord.key(zone: zone, name)) {
            try StoredRecord(recordName: name, stored: $0)
        }
    }

    func sources(of target: String) throws -> [LinkSource] {
        let prefix = RecordLink.prefix(zone: zone, target: target)
        var sources: [LinkSource] = []
        try transaction.scan(prefix, from: nil) { key, value in
            guard value.elementsEqual(target.utf8), key.count > prefix.bytes.count,
                let kind = RecordLink.Kind(rawValue: key[prefix.bytes.count])
            else { return true }
            let name = key[(prefix.bytes.count + 1)...]
            sources.append(
                LinkSource(recordName: String(decoding: name, as: UTF8.self), kind: kind))
            return true
        }
        return sources
    }

    func uploadedAsset(
        receipt: String, recordName: String, fieldName: String
    ) throws -> WireAsset? {
        guard let row: UploadRow = try transaction.row(UploadRow.key(receipt: receipt)),
            row.zone == zone, row.recordName == recordName, row.fieldName == fieldName,
            row.expires > now, let checksum = row.checksum
        else { return nil }
        return WireAsset(fileChecksum: checksum, size: row.size)
    }
}
