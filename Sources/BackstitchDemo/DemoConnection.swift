import Backstitch
import BackstitchTesting
import Threading

/// A device's connection to the service, on which a device can die before it gets a reply.
final class DemoConnection: ForwardingService {
    let service: any RecordService

    private struct Hook {
        var requests: Int
        let action: @Sendable () throws(ServiceError) -> Void
    }

    private let hook = Locked<Hook?>(nil)

    init(_ service: any RecordService) { self.service = service }

    /// Has something happen after the service did what a number of modify requests asked and one
    /// more, and before that one's reply arrives; what it throws is the answer.
    func beforeReply(
        after requests: Int, _ action: @escaping @Sendable () throws(ServiceError) -> Void
    ) {
        hook.withLock { $0 = Hook(requests: requests, action: action) }
    }

    /// Lets all replies arrive again.
    func forgetReplies() { hook.withLock { $0 = nil } }

    func modifyRecords(
        _ modifications: [RecordModification], in zone: ZoneID, atomic: Bool
    ) async throws(ServiceError) -> [ModificationResult] {
        let results = try await service.modifyRecords(modifications, in: zone, atomic: atomic)
        let due = hook.withLock { hook in
            hook?.requests -= 1
            return hook.flatMap { $0.requests < 0 ? $0.action : nil }
        }
        try due?()
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
