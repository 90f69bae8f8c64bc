import Backstitch
import BackstitchService
import Synchronization

/// A service that makes up its records when they are asked for, and takes what is pushed without
/// keeping it, so that what a benchmark measures is the engine's own.
final class GeneratedService: RecordService {
    private let templates: [ServiceRecord]
    private let count: Int
    private let modifications = Atomic(0)

    /// - Parameters:
    ///   - templates: Records whose fields are used in turn.
    ///   - count: How many records there are.
    init(templates: [ServiceRecord], count: Int) {
        self.templates = templates
        self.count = count
    }

    /// How many modifications it took.
    var taken: Int { modifications.load(ordering: .relaxed) }

    var scope: DatabaseScope { .private }

    var limits: ServiceLimits { ServiceLimits() }

    func modifyRecords(
        _ modifications: [RecordModification], in zone: ZoneID, atomic: Bool
    ) async throws(ServiceError) -> [ModificationResult] {
        let last = self.modifications.add(modifications.count, ordering: .relaxed).newValue
        return modifications.indices.map {
            .saved(changeTag: "p\(last - $0)", modifiedMilliseconds: 1_700_000_000_000)
        }
    }

    func lookUpRecords(
        _ recordNames: [String], in zone: ZoneID
    ) async throws(ServiceError) -> [LookupResult] {
        recordNames.map { _ in .notFound }
    }

    func databaseChanges(
        since token: String?
    ) async throws(ServiceError) -> DatabaseChangesPage {
        DatabaseChangesPage(
            changedZones: token == nil ? [ZoneID("Bench")] : [], endedZones: [:], token: "d",
            moreComing: false)
    }

    func zoneChanges(
        in zone: ZoneID, since token: String?, limit: Int, fields: Set<String>?, types: Set<String>?
    ) async throws(ServiceError) -> ZoneChangesPage {
        let start = token.flatMap { Int($0) } ?? 0
        let end = min(count, start + limit)
        let records = (start..<end).map { number in
            var record = templates[number % templates.count]
            record.recordName = "contact-\(number)"
            record.changeTag = "\(number)"
            return record
        }
        return ZoneChangesPage(
            records: records, deletions: [], token: "\(end)", moreComing: end < count)
    }

    func createZone(_ zone: ZoneID) async throws(ServiceError) {}
    func deleteZone(_ zone: ZoneID) async throws(ServiceError) {}
    func createSubscription(
        _ subscriptionID: String, to zone: ZoneID
    ) async throws(ServiceError) {}
    func currentUser() async throws(ServiceError) -> String { "bench" }
}
