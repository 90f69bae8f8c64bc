import CloudKitWire

/// What a request does to the records of a zone: decided, and nothing of it written.
struct ModifyPlan {
    /// What became of each operation.
    enum Result: Hashable {
        /// The record as it stands after the request.
        case saved(StoredRecord)
        case deleted(String)
        case failed(String?, WireError)
    }

    /// A record that changes, in the order of the feed.
    struct Write {
        var before: StoredRecord?
        var after: StoredRecord
        var linksBefore: [RecordLink]
        var linksAfter: [RecordLink]
        var assetsBefore: [String]
        var assetsAfter: [String]
    }

    var results: [Result]
    var writes: [Write] = []
}

/// What holds for all operations of a request.
struct ModifyContext: Sendable {
    /// The zone of the records, with its owner.
    var zoneID = WireZoneID()
    /// Whether the records are everybody's.
    var isPublic: Bool
    /// Whom they are attributed to.
    var user: String
    /// Milliseconds since 1970.
    var now: Int64
    /// The end of every change tag.
    var tagSuffix: String
    /// The zone's position before the request.
    var sequence: UInt64
    var limits: HubLimits
    /// How many bytes may still come into the database; nil for no limit.
    var bytesLeft: Int64?
}

/// What an operation would do if nothing else was in its way.
struct ModifyDraft {
    enum Kind {
        case save
        case remove
        /// There is nothing to delete, and that is fine.
        case nothing
    }

    var kind: Kind
    var recordName: String
    /// Whether the operation needs the record to be there.
    var needsRecord = false
    var before: StoredRecord?
    var after: StoredRecord?
    var links: [RecordLink] = []
    var assets: [String] = []
}
