public import BackstitchCore

/// A CloudKit-shaped service: zones of records with change tags and a change feed.
///
/// A call that throws does not tell what the service did: after `network` the request may have
/// taken effect or not. Each operation is safe to send again, because it carries a change tag.
/// Implementations are called by one sync engine at a time, from any task, and by each with one
/// request at a time. A request whose task is cancelled should end soon, with `network`, because no
/// call waits for it. Until it ends, the engine sends nothing else, but another engine may call.
public protocol RecordService: Sendable {
    /// The database that the calls go to. It stays the same for the life of the object.
    var scope: DatabaseScope { get }

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
    ///   if the token has expired, and after a failure.
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
    /// is none. `limit` is an upper bound that the service may lower.
    func zoneChanges(
        in zone: ZoneID, since token: String?, limit: Int, fields: Set<String>?
    ) async throws(ServiceError) -> ZoneChangesPage

    /// Makes a zone; succeeds if it is there already.
    func createZone(_ zone: ZoneID) async throws(ServiceError)

    /// Deletes a zone with all its records; fails with `zoneNotFound` if it does not exist.
    func deleteZone(_ zone: ZoneID) async throws(ServiceError)

    /// Subscribes to the changes of a zone; succeeds if the subscription is there already.
    func createSubscription(_ subscriptionID: String, to zone: ZoneID) async throws(ServiceError)

    /// The record name of the user whose credentials the service has.
    func currentUser() async throws(ServiceError) -> String

    /// One page of the records that a query asks for, each at most once over all pages. A page may be
    /// empty and still have one after it.
    ///
    /// What was written a moment ago may be missing, because services bring their indexes up to date
    /// later. Fails with `invalidRequest` if the service can't filter or sort by one of the fields.
    ///
    /// - Parameters:
    ///   - zone: The zone; nil for all zones of the database.
    ///   - cursor: Where the page starts, from the page before, for the same query; nil for the first.
    ///   - limit: An upper bound that the service may lower.
    ///   - fields: The fields to read; nil for all.
    func query(
        _ query: ServiceQuery, in zone: ZoneID?, after cursor: String?, limit: Int,
        fields: Set<String>?
    ) async throws(ServiceError) -> ServiceQueryPage

    /// Uploads the content of a file for one field of a record, and returns what the field is to be set
    /// to. No client sees the content before a record with that value is saved, and the service drops it
    /// if that takes too long (`assetMissing`, at the save).
    ///
    /// Reads the file in parts, so that its size costs no memory. Each call is safe to repeat; one for
    /// a file that was not sent to the end may go on where the last one stopped. Fails with
    /// `limitExceeded` if the file is too large, and with `quotaExceeded` if the user has no space.
    ///
    /// - Parameters:
    ///   - path: The file. It does not change during the call.
    ///   - progress: Called with the number of bytes that were sent, from any thread.
    func upload(
        _ path: String, for field: AssetField, in zone: ZoneID,
        progress: @Sendable (Int64) -> Void
    ) async throws(ServiceError) -> ServiceAsset

    /// Uploads the content of a file as ``upload(_:for:in:progress:)`` does, and continues where an earlier
    /// call stopped, also one of another process.
    ///
    /// - Parameters:
    ///   - address: What the earlier call told; nil if there was none. One that has ended does no harm.
    ///   - began: Told what a later call can go on with, if the service takes parts. Any holder of it can
    ///     send this file in the user's name until it ends.
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

/// Services without queries and files.
extension RecordService {
    /// Leaves the token as it is.
    public func modifyRecords(
        _ modifications: [RecordModification], in zone: ZoneID, atomic: Bool,
        token: inout String
    ) async throws(ServiceError) -> [ModificationResult] {
        try await modifyRecords(modifications, in: zone, atomic: atomic)
    }

    /// Throws `unsupported`.
    public func query(
        _ query: ServiceQuery, in zone: ZoneID?, after cursor: String?, limit: Int,
        fields: Set<String>?
    ) async throws(ServiceError) -> ServiceQueryPage {
        throw ServiceError(.unsupported, "this service takes no queries")
    }

    /// Throws `unsupported`.
    public func upload(
        _ path: String, for field: AssetField, in zone: ZoneID,
        progress: @Sendable (Int64) -> Void
    ) async throws(ServiceError) -> ServiceAsset {
        throw ServiceError(.unsupported, "this service takes no files")
    }

    /// Begins anew.
    public func upload(
        _ path: String, for field: AssetField, in zone: ZoneID, from address: String?,
        began: @Sendable (String) async -> Void, progress: @Sendable (Int64) -> Void
    ) async throws(ServiceError) -> ServiceAsset {
        try await upload(path, for: field, in: zone, progress: progress)
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
