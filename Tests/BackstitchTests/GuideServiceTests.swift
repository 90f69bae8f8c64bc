import Backstitch
import BackstitchTesting
import Foundation
import TestBudget
import Testing

actor TeamServer: RecordService {
    nonisolated let scope = DatabaseScope.private
    let limits = ServiceLimits()
    private var records: [String: ServiceRecord] = [:]
    private var changes: [(name: String, type: String)] = []  // a token is a place in it

    func modifyRecords(
        _ modifications: [RecordModification], in zone: ZoneID, atomic: Bool
    ) async throws(ServiceError) -> [ModificationResult] {
        let refusals = modifications.map(refusal)
        if atomic, refusals.contains(where: { $0 != nil }) {
            return refusals.map { .failed($0 ?? ServiceError(.batchFailed)) }
        }
        return zip(modifications, refusals).map { $1.map { .failed($0) } ?? apply($0) }
    }

    private func refusal(of modification: RecordModification) -> ServiceError? {
        let record = records[modification.recordName]
        switch modification {
        case .create: return record == nil ? nil : ServiceError(.alreadyExists)
        case .update(_, _, let changeTag, _), .delete(_, let changeTag):
            guard let record else { return ServiceError(.unknownItem) }
            return record.changeTag == changeTag
                ? nil : ServiceError(.conflict, serverRecord: record)
        }
    }

    private func apply(_ modification: RecordModification) -> ModificationResult {
        let name = modification.recordName
        switch modification {
        case .create(_, let type, let fields), .update(_, let type, _, let fields):
            var kept = records[name]?.fields ?? [:]
            for (field, value) in fields { kept[field] = value == .null ? nil : value }
            changes.append((name, type))
            let record = ServiceRecord(
                recordName: name, recordType: type, changeTag: "\(changes.count)",
                modifiedMilliseconds: 0, fields: kept)
            records[name] = record
            return .saved(changeTag: record.changeTag, modifiedMilliseconds: 0)
        case .delete:
            changes.append((name, records[name]?.recordType ?? ""))
            records[name] = nil
            return .deleted
        }
    }

    func lookUpRecords(
        _ recordNames: [String], in zone: ZoneID
    ) async throws(ServiceError) -> [LookupResult] {
        recordNames.map { name in records[name].map { .found($0) } ?? .notFound }
    }

    func databaseChanges(
        since token: String?
    ) async throws(ServiceError) -> DatabaseChangesPage {
        DatabaseChangesPage(
            changedZones: [ZoneID("Team")], endedZones: [:], token: "\(changes.count)",
            moreComing: false)
    }

    func zoneChanges(
        in zone: ZoneID, since token: String?, limit: Int, fields: Set<String>?,
        types: Set<String>?
    ) async throws(ServiceError) -> ZoneChangesPage {
        guard let start = Int(token ?? "0"),
            changes.indices.contains(start) || start == changes.count
        else { throw ServiceError(.tokenExpired) }
        let part = changes[start...].prefix(limit)
        var page = ZoneChangesPage(
            records: [], deletions: [], token: "\(part.endIndex)",
            moreComing: part.endIndex < changes.endIndex)
        let last = Dictionary(part.map { ($0.name, $0.type) }, uniquingKeysWith: { $1 })
        for (name, type) in last {
            if var record = records[name] {
                if let fields { record.fields = record.fields.filter { fields.contains($0.key) } }
                record.requestedFields = fields
                page.records.append(record)
            } else {
                page.deletions.append(ServiceDeletion(recordName: name, recordType: type))
            }
        }
        return page
    }

    func createZone(_ zone: ZoneID) async throws(ServiceError) {}
    func deleteZone(_ zone: ZoneID) async throws(ServiceError) {
        throw ServiceError(.unsupported, "The team's zone stays.")
    }
    func createSubscription(
        _ subscriptionID: String, to zone: ZoneID
    ) async throws(ServiceError) {}
    func currentUser() async throws(ServiceError) -> String { "team" }
}

@Suite(.budgeted) struct GuideServiceTests {
    @Test func `devices exchange records over the service of the guide`() async throws {
        let server = TeamServer()
        let (phone, laptop) = try (device(server), device(server))
        let department = Department(name: "Engines")
        try await phone.store.write { _ = try $0.save(department) }
        try await sync(phone, laptop, untilQuiet: 10)
        #expect(try laptop.store.read { try $0.count(Department.self) } == 1)

        try await laptop.store.write { transaction in
            try transaction.save(
                Employee(name: "Ada", email: "ada@example.com", salary: 1, hiredAt: .now))
            try transaction.delete(department.id)
        }
        try await sync(phone, laptop, untilQuiet: 10)
        #expect(try phone.store.read { try $0.count(Department.self) } == 0)
        #expect(try phone.store.read { try $0.count(Employee.self) } == 1)
        #expect(try phone.pending().pendingRecords == 0)
    }

    @Test func `the service of the guide keeps the rules that it names`() async throws {
        for check in [RecordServiceConformance.Check.tags, .fields, .echoes] {
            let conformance = RecordServiceConformance(TeamServer()) { ZoneID("Team") }
            let findings = await conformance.run(check)
            #expect(findings == [], "\(check)")
        }
    }

    private func device(_ server: TeamServer) throws -> SyncEngine {
        SyncEngine(
            store: try Store.inMemory(schema: StoreSchema(Department.self, Employee.self)),
            service: server,
            configuration: SyncConfiguration(zoneName: "Team", syncOnSave: false))
    }
}
