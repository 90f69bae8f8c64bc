import BackstitchCore
import BackstitchLog
import BackstitchStore
import Foundation

/// The receipts of uploads, which are used up when the record that they are for is acknowledged.
struct ReceiptReader {
    private let reader: TableReader
    /// The zone of the records.
    let place: ZonePlace
    private let now: Int64

    init(_ reader: TableReader, _ place: ZonePlace, now: Int64) {
        (self.reader, self.place, self.now) = (reader, place, now)
    }

    /// What names a content here: its hash if that is known, whatever the asset tells.
    private static func key(_ asset: Asset, _ reader: TableReader) throws -> ContentKey? {
        try reader.meta.content(of: asset) ?? ContentKey(asset)
    }

    fileprivate static func name(
        _ asset: Asset, _ record: RecordKey, _ fieldName: String, _ reader: TableReader
    ) throws -> String? {
        try key(asset, reader).map {
            StoreAssets.receiptPrefix(in: record.zone) + "\($0.text).\(fieldName).\(record.name)"
        }
    }

    fileprivate func name(
        _ asset: Asset, _ recordName: String, _ fieldName: String
    ) throws -> String? {
        let record = RecordKey(RecordName(recordName), zone: place.slot)
        return try Self.name(asset, record, fieldName, reader)
    }

    /// What is known of an upload; nil if nothing is, or for another zone.
    fileprivate func receipt(
        _ asset: Asset, _ recordName: String, _ fieldName: String
    ) throws -> AssetReceipt? {
        guard let name = try name(asset, recordName, fieldName),
            let bytes = try reader.meta.value(name),
            // What can't be read is uploaded again.
            let receipt = try? JSONDecoder().decode(AssetReceipt.self, from: Data(bytes)),
            receipt.zone == place.id.zoneName
        else { return nil }
        return receipt
    }

    /// Whether a file needs no upload any more.
    func isUploaded(_ upload: AssetUpload) throws -> Bool {
        let field = upload.field
        let receipt = try receipt(upload.asset, field.recordName, field.fieldName)
        return receipt.map { $0.until > now } ?? false
    }

    /// Where an upload was begun that may still be gone on with; nil if nowhere.
    func address(of upload: AssetUpload) throws -> String? {
        guard let name = try addressName(upload), let bytes = try reader.meta.value(name),
            let address = try? JSONDecoder().decode(UploadAddress.self, from: Data(bytes)),
            address.zone == place.id.zoneName, address.until > now
        else { return nil }
        return address.address
    }

    fileprivate func addressName(_ upload: AssetUpload) throws -> String? {
        try Self.key(upload.asset, reader).map {
            StoreAssets.addressPrefix(in: place.slot)
                + "\($0.text).\(upload.field.fieldName).\(upload.field.recordName)"
        }
    }

    /// What a field is to be set to on the service.
    enum Value {
        case ready(ServiceValue)
        /// These files have to be uploaded first.
        case waits([AssetUpload])
        /// It can't be uploaded.
        case refused(String)
    }

    /// The value for a field that holds files; nil if it holds none.
    func value(
        _ value: RecordValue, recordName: String, recordType: String, fieldName: String
    ) throws -> Value? {
        let assets = value.assets
        guard !assets.isEmpty else { return nil }
        var files: [ServiceValue] = []
        var uploads: [AssetUpload] = []
        var contents: Set<ContentKey> = []
        for asset in assets {
            let receipt = try receipt(asset, recordName, fieldName)
            if let failure = receipt?.failure { return .refused(failure) }
            if let receipt, receipt.until > now {
                files.append(.asset(receipt.file))
                continue
            }
            // The same content twice in a list is sent once.
            guard let content = try Self.key(asset, reader), contents.insert(content).inserted
            else {
                continue
            }
            let field = AssetField(
                recordName: recordName, recordType: recordType, fieldName: fieldName)
            uploads.append(AssetUpload(asset: asset, field: field, place: place))
        }
        if !uploads.isEmpty { return .waits(uploads) }
        if case .list = value { return .ready(.list(files)) }
        return .ready(files[0])
    }
}

/// Writes receipts.
struct ReceiptWriter {
    private let log: LogWriter

    init(_ log: LogWriter) { self.log = log }

    /// Keeps what came of an upload.
    func keep(_ receipt: AssetReceipt, of upload: AssetUpload) throws {
        let field = upload.field
        let receipts = ReceiptReader(log.reader, upload.place, now: 0)
        guard let name = try receipts.name(upload.asset, field.recordName, field.fieldName) else {
            return
        }
        var receipt = receipt
        let old = try receipts.receipt(upload.asset, field.recordName, field.fieldName)
        // Only a push that goes well, or an edit, begins anew.
        if old?.isSecond == true || old.map({ $0.until == 0 }) == true { receipt.isSecond = true }
        try log.setMeta(name, try receipt.sortedJSON())
        try forgetAddress(of: upload)
    }

    /// Forgets where an upload went.
    func forgetAddress(of upload: AssetUpload) throws {
        let receipts = ReceiptReader(log.reader, upload.place, now: 0)
        if let name = try receipts.addressName(upload) { try log.deleteMeta(name) }
    }

    /// Keeps where an upload goes.
    func keep(address: String, until: Int64, of upload: AssetUpload) throws {
        let receipts = ReceiptReader(log.reader, upload.place, now: 0)
        guard let name = try receipts.addressName(upload) else { return }
        let kept = UploadAddress(
            address: address, zone: upload.place.id.zoneName, until: until)
        try log.setMeta(name, try kept.sortedJSON())
    }

    /// Uses up the receipts for what was pushed of a record.
    ///
    /// - Parameter deferred: The names of the fields that were left out.
    func useUp(_ change: PendingChange, without deferred: Set<String>) throws {
        for (name, _) in try receipts(of: change, without: deferred) { try log.deleteMeta(name) }
    }

    /// Forgets why files of a record can't be uploaded: it was told, and is tried again when somebody asks for it.
    func forgetRefusals(_ change: PendingChange) throws {
        for (name, receipt) in try receipts(of: change) where receipt.failure != nil {
            try log.deleteMeta(name)
        }
    }

    /// Drops all receipts of a record, because the service refused one that was sent. Receipts for fields that
    /// were left out of the request may have ended as well, and would make the service refuse the next one.
    ///
    /// - Returns: Whether the files may be uploaded once more. If not, no receipt is kept: another attempt
    ///   uploads the files anew.
    func drop(
        _ change: PendingChange, without deferred: Set<String>, zone: String
    ) throws -> Bool {
        let sent = try receipts(of: change, without: deferred, zone: zone)
        let isFirst = !sent.isEmpty && sent.allSatisfy { $0.receipt.isSecond != true }
        for (name, receipt) in try receipts(of: change, zone: zone) where receipt.failure == nil {
            try log.deleteMeta(name)
        }
        guard isFirst else { return false }
        for (name, receipt) in sent {
            var refused = receipt
            (refused.until, refused.receipt) = (0, nil)
            try log.setMeta(name, try refused.sortedJSON())
        }
        return true
    }

    private func receipts(
        of change: PendingChange, without deferred: Set<String> = [], zone: String? = nil
    ) throws -> [(name: String, receipt: AssetReceipt)] {
        let fields: Fields
        switch change.push {
        case .create(let all): fields = all
        case .update(let changed): fields = changed
        case .nothing, .delete: return []
        }
        guard fields.holdsAssets else { return [] }
        var found: [(name: String, receipt: AssetReceipt)] = []
        let reader = log.reader
        for (field, value) in fields {
            guard let attribute = log.catalog.table(change.entity)?.attribute(field),
                !deferred.contains(attribute.name)
            else { continue }
            for asset in value.assets {
                guard
                    let name = try ReceiptReader.name(asset, change.key, attribute.name, reader),
                    let bytes = try reader.meta.value(name),
                    let receipt = try? JSONDecoder().decode(AssetReceipt.self, from: Data(bytes)),
                    zone == nil || receipt.zone == zone
                else { continue }
                found.append((name, receipt))
            }
        }
        return found
    }
}
