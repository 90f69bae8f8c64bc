public import BackstitchCore

/// A CloudKit-shaped service: zones of records with change tags and a change feed.
///
/// A call that throws does not tell what the service did: after `network` the request may have
/// taken effect or not. Each operation is safe to send again, because it carries a change tag.
///
/// Calls come from any task, and several at once. One sync engine has at most one call under way that
/// exchanges records or zones. Beside it go the transfers of files, two uploads and four downloads, and the
/// calls that these need: ``lookUpRecords(_:in:)`` and ``rereference(_:in:)``. Several engines may use one
/// object, so keep no state of *the* call in it.
///
/// A call whose task is cancelled should end soon, with `network`, because no one waits for its reply. Until
/// it ends, its engine exchanges nothing else.
public protocol RecordService: Sendable {
    /// The database that the calls go to. It stays the same for the life of the object.
    var scope: DatabaseScope { get }

    /// The abilities that not every service has. Read them anew: they may become known with a reply.
    var capabilities: Set<ServiceCapability> { get }

    /// The same user's service for another database; nil if there is none.
    func service(for scope: DatabaseScope) -> (any RecordService)?

    /// The limits of one request.
    var limits: ServiceLimits { get async }

    /// Applies operations to the records of one zone, in order, and answers each in its place.
    ///
    /// With `atomic` either all take effect or none: the culprits answer with their own error, the
    /// others with `batchFailed`. A request has at most one operation a record.
    func modifyRecords(
        _ modifications: [RecordModification], in zone: ZoneID, atomic: Bool
    ) async throws(ServiceError) -> [ModificationResult]

    /// Applies operations as ``modifyRecords(_:in:atomic:)`` does, and replaces the token of the zone's feed by
    /// one for the same place that belongs to the state after them.
    ///
    /// A service whose data is put back to an older state recognises by it that it lost the operations, and
    /// fails with `zoneNotFound` when it is asked with the token. It does so here too, and applies nothing, if the
    /// token that it gets is one of what it lost.
    ///
    /// - Parameter token: Where the feed was read up to. It stays as it is if the service has no such tokens,
    ///   and after a failure. One that has expired is replaced too, by one that the feed refuses as expired:
    ///   the operations may be lost before the feed is read again.
    func modifyRecords(
        _ modifications: [RecordModification], in zone: ZoneID, atomic: Bool,
        token: inout String
    ) async throws(ServiceError) -> [ModificationResult]

    /// Reads records by name and answers each in its place.
    func lookUpRecords(
        _ recordNames: [String], in zone: ZoneID
    ) async throws(ServiceError) -> [LookupResult]

    /// The zones that changed since a token; from the beginning if there is none.
    func databaseChanges(
        since token: String?
    ) async throws(ServiceError) -> DatabaseChangesPage

    /// One page of the records that changed in a zone since a token; from the beginning if there
    /// is none.
    ///
    /// A record that can't be delivered stops no page: name it in ``ZoneChangesPage/failures``. It is looked
    /// up later.
    ///
    /// - Parameters:
    ///   - limit: An upper bound that the service may lower.
    ///   - fields: The fields that the records come with; nil for all.
    ///   - types: The types of the records that are asked for; nil for all. Deletions of all types come. A
    ///     service without ``ServiceCapability/recordTypes`` may ignore it.
    func zoneChanges(
        in zone: ZoneID, since token: String?, limit: Int, fields: Set<String>?, types: Set<String>?
    ) async throws(ServiceError) -> ZoneChangesPage

    /// Makes a zone; succeeds if it is there already.
    func createZone(_ zone: ZoneID) async throws(ServiceError)

    /// Deletes a zone with all its records; fails with `zoneNotFound` if it does not exist.
    func deleteZone(_ zone: ZoneID) async throws(ServiceError)

    /// Subscribes to the changes of a zone; succeeds if the subscription is there already.
    func createSubscription(_ subscriptionID: String, to zone: ZoneID) async throws(ServiceError)

    /// The record name of the user whose credentials the service has.
    func currentUser() async throws(ServiceError) -> String

    /// Uploads the content of a file for one field of a record, and returns what the field is to be set
    /// to. No client sees the content before a record with that value is saved, and the service drops it
    /// if that takes too long (`assetMissing`, at the save).
    ///
    /// Reads the file in parts, so that its size costs no memory. Each call is safe to repeat; one for
    /// a file that was not sent to the end may continue where an earlier one stopped, also one of another
    /// process. Fails with `limitExceeded` if the file is too large, and with `quotaExceeded` if the user has
    /// no space.
    ///
    /// - Parameters:
    ///   - path: The file. It does not change during the call.
    ///   - address: The text that `began` got in an earlier call; nil if there was none. One that has ended
    ///     does no harm.
    ///   - began: Called with the text that a later call can continue with, if the service takes parts. Any
    ///     holder of it can send this file in the user's name until it ends.
    ///   - progress: Called with the number of bytes that were sent, from any thread.
    func upload(
        _ path: String, for field: AssetField, in zone: ZoneID, from address: String?,
        began: @Sendable (String) async -> Void, progress: @Sendable (Int64) -> Void
    ) async throws(ServiceError) -> ServiceAsset

    /// What another field of the zone can be set to so that it holds the file that a field of a record holds,
    /// without another upload; nil if the service can't tell, or the field holds no file.
    func rereference(
        _ field: AssetField, in zone: ZoneID
    ) async throws(ServiceError) -> ServiceAsset?

    /// Downloads the content of an asset into a file. The asset is one that was just read: its address
    /// ends after minutes, and then the call fails with `permissionDenied`. Read the record again.
    ///
    /// A file that is there is taken for the beginning of the content, and the rest is added to it, or
    /// all is written anew if the service sends no parts. Returns after all bytes were written; whether
    /// they are the right ones and are on disk is for the caller to see to. Fails with `assetMissing`
    /// if the service does not have the content any more.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - progress: Called with the number of bytes that the file has, from any thread.
    func download(
        _ asset: ServiceAsset, to path: String, progress: @Sendable (Int64) -> Void
    ) async throws(ServiceError)
}

/// Services of one database, without files.
extension RecordService {
    /// None.
    public var capabilities: Set<ServiceCapability> { [] }

    /// Answers nil: there is one database.
    public func service(for scope: DatabaseScope) -> (any RecordService)? { nil }

    /// Leaves the token as it is.
    public func modifyRecords(
        _ modifications: [RecordModification], in zone: ZoneID, atomic: Bool,
        token: inout String
    ) async throws(ServiceError) -> [ModificationResult] {
        try await modifyRecords(modifications, in: zone, atomic: atomic)
    }

    /// Throws `unsupported`.
    public func upload(
        _ path: String, for field: AssetField, in zone: ZoneID, from address: String?,
        began: @Sendable (String) async -> Void, progress: @Sendable (Int64) -> Void
    ) async throws(ServiceError) -> ServiceAsset {
        throw ServiceError(.unsupported, "this service takes no files")
    }

    /// Answers nil: each record's file is uploaded.
    public func rereference(
        _ field: AssetField, in zone: ZoneID
    ) async throws(ServiceError) -> ServiceAsset? { nil }

    /// Throws `unsupported`.
    public func download(
        _ asset: ServiceAsset, to path: String, progress: @Sendable (Int64) -> Void
    ) async throws(ServiceError) {
        throw ServiceError(.unsupported, "this service gives no files")
    }
}

/// An ability that not every service has.
public enum ServiceCapability: String, Hashable, Sendable, CaseIterable {
    /// ``RecordService/zoneChanges(in:since:limit:fields:types:)`` brings records of the types that are asked
    /// for, and no others.
    case recordTypes
}

extension RecordService {
    /// One page of the records of all types that changed in a zone since a token.
    package func zoneChanges(
        in zone: ZoneID, since token: String?, limit: Int, fields: Set<String>?
    ) async throws(ServiceError) -> ZoneChangesPage {
        try await zoneChanges(in: zone, since: token, limit: limit, fields: fields, types: nil)
    }
}
