package import BackstitchCore
package import BackstitchSync

/// A service in front of another one: each call goes there, unless the type has its own. Modifications come
/// without the token of the feed, so that one method has all of them, unless the type takes that call too.
package protocol ForwardingService: RecordService {
    /// The service that does the work.
    var service: any RecordService { get }
}

extension ForwardingService {
    package var scope: DatabaseScope { service.scope }

    package var capabilities: Set<ServiceCapability> { service.capabilities }

    package func service(for scope: DatabaseScope) -> (any RecordService)? {
        service.service(for: scope)
    }

    package var limits: ServiceLimits {
        get async { await service.limits }
    }

    package func modifyRecords(
        _ modifications: [RecordModification], in zone: ZoneID, atomic: Bool
    ) async throws(ServiceError) -> [ModificationResult] {
        try await service.modifyRecords(modifications, in: zone, atomic: atomic)
    }

    package func lookUpRecords(
        _ recordNames: [String], in zone: ZoneID
    ) async throws(ServiceError) -> [LookupResult] {
        try await service.lookUpRecords(recordNames, in: zone)
    }

    package func databaseChanges(
        since token: String?
    ) async throws(ServiceError) -> DatabaseChangesPage {
        try await service.databaseChanges(since: token)
    }

    package func zoneChanges(
        in zone: ZoneID, since token: String?, limit: Int, fields: Set<String>?, types: Set<String>?
    ) async throws(ServiceError) -> ZoneChangesPage {
        try await service.zoneChanges(
            in: zone, since: token, limit: limit, fields: fields, types: types)
    }

    package func createZone(_ zone: ZoneID) async throws(ServiceError) {
        try await service.createZone(zone)
    }

    package func deleteZone(_ zone: ZoneID) async throws(ServiceError) {
        try await service.deleteZone(zone)
    }

    package func createSubscription(
        _ subscriptionID: String, to zone: ZoneID
    ) async throws(ServiceError) {
        try await service.createSubscription(subscriptionID, to: zone)
    }

    package func currentUser() async throws(ServiceError) -> String {
        try await service.currentUser()
    }

    package func upload(
        _ path: String, for field: AssetField, in zone: ZoneID, from address: String?,
        began: @Sendable (String) async -> Void, progress: @Sendable (Int64) -> Void
    ) async throws(ServiceError) -> ServiceAsset {
        try await service.upload(
            path, for: field, in: zone, from: address, began: began, progress: progress)
    }

    package func rereference(
        _ field: AssetField, in zone: ZoneID
    ) async throws(ServiceError) -> ServiceAsset? {
        try await service.rereference(field, in: zone)
    }

    package func download(
        _ asset: ServiceAsset, to path: String, progress: @Sendable (Int64) -> Void
    ) async throws(ServiceError) {
        try await service.download(asset, to: path, progress: progress)
    }
}
