/// The field of a record that a file is uploaded for.
public struct AssetField: Hashable, Sendable {
    /// The name of the record; it need not exist yet.
    public var recordName: String
    /// The type of the record.
    public var recordType: String
    /// The name of the field.
    public var fieldName: String

    /// A field by the names of its record.
    public init(recordName: String, recordType: String, fieldName: String) {
        self.recordName = recordName
        self.recordType = recordType
        self.fieldName = fieldName
    }
}
