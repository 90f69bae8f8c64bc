/// A record as the service delivers it.
public struct ServiceRecord: Hashable, Sendable {
    /// The name, unique within the zone across record types.
    public var recordName: String
    /// The record type: an entity's name.
    public var recordType: String
    /// The opaque version; changes with every write.
    public var changeTag: String
    /// When the service last changed the record, in its own clock, milliseconds since 1970.
    public var modifiedMilliseconds: Int64
    /// The fields that have a value. A field that is absent has none, unless it was not requested.
    public var fields: NamedFields
    /// The names that the request asked for; nil if it asked for all.
    public var requestedFields: Set<String>?

    /// A record by its parts.
    public init(
        recordName: String, recordType: String, changeTag: String, modifiedMilliseconds: Int64,
        fields: NamedFields, requestedFields: Set<String>? = nil
    ) {
        self.recordName = recordName
        self.recordType = recordType
        self.changeTag = changeTag
        self.modifiedMilliseconds = modifiedMilliseconds
        self.fields = fields
        self.requestedFields = requestedFields
    }
}

/// A record's end, as the change feed delivers it.
public struct ServiceDeletion: Hashable, Sendable {
    /// The name of the record that is gone.
    public var recordName: String
    /// The record's type, if the service says it.
    public var recordType: String?

    /// A deletion by record name.
    public init(recordName: String, recordType: String? = nil) {
        self.recordName = recordName
        self.recordType = recordType
    }
}
