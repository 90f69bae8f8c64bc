import BackstitchCore
import BackstitchSync
import BackstitchTesting
import Foundation
import TestBudget
import Testing

/// What a service may do wrong, and the check that has to find it.
enum Flaw: String, CaseIterable, Sendable {
    case composesText, roundsNumbers, dropsEmptyLists, takesAnyNumber, truncatesText
    case tellsOldServerRecords, deletesTwice, answersLookupsInAnyOrder, ignoresAtomic
    case ignoresWishes, takesAnyToken, keepsDeletedZones, takesForeignZones, ignoresReferences
    case forgetsWrites

    var check: RecordServiceConformance.Check {
        switch self {
        case .composesText, .roundsNumbers, .dropsEmptyLists: .values
        case .takesAnyNumber: .refusedValues
        case .truncatesText: .sizes
        case .tellsOldServerRecords: .conflicts
        case .deletesTwice: .lives
        case .answersLookupsInAnyOrder: .lookups
        case .ignoresAtomic, .forgetsWrites: .batches
        case .ignoresWishes: .desiredFields
        case .takesAnyToken: .damagedTokens
        case .keepsDeletedZones: .zoneLives
        case .takesForeignZones: .foreignZones
        case .ignoresReferences: .cascades
        }
    }
}

/// A simulated service with a flaw.
private struct BrokenService: ForwardingService {
    let service: any RecordService
    let flaw: Flaw

    func modifyRecords(
        _ modifications: [RecordModification], in zone: ZoneID, atomic: Bool
    ) async throws(ServiceError) -> [ModificationResult] {
        let sent = flaw == .forgetsWrites ? Array(modifications.dropLast()) : modifications
        var results = try await service.modifyRecords(
            sent.map { $0.mappingFields { spoil($0) } }, in: own(zone),
            atomic: atomic && flaw != .ignoresAtomic)
        if flaw == .forgetsWrites, !modifications.isEmpty {
            results.append(.saved(changeTag: "t", modifiedMilliseconds: 0))
        }
        return results.map { result in
            guard case .failed(var error) = result else { return result }
            if flaw == .deletesTwice, error.code == .unknownItem { return .deleted }
            if flaw == .tellsOldServerRecords { error.serverRecord?.fields = [:] }
            return .failed(error)
        }
    }

    func lookUpRecords(
        _ recordNames: [String], in zone: ZoneID
    ) async throws(ServiceError) -> [LookupResult] {
        let isUnordered = flaw == .answersLookupsInAnyOrder
        return try await service.lookUpRecords(
            isUnordered ? recordNames.sorted() : recordNames, in: own(zone))
    }

    func zoneChanges(
        in zone: ZoneID, since token: String?, limit: Int, fields: Set<String>?, types: Set<String>?
    ) async throws(ServiceError) -> ZoneChangesPage {
        let fields = flaw == .ignoresWishes ? nil : fields
        do throws(ServiceError) {
            return try await service.zoneChanges(
                in: own(zone), since: token, limit: limit, fields: fields, types: types)
        } catch  where error.code == .tokenExpired && flaw == .takesAnyToken {
            return try await service.zoneChanges(
                in: own(zone), since: nil, limit: limit, fields: fields, types: types)
        }
    }

    func createZone(_ zone: ZoneID) async throws(ServiceError) {
        try await service.createZone(own(zone))
    }

    func deleteZone(_ zone: ZoneID) async throws(ServiceError) {
        if flaw != .keepsDeletedZones { try await service.deleteZone(own(zone)) }
    }

    private func own(_ zone: ZoneID) -> ZoneID {
        flaw == .takesForeignZones ? ZoneID(zone.zoneName) : zone
    }

    private func spoil(_ value: ServiceValue) -> ServiceValue? {
        switch (flaw, value) {
        case (.composesText, .string(let text)):
            .string(text.precomposedStringWithCanonicalMapping)
        case (.roundsNumbers, .int64(let number)):
            .int64(Int64(exactly: Double(number)) ?? 0)
        case (.dropsEmptyLists, .list([], _)): nil
        case (.takesAnyNumber, .double(let number)): .double(number.isFinite ? number : 0)
        case (.truncatesText, .string(let text)): .string(String(text.prefix(1_000)))
        case (.ignoresReferences, .reference(let reference)):
            .reference(ServiceReference(recordName: reference.recordName))
        default: value
        }
    }
}

extension RecordModification {
    fileprivate func mappingFields(
        _ value: (ServiceValue) -> ServiceValue?
    ) -> RecordModification {
        func change(_ fields: NamedFields) -> NamedFields {
            NamedFields(
                fields.compactMap { name, old in value(old).map { (key: name, value: $0) } })
        }
        return switch self {
        case .create(let name, let type, let fields):
            .create(recordName: name, recordType: type, fields: change(fields))
        case .update(let name, let type, let tag, let fields):
            .update(
                recordName: name, recordType: type, changeTag: tag,
                fields: change(fields))
        case .delete: self
        }
    }
}

@Suite("Services that do not conform", .budgeted)
struct BrokenServiceTests {
    @Test("a check finds what a service does wrong", arguments: Flaw.allCases)
    func flaws(flaw: Flaw) async {
        let service = BrokenService(service: SimulatedRecordService(), flaw: flaw)
        let count = ManualClock(milliseconds: 0)
        let conformance = RecordServiceConformance(service) {
            count.advance(milliseconds: 1)
            return ZoneID("zone-\(count.milliseconds)")
        }
        #expect(await conformance.run(flaw.check) != [])
    }
}
