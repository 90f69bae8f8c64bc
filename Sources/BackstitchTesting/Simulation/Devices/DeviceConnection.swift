import BackstitchCore
import BackstitchSync
import LMDB

/// What a device's engine talks to: the simulated service, until the device crashes.
///
/// After a crash every call fails and none arrives. It watches that feeds are read forwards only.
final class DeviceConnection: RecordService {
    private struct State {
        var isCrashed = false
        var lastToken: ChangeToken?
        var violations: [String] = []
    }

    private let service: SimulatedRecordService
    private let bug: PlantedBug?
    private let state = Locked(State())

    init(_ service: SimulatedRecordService, bug: PlantedBug?) {
        self.service = service
        self.bug = bug
    }

    var isCrashed: Bool { state.withLock { $0.isCrashed } }
    var violations: [String] { state.withLock { $0.violations } }

    func crash() { state.withLock { $0.isCrashed = true } }

    private func check() throws(ServiceError) {
        if isCrashed { throw ServiceError(.network, reason: "the device crashed") }
    }

    var limits: ServiceLimits {
        get async { await service.limits }
    }

    func modifyRecords(
        _ modifications: [RecordModification], in zone: ZoneID, atomic: Bool
    ) async throws(ServiceError) -> [ModificationResult] {
        try check()
        if bug == .acknowledgesWithoutSaving, !modifications.isEmpty {
            // The last operation is dropped, and said to be done.
            let sent = Array(modifications.dropLast())
            let results =
                sent.isEmpty
                ? [] : try await service.modifyRecords(sent, in: zone, atomic: atomic)
            return results + [.saved(changeTag: "zz", modifiedMilliseconds: 1)]
        }
        let results = try await service.modifyRecords(modifications, in: zone, atomic: atomic)
        try check()
        return results
    }

    func lookUpRecords(
        _ recordNames: [String], in zone: ZoneID
    ) async throws(ServiceError) -> [LookupResult] {
        try check()
        let results = try await service.lookUpRecords(recordNames, in: zone)
        try check()
        return results
    }

    func databaseChanges(since token: String?) async throws(ServiceError) -> DatabaseChangesPage {
        try check()
        let page = try await service.databaseChanges(since: token)
        try check()
        return page
    }

    func zoneChanges(
        in zone: ZoneID, since token: String?, limit: Int, fields: Set<String>?
    ) async throws(ServiceError) -> ZoneChangesPage {
        try check()
        note(token)
        var page = try await service.zoneChanges(
            in: zone, since: token, limit: limit, fields: fields)
        try check()
        if bug == .dropsDeletions { page.deletions = [] }
        return page
    }

    func createZone(_ zone: ZoneID) async throws(ServiceError) {
        try check()
        try await service.createZone(zone)
        try check()
    }

    func deleteZone(_ zone: ZoneID) async throws(ServiceError) {
        try check()
        try await service.deleteZone(zone)
    }

    func createSubscription(
        _ subscriptionID: String, to zone: ZoneID
    ) async throws(ServiceError) {
        try check()
        try await service.createSubscription(subscriptionID, to: zone)
        try check()
    }

    func currentUser() async throws(ServiceError) -> String {
        try check()
        let user = try await service.currentUser()
        try check()
        return user
    }

    /// Within one epoch and life of a zone, each page starts where an earlier one ended, or later.
    private func note(_ text: String?) {
        state.withLock { state in
            guard let text, let token = ChangeToken(text) else {
                state.lastToken = nil
                return
            }
            if let last = state.lastToken, last.epoch == token.epoch, last.owner == token.owner,
                token.sequence < last.sequence
            {
                state.violations.append(
                    "the feed was read from \(token.sequence) after \(last.sequence)")
            }
            state.lastToken = token
        }
    }
}
