import BackstitchCore

/// Where files are uploaded to that were not sent to the end.
struct UploadAddresses: Sendable {
    /// A file for a field.
    struct Upload: Hashable, Sendable {
        var path: String
        var field: AssetField
        var zone: ZoneID
    }

    private var urls: [Upload: String] = [:]
    /// How many uploads were gone on with after a cut.
    var resumedCount = 0

    subscript(upload: Upload) -> String? {
        get { urls[upload] }
        set { urls[upload] = newValue }
    }
}
