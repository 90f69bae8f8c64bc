import BackstitchCore
import BackstitchLog

/// A file that has to be uploaded before a record is pushed.
struct AssetUpload: Hashable, Sendable {
    /// The file as the record holds it.
    var asset: Asset
    /// The field that is to hold it.
    var field: AssetField
    /// The zone of the record.
    var place: ZonePlace
}

/// What a service answered to an upload: the value of the field, and until when it may be saved.
struct AssetReceipt: Hashable, Sendable, Codable {
    var fileChecksum: String?
    var size: Int64?
    var referenceChecksum: String?
    var wrappingKey: String?
    var receipt: String?
    /// The zone that it is for.
    var zone: String
    /// When it ends, in milliseconds since 1970; 0 for one that was refused.
    var until: Int64
    /// Whether one before it was refused: then no other is asked for.
    var isSecond: Bool?
    /// Why the file can't be uploaded; nil if it was.
    var failure: String?

    /// How long services take receipts, with a reserve, in milliseconds.
    static let lifeMilliseconds: Int64 = 14 * 60_000

    init(_ file: ServiceAsset, zone: String, until: Int64) {
        fileChecksum = file.fileChecksum
        size = file.size
        referenceChecksum = file.referenceChecksum
        wrappingKey = file.wrappingKey
        receipt = file.receipt
        (self.zone, self.until) = (zone, until)
    }

    init(failure: String, zone: String) {
        (self.failure, self.zone, until) = (failure, zone, 0)
    }

    var file: ServiceAsset {
        ServiceAsset(
            fileChecksum: fileChecksum, size: size, referenceChecksum: referenceChecksum,
            wrappingKey: wrappingKey, receipt: receipt)
    }
}

/// Where an upload goes that was not sent to the end.
struct UploadAddress: Codable {
    var address: String
    var zone: String
    /// When it ends, in milliseconds since 1970.
    var until: Int64
}
