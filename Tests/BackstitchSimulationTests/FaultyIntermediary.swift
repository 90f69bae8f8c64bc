import BackstitchCore
import BackstitchSync
import BackstitchTesting
import BackstitchSimulation

/// What stands between the devices and the service and does wrong, so that the checkers have
/// something to find.
enum FaultyIntermediary: CaseIterable, Sendable {
    /// Says that the service saved a record, and did not pass it on.
    case acknowledgesWithoutSaving
    /// Leaves deletions out of the feed.
    case dropsDeletions
    /// Takes a token of commits that the service lost for one that is too old.
    case hidesLostCommits

    var options: SimulationOptions {
        var options = SimulationOptions()
        switch self {
        case .acknowledgesWithoutSaving: options.intermediary = { Liar(service: $0) }
        case .dropsDeletions: options.intermediary = { Censor(service: $0) }
        case .hidesLostCommits:
            options.intermediary = { Soother(service: $0) }
            options.faults = .only(connection: [], events: [.rollback, .foreignEdit])
        }
        return options
    }

    private struct Liar: ForwardingService {
        let service: any RecordService

        func modifyRecords(
            _ modifications: [RecordModification], in zone: ZoneID, atomic: Bool
        ) async throws(ServiceError) -> [ModificationResult] {
            let sent = Array(modifications.dropLast())
            let results =
                sent.isEmpty
                ? [] : try await service.modifyRecords(sent, in: zone, atomic: atomic)
            guard !modifications.isEmpty else { return results }
            return results + [.saved(changeTag: "zz", modifiedMilliseconds: 1)]
        }
    }

    private struct Censor: ForwardingService {
        let service: any RecordService

        func zoneChanges(
            in zone: ZoneID, since token: String?, limit: Int, fields: Set<String>?,
            types: Set<String>?
        ) async throws(ServiceError) -> ZoneChangesPage {
            var page = try await service.zoneChanges(
                in: zone, since: token, limit: limit, fields: fields, types: types)
            page.deletions = []
            return page
        }
    }

    private struct Soother: ForwardingService {
        let service: any RecordService

        func zoneChanges(
            in zone: ZoneID, since token: String?, limit: Int, fields: Set<String>?,
            types: Set<String>?
        ) async throws(ServiceError) -> ZoneChangesPage {
            do throws(ServiceError) {
                return try await service.zoneChanges(
                    in: zone, since: token, limit: limit, fields: fields, types: types)
            } catch {
                guard error.code == .zoneNotFound, token != nil else { throw error }
                throw ServiceError(.tokenExpired)
            }
        }
    }
}
