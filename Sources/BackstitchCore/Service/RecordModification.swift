/// One operation of a modify request.
public enum RecordModification: Hashable, Sendable {
    /// Creates the record; fails with `alreadyExists` if there is one of that name.
    case create(recordName: String, recordType: String, fields: NamedFields)
    /// Sets the given fields and leaves the others; fails with `conflict` unless the tag is the
    /// record's, and with `unknownItem` if there is no record.
    case update(
        recordName: String, recordType: String, changeTag: String, fields: NamedFields)
    /// Deletes the record; fails with `conflict` unless the tag is the record's, and with
    /// `unknownItem` if there is no record.
    case delete(recordName: String, changeTag: String)

    /// The name of the record.
    public var recordName: String {
        switch self {
        case .create(let name, _, _), .update(let name, _, _, _), .delete(let name, _): name
        }
    }
}

/// The result of one operation of a modify request.
public enum ModificationResult: Hashable, Sendable {
    /// Saved; the tag and time are the record's new ones.
    case saved(changeTag: String, modifiedMilliseconds: Int64)
    /// Deleted.
    case deleted
    /// Not done.
    case failed(ServiceError)
}

/// The result of a lookup for one record.
public enum LookupResult: Hashable, Sendable {
    /// The record as it is now.
    case found(ServiceRecord)
    /// There is no record of that name.
    case notFound
    /// Not read.
    case failed(ServiceError)
}

/// One page of a zone's change feed.
public struct ZoneChangesPage: Hashable, Sendable {
    /// Records that are new or changed since the token, each once, in its latest form.
    public var records: [ServiceRecord]
    /// Records that were deleted since the token. One that is among the records too was deleted before these
    /// were made.
    public var deletions: [ServiceDeletion]
    /// Records that are new or changed since the token and could not be delivered, by their names. No
    /// later page need bring them: they are looked up.
    public var failures: [String: ServiceError]
    /// Where the next page starts; opaque.
    public var token: String
    /// Whether there is a next page now. Pages may be empty and still have one after them.
    public var moreComing: Bool

    /// A page by its parts.
    public init(
        records: [ServiceRecord], deletions: [ServiceDeletion],
        failures: [String: ServiceError] = [:], token: String, moreComing: Bool
    ) {
        self.records = records
        self.deletions = deletions
        self.failures = failures
        self.token = token
        self.moreComing = moreComing
    }
}

/// One page of a database's list of changed zones.
public struct DatabaseChangesPage: Hashable, Sendable {
    /// Why a zone is no longer there.
    public enum ZoneEnd: Hashable, Sendable {
        /// It was deleted.
        case deleted
        /// The user had the app's data purged.
        case purged
        /// The user reset the key of encrypted data.
        case encryptedDataReset
    }

    /// Zones with changes since the token.
    public var changedZones: [ZoneID]
    /// Zones that ended since the token.
    public var endedZones: [ZoneID: ZoneEnd]
    /// Where the next page starts; opaque.
    public var token: String
    /// Whether there is a next page now.
    public var moreComing: Bool

    /// A page by its parts.
    public init(
        changedZones: [ZoneID], endedZones: [ZoneID: ZoneEnd], token: String, moreComing: Bool
    ) {
        self.changedZones = changedZones
        self.endedZones = endedZones
        self.token = token
        self.moreComing = moreComing
    }
}

/// The limits of one request to a service.
public struct ServiceLimits: Hashable, Sendable {
    /// The most operations of a modify request, and records of a lookup.
    public var operationsPerRequest: Int
    /// The most records of a page.
    public var recordsPerPage: Int
    /// The most bytes of one record, without assets.
    public var recordBytes: Int
    /// The most bytes of one request.
    public var requestBytes: Int

    /// Limits by their parts; the defaults are those of CloudKit Web Services: 200 operations and
    /// records, 1 MB a record, 2 MB a request.
    public init(
        operationsPerRequest: Int = 200, recordsPerPage: Int = 200,
        recordBytes: Int = 1_000_000, requestBytes: Int = 2_000_000
    ) {
        self.operationsPerRequest = operationsPerRequest
        self.recordsPerPage = recordsPerPage
        self.recordBytes = recordBytes
        self.requestBytes = requestBytes
    }
}
