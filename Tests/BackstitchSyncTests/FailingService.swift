import BackstitchCore
import BackstitchSync
import BackstitchTesting
import Threading

/// A connection on which one record of a request fails with any code.
final class FailingService: ForwardingService {
    let service: any RecordService
    private let failure = Locked<(name: String, request: RequestKind, error: ServiceError)?>(nil)

    init(_ service: SimulatedRecordService) {
        self.service = service
    }

    func fail(_ name: String, on request: RequestKind, with error: ServiceError) {
        failure.withLock { $0 = (name, request, error) }
    }

    func endFailures() {
        failure.withLock { $0 = nil }
    }

    private func failure(
        of names: [String], on request: RequestKind
    ) -> (index: Int, error: ServiceError)? {
        guard let failure = failure.withLock({ $0 }), failure.request == request,
            let index = names.firstIndex(of: failure.name)
        else { return nil }
        return (index, failure.error)
    }

    func modifyRecords(
        _ modifications: [RecordModification], in zone: ZoneID, atomic: Bool
    ) async throws(ServiceError) -> [ModificationResult] {
        var sent = modifications
        let failed = failure(of: modifications.map(\.recordName), on: .modify)
        if let failed { sent.remove(at: failed.index) }
        var results: [ModificationResult] = []
        if !sent.isEmpty {
            results = try await service.modifyRecords(sent, in: zone, atomic: atomic)
        }
        if let failed { results.insert(.failed(failed.error), at: failed.index) }
        return results
    }

    func lookUpRecords(
        _ recordNames: [String], in zone: ZoneID
    ) async throws(ServiceError) -> [LookupResult] {
        var results = try await service.lookUpRecords(recordNames, in: zone)
        if let failed = failure(of: recordNames, on: .lookup) {
            results[failed.index] = .failed(failed.error)
        }
        return results
    }
}
