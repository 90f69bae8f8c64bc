public import BackstitchCore

/// A CloudKit-shaped service: zones of records with change tags and a change feed.
///
/// A call that throws says nothing of what the service did: the request may have taken effect
/// (`network`) or not. Each operation is safe to send again, because it carries a change tag.
/// Implementations are called by one sync engine at a time, from any task, and by each with one request
/// at a time. A request whose task is cancelled should end soon, with `network`: nobody waits for it. If
/// it does not, the engine stays with it until it ends, and another engine may call meanwhile.
public protocol RecordService: Sendable {
    /// What one request may carry.
    var limits: ServiceLimits { get async }

    /// Applies operations to the records of one zone, in order, and answers each in its place.
    ///
    /// With `atomic` either all take effect or none: the culprits answer with their own error, the
    /// others with `batchFailed`. A request has at most one operation a record.
    func modifyRecords(
        _ modifications: [RecordModification], in zone: ZoneID, atomic: Bool
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

    /// Deletes a zone with all its records; fails with `zoneNotFound` if there is none.
    func deleteZone(_ zone: ZoneID) async throws(ServiceError)

    /// Subscribes to the changes of a zone; succeeds if the subscription is there already.
    func createSubscription(_ subscriptionID: String, to zone: ZoneID) async throws(ServiceError)

    /// The record name of the user whose credentials the service has.
    func currentUser() async throws(ServiceError) -> String
}
