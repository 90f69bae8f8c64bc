import BackstitchCore
import BackstitchSync
import BackstitchTesting
import Threading

/// What one engine of a device talks to: the simulated service, until the device crashes.
///
/// After a crash every call fails and none arrives. It watches that feeds are read forwards only, and
/// can keep a request under way.
final class DeviceConnection: RecordService {
    /// Something that happens after a number of further requests.
    private struct Planned<What> {
        var requests: Int
        let what: What

        /// Whether its request has come.
        mutating func isDue() -> Bool {
            requests -= 1
            return requests < 0
        }
    }

    private struct State {
        var isCrashed = false
        var isLetGo = false
        var lastToken: ChangeToken?
        var violations: [String] = []
        var held: Planned<(request: HeldRequest, isDone: Bool)>?
        var interlude: Planned<@Sendable () async -> Void>?
        var duringTransfer: (@Sendable () async -> Void)?
    }

    /// The process that has it.
    let process: Int
    private let service: any RecordService
    private let watch: ExchangeWatch
    private let ledger: FileLedger
    /// The common time.
    private let milliseconds: @Sendable () -> Int64
    private let state = Locked(State())

    init(_ service: any RecordService, process: Int, home: SimulatedHome) {
        self.service = service
        self.process = process
        (watch, ledger) = (home.watch, home.ledger)
        let clock = home.clock
        milliseconds = { clock.commonMilliseconds }
    }

    var isCrashed: Bool { state.withLock { $0.isCrashed } }
    /// Whether its engine was stopped.
    var isLetGo: Bool { state.withLock { $0.isLetGo } }
    var violations: [String] { state.withLock { $0.violations } }

    func crash() { state.withLock { $0.isCrashed = true } }

    func letGo() { state.withLock { $0.isLetGo = true } }

    /// Keeps a request under way.
    ///
    /// - Parameters:
    ///   - number: Which of the next requests, from 0.
    ///   - isDone: Whether the service has done by then what is asked for.
    func hold(_ request: HeldRequest, at number: Int, isDone: Bool) {
        state.withLock { $0.held = Planned(requests: number, what: (request, isDone)) }
    }

    /// Runs something in one of the next requests, before it is sent; not any more once that is nil.
    func setInterlude(at number: Int, _ body: (@Sendable () async -> Void)?) {
        state.withLock { $0.interlude = body.map { Planned(requests: number, what: $0) } }
    }

    /// Runs something before and after each transfer of a file.
    func setDuringTransfer(_ body: (@Sendable () async -> Void)?) {
        state.withLock { $0.duringTransfer = body }
    }

    private func check() throws(ServiceError) {
        if isCrashed { throw ServiceError(.network, "the device crashed") }
    }

    /// Sends a request, if the device goes on before and after.
    private func send<Reply>(
        _ body: () async throws(ServiceError) -> Reply
    ) async throws(ServiceError) -> Reply {
        try check()
        watch.begin(self)
        defer { watch.end(self) }
        let (interlude, held) = state.withLock { state in
            var due: (interlude: (@Sendable () async -> Void)?, held: (HeldRequest, Bool)?)
            if state.interlude?.isDue() == true {
                due.interlude = state.interlude?.what
                state.interlude = nil
            }
            if state.held?.isDue() == true {
                due.held = state.held?.what
                state.held = nil
            }
            return due
        }
        await interlude?()
        if let held, !held.1 {
            await held.0.hold()
            try check()
        }
        let result: Result<Reply, ServiceError>
        do throws(ServiceError) {
            result = .success(try await body())
        } catch {
            result = .failure(error)
        }
        if let held, held.1 { await held.0.hold() }
        try check()
        return try result.get()
    }

    var scope: DatabaseScope { service.scope }

    var capabilities: Set<ServiceCapability> { service.capabilities }

    var limits: ServiceLimits {
        get async { await service.limits }
    }

    func modifyRecords(
        _ modifications: [RecordModification], in zone: ZoneID, atomic: Bool
    ) async throws(ServiceError) -> [ModificationResult] {
        try await modify(modifications) {
            () async throws(ServiceError) -> ([ModificationResult], String?) in
            let results = try await service.modifyRecords(modifications, in: zone, atomic: atomic)
            return (results, nil)
        }.results
    }

    func modifyRecords(
        _ modifications: [RecordModification], in zone: ZoneID, atomic: Bool,
        token: inout String
    ) async throws(ServiceError) -> [ModificationResult] {
        let known = token
        let (results, next) = try await modify(modifications) {
            () async throws(ServiceError) -> ([ModificationResult], String?) in
            var next = known
            let results = try await service.modifyRecords(
                modifications, in: zone, atomic: atomic, token: &next)
            return (results, next)
        }
        if let next { token = next }
        return results
    }

    private func modify(
        _ modifications: [RecordModification],
        _ request: () async throws(ServiceError) -> ([ModificationResult], String?)
    ) async throws(ServiceError) -> (results: [ModificationResult], token: String?) {
        let reply: ([ModificationResult], String?)
        do throws(ServiceError) {
            reply = try await send(request)
        } catch {
            // The service may have done it.
            for modification in modifications {
                ledger.settle(modification.recordName, isConflict: false)
            }
            throw error
        }
        for (modification, result) in zip(modifications, reply.0) {
            ledger.settle(modification.recordName, isConflict: result.isConflict)
        }
        return reply
    }

    func upload(
        _ path: String, for field: AssetField, in zone: ZoneID, from address: String?,
        began: @Sendable (String) async -> Void, progress: @Sendable (Int64) -> Void
    ) async throws(ServiceError) -> ServiceAsset {
        try check()
        ledger.begin(path, field, zone, now: milliseconds())
        await state.withLock(\.duringTransfer)?()
        try check()
        let file = try await service.upload(
            path, for: field, in: zone, from: address, began: began, progress: progress)
        await state.withLock(\.duringTransfer)?()
        try check()
        ledger.end(path, field, zone, now: milliseconds())
        return file
    }

    func rereference(
        _ field: AssetField, in zone: ZoneID
    ) async throws(ServiceError) -> ServiceAsset? {
        try check()
        let file = try await service.rereference(field, in: zone)
        try check()
        return file
    }

    func download(
        _ asset: ServiceAsset, to path: String, progress: @Sendable (Int64) -> Void
    ) async throws(ServiceError) {
        try check()
        await state.withLock(\.duringTransfer)?()
        try check()
        try await service.download(asset, to: path, progress: progress)
        try check()
    }

    func lookUpRecords(
        _ recordNames: [String], in zone: ZoneID
    ) async throws(ServiceError) -> [LookupResult] {
        try await send { () async throws(ServiceError) in
            try await service.lookUpRecords(recordNames, in: zone)
        }
    }

    func databaseChanges(since token: String?) async throws(ServiceError) -> DatabaseChangesPage {
        try await send { () async throws(ServiceError) in
            try await service.databaseChanges(since: token)
        }
    }

    func zoneChanges(
        in zone: ZoneID, since token: String?, limit: Int, fields: Set<String>?, types: Set<String>?
    ) async throws(ServiceError) -> ZoneChangesPage {
        try await send { () async throws(ServiceError) in
            // A request for no fields asks whether the token counts, and reads nothing.
            if fields?.isEmpty != true { note(token) }
            return try await service.zoneChanges(
                in: zone, since: token, limit: limit, fields: fields, types: types)
        }
    }

    func createZone(_ zone: ZoneID) async throws(ServiceError) {
        try await send { () async throws(ServiceError) in try await service.createZone(zone) }
    }

    func deleteZone(_ zone: ZoneID) async throws(ServiceError) {
        try await send { () async throws(ServiceError) in try await service.deleteZone(zone) }
    }

    func createSubscription(
        _ subscriptionID: String, to zone: ZoneID
    ) async throws(ServiceError) {
        try await send { () async throws(ServiceError) in
            try await service.createSubscription(subscriptionID, to: zone)
        }
    }

    func currentUser() async throws(ServiceError) -> String {
        try await send { () async throws(ServiceError) in try await service.currentUser() }
    }

    /// Within one epoch and run of the service and one life of a zone, each page starts where an earlier one
    /// ended, or later.
    private func note(_ text: String?) {
        state.withLock { state in
            guard let text, let token = ChangeToken(text) else {
                state.lastToken = nil
                return
            }
            if let last = state.lastToken, last.epoch == token.epoch, last.run == token.run,
                last.owner == token.owner, token.sequence < last.sequence
            {
                state.violations.append(
                    "the feed was read from \(token.sequence) after \(last.sequence)")
            }
            state.lastToken = token
        }
    }
}

extension ModificationResult {
    /// Whether another version is on the service: what was sent may be sent again on top of that.
    fileprivate var isConflict: Bool {
        if case .failed(let error) = self { error.code == .conflict } else { false }
    }
}
