import Backstitch
import BackstitchTesting
import LMDB

/// A device's connection to the service, on which a device can die before it gets a reply.
final class DemoConnection: ForwardingService {
    let service: any RecordService
    private let beforeReplyHook = Locked<(@Sendable () throws(ServiceError) -> Void)?>(nil)

    init(_ service: any RecordService) { self.service = service }

    /// Runs after the service did what a modify request asks, and before the reply arrives; what it
    /// throws is the answer.
    var beforeReply: (@Sendable () throws(ServiceError) -> Void)? {
        get { beforeReplyHook.withLock { $0 } }
        set { beforeReplyHook.withLock { $0 = newValue } }
    }

    func modifyRecords(
        _ modifications: [RecordModification], in zone: ZoneID, atomic: Bool
    ) async throws(ServiceError) -> [ModificationResult] {
        let results = try await service.modifyRecords(modifications, in: zone, atomic: atomic)
        try beforeReply?()
        return results
    }

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
