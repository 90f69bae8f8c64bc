import BackstitchCore
import BackstitchSync
import BackstitchTesting
import Threading

/// A service that answers late, on the threads of the machine: how late, a seed says.
final class LateService: ForwardingService {
    let service: any RecordService
    private let generator: Locked<SeededGenerator>

    init(_ service: SimulatedRecordService, seed: UInt64) {
        self.service = service
        generator = Locked(SeededGenerator(seed: seed))
    }

    private func wait() async {
        let turns = generator.withLock { $0.next() % 400 }
        for _ in 0..<turns { await Task.yield() }
    }

    func zoneChanges(
        in zone: ZoneID, since token: String?, limit: Int, fields: Set<String>?, types: Set<String>?
    ) async throws(ServiceError) -> ZoneChangesPage {
        await wait()
        let page = try await service.zoneChanges(
            in: zone, since: token, limit: limit, fields: fields, types: types)
        await wait()
        return page
    }

    func databaseChanges(since token: String?) async throws(ServiceError) -> DatabaseChangesPage {
        let page = try await service.databaseChanges(since: token)
        await wait()
        return page
    }

    func modifyRecords(
        _ modifications: [RecordModification], in zone: ZoneID, atomic: Bool
    ) async throws(ServiceError) -> [ModificationResult] {
        await wait()
        let results = try await service.modifyRecords(modifications, in: zone, atomic: atomic)
        await wait()
        return results
    }

    func lookUpRecords(
        _ recordNames: [String], in zone: ZoneID
    ) async throws(ServiceError) -> [LookupResult] {
        let results = try await service.lookUpRecords(recordNames, in: zone)
        await wait()
        return results
    }
}
