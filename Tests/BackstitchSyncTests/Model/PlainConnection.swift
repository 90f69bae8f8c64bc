import BackstitchCore
import BackstitchSync
import BackstitchTesting
import Threading

/// What goes wrong with a request.
enum Trouble: CaseIterable, Sendable {
    /// It does not arrive.
    case lostRequest
    /// It is done, and the answer does not arrive.
    case lostAnswer
    case throttled
    case unavailable
    /// Some of its records fail for now.
    case partial
    /// One of its records is refused.
    case refused
    /// It has too many records.
    case tooLarge
    /// Conflicts don't tell the service's record.
    case untoldConflicts
    case expiredTokens
    case emptyPage
    /// A page tells some of the page before again.
    case repeatedPage
}

/// The connection of one device to a plain service, with troubles that follow from a seed.
final class PlainConnection: RecordService {
    private struct Interruption {
        /// How many requests go by before.
        var requests: Int
        /// Whether the request is done then.
        var isDone: Bool
        var body: @Sendable () async -> Void
    }

    private struct State {
        var generator: SeededGenerator
        var isCalm = false
        var met: Set<Trouble> = []
        var unheardCreates: Set<String> = []
        /// How many engines ended in the middle of their requests.
        var ends = 0
        var interruption: Interruption?
    }

    private let cloud: PlainCloud
    private let state: Locked<State>
    private let page: Int
    private let request: Int

    init(_ cloud: PlainCloud, seed: UInt64) {
        self.cloud = cloud
        var generator = SeededGenerator(seed: seed)
        page = 1 + Int(generator.next() % 5)
        request = 1 + Int(generator.next() % 6)
        state = Locked(State(generator: generator))
    }

    /// The troubles that requests met.
    var met: Set<Trouble> { state.withLock { $0.met } }

    /// The records whose creation the device may not have heard of, though the service has done it.
    var unheardCreates: Set<String> { state.withLock { $0.unheardCreates } }

    /// The engine ends whose request is under way: it hears of no answer, though the request may still arrive.
    func endEngine() { state.withLock { $0.ends += 1 } }

    /// From now on nothing goes wrong.
    func calm() { state.withLock { $0.isCalm = true } }

    /// Has something done while a later request is under way.
    func interrupt(
        after requests: Int, isDone: Bool, _ body: @escaping @Sendable () async -> Void
    ) {
        let interruption = Interruption(requests: requests, isDone: isDone, body: body)
        state.withLock { $0.interruption = interruption }
    }

    /// Forgets an interruption for which no request came.
    func endInterruption() { state.withLock { $0.interruption = nil } }

    private func pass(isDone: Bool) async {
        let body = state.withLock { state -> (@Sendable () async -> Void)? in
            guard let next = state.interruption, next.isDone == isDone else { return nil }
            guard next.requests == 0 else {
                state.interruption?.requests -= 1
                return nil
            }
            state.interruption = nil
            return next.body
        }
        guard let body else { return }
        // The request's own task ends with its engine, and what is done meanwhile may replace that one.
        await Task { await body() }.value
    }

    /// Draws a trouble, and a number that says which of the records it is about.
    ///
    /// - Parameter one: One of how many requests has a trouble.
    private func draw(_ own: [Trouble], oneOf one: UInt64) -> (trouble: Trouble?, lot: Int) {
        state.withLock { state -> (trouble: Trouble?, lot: Int) in
            let lot = Int(state.generator.next() % 1_000)
            guard !state.isCalm, state.generator.next() % one == 0 else { return (nil, lot) }
            // As often one that only such requests meet.
            let isOwn = !own.isEmpty && state.generator.next() % 2 == 0
            let all = isOwn ? own : [.lostRequest, .lostAnswer, .throttled, .unavailable]
            let trouble = all[Int(state.generator.next() % UInt64(all.count))]
            state.met.insert(trouble)
            return (trouble, lot)
        }
    }

    /// Sends a request through what goes wrong.
    ///
    /// Troubles are so seldom that most rounds get as far as their push.
    private func send<Reply: Sendable>(
        _ own: [Trouble] = [], oneOf one: UInt64 = 8, _ work: (Trouble?, _ lot: Int) -> Reply
    ) async throws(ServiceError) -> Reply {
        let (trouble, lot) = draw(own, oneOf: one)
        await pass(isDone: false)
        if trouble == .lostRequest { throw ServiceError(.network, "lost") }
        if trouble == .throttled {
            throw ServiceError(.rateLimited, "slower", retryAfter: .seconds(3))
        }
        if trouble == .unavailable { throw ServiceError(.serviceUnavailable, "not now") }
        if trouble == .tooLarge { throw ServiceError(.limitExceeded, "too much") }
        let reply = work(trouble, lot)
        await pass(isDone: true)
        if trouble == .lostAnswer { throw ServiceError(.network, "lost") }
        return reply
    }

    private func checkZone() throws(ServiceError) {
        if !cloud.hasZone { throw ServiceError(.zoneNotFound) }
    }

    // MARK: RecordService

    var scope: DatabaseScope { .private }

    var limits: ServiceLimits {
        get async { ServiceLimits(operationsPerRequest: request, recordsPerPage: page) }
    }

    func modifyRecords(
        _ modifications: [RecordModification], in zone: ZoneID, atomic: Bool
    ) async throws(ServiceError) -> [ModificationResult] {
        try checkZone()
        let names = modifications.map(\.recordName)
        var own: [Trouble] = [.partial, .refused, .untoldConflicts]
        if names.count > 1 { own.append(.tooLarge) }
        let ends = state.withLock { $0.ends }
        return try await send(own, oneOf: 2) { trouble, lot -> [ModificationResult] in
            state.withLock { state in
                // An engine that is replaced meanwhile does not listen.
                let isLeft =
                    state.interruption.map { $0.isDone && $0.requests == 0 } ?? (state.ends > ends)
                guard trouble == .lostAnswer || isLeft else { return }
                for case .create(let name, _, _) in modifications {
                    state.unheardCreates.insert(name)
                }
            }
            var refused: [String: ServiceError] = [:]
            for (place, name) in names.enumerated() {
                if trouble == .partial, place % 2 == lot % 2 {
                    refused[name] = ServiceError(lot % 3 == 0 ? .zoneBusy : .serviceUnavailable)
                }
                if trouble == .refused, place == lot % names.count {
                    refused[name] = ServiceError(.invalidRequest, "refused")
                }
            }
            return cloud.modify(
                modifications, atomic: atomic, refused: refused,
                tellsRecords: trouble != .untoldConflicts)
        }
    }

    func lookUpRecords(
        _ recordNames: [String], in zone: ZoneID
    ) async throws(ServiceError) -> [LookupResult] {
        try checkZone()
        return try await send { _, _ -> [LookupResult] in cloud.find(recordNames) }
    }

    func databaseChanges(since token: String?) async throws(ServiceError) -> DatabaseChangesPage {
        let zone = Self.zone
        let page = try await send { _, _ -> DatabaseChangesPage? in
            cloud.zones(zone, changedSince: token)
        }
        guard let page else { throw ServiceError(.tokenExpired) }
        return page
    }

    func zoneChanges(
        in zone: ZoneID, since token: String?, limit: Int, fields: Set<String>?, types: Set<String>?
    ) async throws(ServiceError) -> ZoneChangesPage {
        try checkZone()
        let most = max(1, min(limit, page))
        let told = try await send([.expiredTokens, .emptyPage, .repeatedPage]) {
            trouble, lot -> ZoneChangesPage? in
            if trouble == .expiredTokens { cloud.expireTokens() }
            return cloud.page(
                since: token, limit: most,
                repeated: trouble == .repeatedPage ? 1 + lot % 3 : 0,
                isEmpty: trouble == .emptyPage)
        }
        guard let told else { throw ServiceError(.tokenExpired) }
        return told
    }

    func createZone(_ zone: ZoneID) async throws(ServiceError) {
        try await send { _, _ -> Void in cloud.makeZone() }
    }

    func deleteZone(_ zone: ZoneID) async throws(ServiceError) {
        throw ServiceError(.unsupported, "the model deletes no zone")
    }

    func createSubscription(
        _ subscriptionID: String, to zone: ZoneID
    ) async throws(ServiceError) {
        try await send { _, _ -> Void in }
    }

    func currentUser() async throws(ServiceError) -> String {
        try await send { _, _ -> String in "user" }
    }

    /// The one zone.
    static let zone = ZoneID("model")
}
