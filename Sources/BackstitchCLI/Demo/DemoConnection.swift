import Backstitch
import LMDB

/// A device's connection to the service, on which a device can die before it gets a reply.
final class DemoConnection: RecordService {
    private let service: any RecordService
    private let beforeReplyHook = Locked<(@Sendable () throws(ServiceError) -> Void)?>(nil)

    init(_ service: any RecordService) { self.service = service }

    /// Runs after the service did what a modify request asks, and before the reply arrives; what it
    /// throws is the answer.
    var beforeReply: (@Sendable () throws(ServiceError) -> Void)? {
        get { beforeReplyHook.withLock { $0 } }
        set { beforeReplyHook.withLock { $0 = newValue } }
    }

    var limits: ServiceLimits {
        get async { await service.limits }
    }

    func modifyRecords(
        _ modifications: [RecordModification], in zone: ZoneID, atomic: Bool
    ) async throws(ServiceError) -> [ModificationResult] {
        let results = try await service.modifyRecords(modifications, in: zone, atomic: atomic)
        try beforeReply?()
        return results
    }

    func lookUpRecords(
        _ recordNames: [String], in zone: ZoneID
    ) async throws(ServiceError) -> [LookupResult] {
        try await service.lookUpRecords(recordNames, in: zone)
    }

    func databaseChanges(since token: String?) async throws(ServiceError) -> DatabaseChangesPage {
        try await service.databaseChanges(since: token)
    }

    func zoneChanges(
        in zone: ZoneID, since token: String?, limit: Int, fields: Set<String>?
    ) async throws(ServiceError) -> ZoneChangesPage {
        try await service.zoneChanges(in: zone, since: token, limit: limit, fields: fields)
    }

    func createZone(_ zone: ZoneID) async throws(ServiceError) {
        try await service.createZone(zone)
    }

    func deleteZone(_ zone: ZoneID) async throws(ServiceError) {
        try await service.deleteZone(zone)
    }

    func createSubscription(
        _ subscriptionID: String, to zone: ZoneID
    ) async throws(ServiceError) {
        try await service.createSubscription(subscriptionID, to: zone)
    }

    func currentUser() async throws(ServiceError) -> String { try await service.currentUser() }

    /// All records of a zone as the service has them.
    func records(in zone: ZoneID) async throws -> [ServiceRecord] {
        var records: [String: ServiceRecord] = [:]
        var token: String?
        while true {
            let page = try await service.zoneChanges(
                in: zone, since: token, limit: .max, fields: nil)
            for record in page.records { records[record.recordName] = record }
            for deletion in page.deletions { records[deletion.recordName] = nil }
            guard page.moreComing else { return Array(records.values) }
            token = page.token
        }
    }
}
