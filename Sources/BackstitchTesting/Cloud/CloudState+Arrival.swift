import BackstitchCore

extension CloudState {
    /// Receives a request: carries out what is late, does what the faults want, and answers.
    mutating func arrive(
        _ request: ServiceRequest, from caller: Caller, info: RequestInfo,
        faults: inout RequestFaults
    ) -> Result<ServiceReply, ServiceError> {
        log.append(info, max: options.requestLogMax)
        if dueRollback?.requests == 0 { rollBack() }
        dueRollback?.requests -= 1
        if !lateRequests.isEmpty { performLate(isBefore: true) }
        defer { if !lateRequests.isEmpty { performLate(isBefore: false) } }
        guard !faults.active.isEmpty else {
            return perform(request, from: caller, faults: &faults)
        }
        if let error = faults.takeRequestError() { return .failure(error) }
        changeState(before: request, of: caller, faults: &faults)
        if faults.take(.lateExecution) {
            let fault = faults.active.first { $0.kind == .lateExecution }
            lateRequests.append(
                LateRequest(
                    request: request, caller: caller, remaining: fault?.lateBy ?? 0,
                    isBefore: faults.generator.next() % 2 == 0, isNew: true))
            return .failure(ServiceError(.network, "injected"))
        }
        let pokesBefore = pokeCount
        var reply = perform(request, from: caller, faults: &faults)
        if faults.take(.duplicateExecution) {
            reply = perform(request, from: caller, faults: &faults)
        }
        if pokeCount > pokesBefore, faults.take(.droppedPoke) { dropPokes(downTo: pokesBefore) }
        return reply
    }

    /// Carries out the late requests whose turn has come.
    private mutating func performLate(isBefore: Bool) {
        var due: [LateRequest] = []
        for index in lateRequests.indices.reversed() where lateRequests[index].isBefore == isBefore
        {
            if lateRequests[index].isNew {
                lateRequests[index].isNew = false
            } else if lateRequests[index].remaining > 0 {
                lateRequests[index].remaining -= 1
            } else {
                due.append(lateRequests.remove(at: index))
            }
        }
        for late in due.reversed() { perform(late) }
    }

    /// Carries out all late requests, oldest first.
    mutating func performAllLate() {
        let due = lateRequests
        lateRequests = []
        for late in due { perform(late) }
    }

    private mutating func perform(_ late: LateRequest) {
        var faults = RequestFaults()
        _ = perform(late.request, from: late.caller, faults: &faults)
    }

    /// What happens on the server right before a request.
    private mutating func changeState(
        before request: ServiceRequest, of caller: Caller, faults: inout RequestFaults
    ) {
        guard let user = caller.user else { return }
        if case .databaseChanges(.some) = request, faults.take(.databaseTokenExpiry) {
            expireDatabaseTokens(of: user)
        }
        guard let zone = request.zone, databases[user]?.zones[zone] != nil else { return }
        if case .zoneChanges(_, .some, _, _, _) = request, faults.take(.tokenExpiry) {
            expireTokens(of: zone, user: user)
        }
        let ends: [(FaultKind, ServiceError.Code)] = [
            (.zoneDeletion, .zoneDeletedByUser), (.zonePurge, .zonePurged),
            (.encryptedDataReset, .encryptedDataReset),
        ]
        for (kind, code) in ends where faults.take(kind) {
            _ = end(zone, of: user, error: code)
        }
    }
}
