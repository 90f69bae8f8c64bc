import BackstitchCore
import CloudKitWire

/// What a plan reads of a zone.
protocol ZoneView {
    /// Tells that records are read to which others refer, or that have such references.
    func expect(_ links: () -> [RecordLink])
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

extension ZoneView {
    func expect(_ links: () -> [RecordLink]) {}
}

/// A zone in the storage.
struct StoredZoneView: ZoneView {
    let transaction: any HubReading
    let place: ZonePlace
    /// In milliseconds since 1970.
    let now: Int64
    /// The most references to a record that are told to be read.
    var sourcesMax = 0

    func expect(_ links: () -> [RecordLink]) {
        transaction.expect { links().flatMap { $0.expected(in: place, sourcesMax: sourcesMax) } }
    }

    func record(_ name: String) throws -> StoredRecord? {
        try unsafe transaction.withValue(StoredRecord.key(place, name)) {
            transaction.work.countRecord()
            return try unsafe StoredRecord(recordName: name, stored: $0)
        }
    }

    func visitSources(
        of target: String, _ kind: RecordLink.Kind, _ visit: (String) throws -> Bool
    ) throws {
        let prefix = RecordLink.prefix(place, target: target, kind)
        try unsafe transaction.scan(prefix, from: nil) { key, value in
            guard unsafe value.elementsEqual(target.utf8) else { return true }
            return try unsafe visit(key.text(behind: prefix))
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

extension HubReading {
    /// The record of a name that is there.
    func liveRecord(_ name: String, in place: ZonePlace) throws -> StoredRecord? {
        guard ServiceNames.isRecordName(name) else { return nil }
        let view = StoredZoneView(transaction: self, place: place, now: 0)
        return try view.record(name).flatMap { $0.isDeleted ? nil : $0 }
    }

    /// Runs a closure on the record of a name, where it lies, if it is there.
    ///
    /// - Returns: Whether it is.
    func withLiveRecord(
        _ name: String, in place: ZonePlace, _ body: (StoredRecordView) -> Void
    ) throws -> Bool {
        guard ServiceNames.isRecordName(name) else { return false }
        let isThere = try unsafe withValue(StoredRecord.key(place, name)) { stored in
            work.countRecord()
            let record = try unsafe StoredRecordView(stored)
            if !record.isDeleted { body(record) }
            return !record.isDeleted
        }
        return isThere ?? false
    }
}
