import Threading
import BackstitchCore
import BackstitchSync

extension SimulatedRecordService {
    /// What a request meets before it leaves the device.
    private struct Departure {
        var info: RequestInfo
        var caller: Caller
        var faults: RequestFaults
        var refusal: ServiceError?
        var beforeRequest: Hook?
        var beforeReply: Hook?
    }

    /// Sends a request through the faults and hooks, and hands back the answer.
    func send(_ request: ServiceRequest) async throws(ServiceError) -> ServiceReply {
        var departure = depart(request)
        defer {
            let injected = departure.faults.injected
            if !injected.isEmpty { state.withLock { $0.count(injected) } }
        }
        if let refusal = departure.refusal { throw refusal }
        if let hook = departure.beforeRequest { try await hook(departure.info) }
        if departure.faults.take(.lostRequest) {
            throw ServiceError(.network, "injected")
        }
        let proxy = departure.faults.takeProxyAnswer()
        if let proxy, !proxy.isApplied { return try request.reply(ofProxy: proxy.error) }
        let reply = cloud.execute(
            request.owned(by: departure.caller.user), from: departure.caller,
            info: departure.info, faults: &departure.faults)
        if let hook = departure.beforeReply { try await hook(departure.info) }
        if let proxy { return try request.reply(ofProxy: proxy.error) }
        if departure.faults.take(.lostReply) {
            throw ServiceError(.network, "injected")
        }
        return try reply.get()
    }

    private func depart(_ request: ServiceRequest) -> Departure {
        state.withLock { state in
            state.requestCount += 1
            state.passAwayRequest()
            if case .currentUser = request { state.isChangeUnread = false }
            // A request that is refused on the device uses up no fault.
            var faults = state.isChangeUnread ? RequestFaults() : state.plan.draw(request)
            if state.awayRequests == nil, faults.take(.accountSwitch) { state.goAway() }
            var departure = Departure(
                info: RequestInfo(
                    request, user: state.user, device: device, number: state.requestCount),
                caller: Caller(user: state.user, device: device), faults: faults,
                beforeRequest: state.beforeRequest, beforeReply: state.beforeReply)
            // A missing user is another matter: the service itself refuses such requests.
            if state.isChangeUnread, state.user != nil {
                departure.refusal = ServiceError(.accountChanged, "another user signed in")
            }
            return departure
        }
    }
}

extension ServiceRequest {
    /// What a client of CloudKit Web Services makes of a proxy's answer to the request: a refusal of its size
    /// concerns the record alone if there is only one.
    fileprivate func reply(ofProxy error: ServiceError) throws(ServiceError) -> ServiceReply {
        guard error.code == .limitExceeded, case .modify(let operations, _, _, _) = self,
            operations.count == 1
        else { throw error }
        let failure = ServiceError(.serviceUnavailable, error.message)
        return .modified([.failed(failure)], token: nil)
    }

    /// The request with the zone named as the user's own, if the owner named is the user.
    func owned(by user: String?) -> ServiceRequest {
        guard let zone, let owner = zone.ownerName, owner == user else { return self }
        let own = ZoneID(zone.zoneName)
        switch self {
        case .modify(let operations, _, let atomic, let token):
            return .modify(operations, zone: own, atomic: atomic, token: token)
        case .lookup(let names, _): return .lookup(names, zone: own)
        case .zoneChanges(_, let token, let limit, let fields, let types):
            return .zoneChanges(
                zone: own, token: token, limit: limit, fields: fields, types: types)
        case .createZone: return .createZone(own)
        case .deleteZone: return .deleteZone(own)
        case .createSubscription(let subscriptionID, _):
            return .createSubscription(subscriptionID, zone: own)
        case .databaseChanges, .currentUser: return self
        }
    }
}
