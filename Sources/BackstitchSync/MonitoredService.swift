import BackstitchCore
import BackstitchStore
import Threading

/// A service whose requests are noted for ``EngineReport``, and refused once the engine was stopped.
struct MonitoredService: RecordService {
    private let service: any RecordService
    private let engine: EngineContext

    init(_ service: any RecordService, _ engine: EngineContext) {
        (self.service, self.engine) = (service, engine)
    }

    var scope: DatabaseScope { service.scope }

    var capabilities: Set<ServiceCapability> { service.capabilities }

    func service(for scope: DatabaseScope) -> (any RecordService)? {
        service.service(for: scope).map { MonitoredService($0, engine) }
    }

    var limits: ServiceLimits { get async { await service.limits } }

    /// - Parameter records: How many records a reply has, or the request had.
    private func noted<Reply>(
        _ call: String = #function, records: (Reply) -> Int? = { _ in nil },
        _ request: () async throws(ServiceError) -> Reply
    ) async throws(ServiceError) -> Reply {
        if engine.hasEnded.withLock(\.self) {
            throw ServiceError(.network, "the engine was stopped")
        }
        let (clock, recorder) = (engine.clock, engine.recorder)
        let name = String(call.prefix { $0 != "(" })
        let number = recorder.withLock { $0.beginRequest(name, now: clock.milliseconds) }
        do {
            let reply = try await request()
            let count = records(reply)
            recorder.withLock {
                $0.endRequest(number, records: count, error: nil, now: clock.milliseconds)
            }
            return reply
        } catch {
            recorder.withLock {
                $0.endRequest(
                    number, records: nil, error: error.code.description, now: clock.milliseconds)
            }
            throw error
        }
    }

    func modifyRecords(
        _ modifications: [RecordModification], in zone: ZoneID, atomic: Bool
    ) async throws(ServiceError) -> [ModificationResult] {
        try await noted(records: \.count) { () async throws(ServiceError) in
            try await service.modifyRecords(modifications, in: zone, atomic: atomic)
        }
    }

    func modifyRecords(
        _ modifications: [RecordModification], in zone: ZoneID, atomic: Bool,
        token: inout String
    ) async throws(ServiceError) -> [ModificationResult] {
        let known = token
        let (results, next) = try await noted(
            records: { (reply: ([ModificationResult], String)) -> Int? in reply.0.count }
        ) { () async throws(ServiceError) -> ([ModificationResult], String) in
            var next = known
            let results = try await service.modifyRecords(
                modifications, in: zone, atomic: atomic, token: &next)
            return (results, next)
        }
        token = next
        return results
    }

    func lookUpRecords(
        _ recordNames: [String], in zone: ZoneID
    ) async throws(ServiceError) -> [LookupResult] {
        try await noted(records: \.count) { () async throws(ServiceError) in
            try await service.lookUpRecords(recordNames, in: zone)
        }
    }

    func databaseChanges(
        since token: String?
    ) async throws(ServiceError) -> DatabaseChangesPage {
        try await noted { () async throws(ServiceError) in
            try await service.databaseChanges(since: token)
        }
    }

    func zoneChanges(
        in zone: ZoneID, since token: String?, limit: Int, fields: Set<String>?, types: Set<String>?
    ) async throws(ServiceError) -> ZoneChangesPage {
        try await noted(records: { $0.records.count + $0.deletions.count }) {
            () async throws(ServiceError) in
            try await service.zoneChanges(
                in: zone, since: token, limit: limit, fields: fields, types: types)
        }
    }

    func createZone(_ zone: ZoneID) async throws(ServiceError) {
        try await noted { () async throws(ServiceError) in try await service.createZone(zone) }
    }

    func deleteZone(_ zone: ZoneID) async throws(ServiceError) {
        try await noted { () async throws(ServiceError) in try await service.deleteZone(zone) }
    }

    func createSubscription(
        _ subscriptionID: String, to zone: ZoneID
    ) async throws(ServiceError) {
        try await noted { () async throws(ServiceError) in
            try await service.createSubscription(subscriptionID, to: zone)
        }
    }

    func currentUser() async throws(ServiceError) -> String {
        try await noted { () async throws(ServiceError) in try await service.currentUser() }
    }

    func upload(
        _ path: String, for field: AssetField, in zone: ZoneID, from address: String?,
        began: @Sendable (String) async -> Void, progress: @Sendable (Int64) -> Void
    ) async throws(ServiceError) -> ServiceAsset {
        try await noted { () async throws(ServiceError) in
            try await service.upload(
                path, for: field, in: zone, from: address, began: began, progress: progress)
        }
    }

    func rereference(
        _ field: AssetField, in zone: ZoneID
    ) async throws(ServiceError) -> ServiceAsset? {
        try await noted { () async throws(ServiceError) in
            try await service.rereference(field, in: zone)
        }
    }

    func download(
        _ asset: ServiceAsset, to path: String, progress: @Sendable (Int64) -> Void
    ) async throws(ServiceError) {
        try await noted { () async throws(ServiceError) in
            try await service.download(asset, to: path, progress: progress)
        }
    }
}
