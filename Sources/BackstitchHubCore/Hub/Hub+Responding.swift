import CloudKitWire
import WireCrypto

extension Hub {
    /// Answers a request.
    ///
    /// A reply to a write is given after what was written is on disk. A request to the courier is
    /// answered when there is something to tell, or after a time.
    public func respond(to request: HubRequest) async -> HubResponse {
        await respond(to: request, makeWork(for: request))
    }

    /// The work of a request, whose costs count to the client that sent it.
    package func makeWork(for request: HubRequest) -> RequestWork {
        RequestWork(for: request, admissions.authentications, configuration.clock)
    }

    package func respond(to request: HubRequest, _ work: RequestWork) async -> HubResponse {
        if let refusal = request.refusal { return refusal }
        if let lane = request.readingLane { return await read(lane, request, work) }
        var call = "other"
        let response = await respond(to: request, work, &call)
        // Of an upload that was not kept nothing stays.
        if case .file(let path, _, _) = request.body { assets.discard(path) }
        work.countMade(bytes: response.byteCount)
        return replies.finished(response, of: call, request)
    }

    /// The answer to a request of a client that has too many under way.
    package func tooManyRequests(_ request: HubRequest) -> HubResponse {
        replies.refusal(to: WireError.tooManyRequests, of: "other", request)
    }

    /// The answer to a request for a page that is not to be had at the address that it came to.
    package func notFound(_ request: HubRequest) -> HubResponse {
        replies.refusal(to: WireError.nothing, of: "other", request)
    }

    private func respond(
        to request: HubRequest, _ work: RequestWork, _ call: inout String
    ) async -> HubResponse {
        guard let address = request.address else {
            return replies.failure(WireError(.badRequest, "The address can't be read."))
        }
        let target = address.target
        do {
            if let page = address.page {
                call = page.name
                return try await respond(to: request, target, page, work)
            }
            let (path, endpoint) = try Self.call(of: address)
            call = path.endpoint.rawValue
            if request.method == "OPTIONS" { return Replies.preflight(endpoint.methods) }
            guard endpoint.methods.contains(request.method) else {
                return replies.notAllowed(endpoint.methods)
            }
            work.limit(milliseconds: configuration.limits.requestMilliseconds)
            let authentication = try await authentication(of: request, address, work)
            guard request.bytes.count <= configuration.limits.bodyBytes else {
                throw WireError(.quotaExceeded, "The body is too large.")
            }
            let arrived = HubCall(
                request, target, path, authentication, work, configuration.limits)
            return try await inTurn(arrived) {
                try await renewing(authentication, in: self.respond(to: arrived, by: endpoint))
            }
        } catch {
            return replies.failure(error, of: call, request)
        }
    }

    private func respond(
        to request: HubRequest, _ target: RequestTarget, _ page: HubPage, _ work: RequestWork
    ) async throws -> HubResponse {
        if request.method == "OPTIONS", page.readers == .clients {
            return Replies.preflight(page.methods)
        }
        guard page.methods.contains(request.method) else { return replies.notAllowed(page.methods) }
        return try await page.answer(self, target, request, work)
    }

    /// Runs a closure for a call while its body has room, and its user has not too many under way.
    private func inTurn(
        _ call: HubCall, _ body: () async throws -> HubResponse
    ) async throws -> HubResponse {
        let user = call.clientName
        guard gate.enter(user, max: configuration.limits.requestsPerUser) else {
            throw WireError.tooManyRequests
        }
        defer { gate.leave(user) }
        return try await parsing.with(bytes: call.body.count, call.work) { try await body() }
    }

    /// The call at an address.
    private static func call(
        of address: RequestAddress
    ) throws(WireError) -> (WirePath, HubEndpoint) {
        guard let path = address.path, let endpoint = address.endpoint else { throw .nothing }
        return (path, endpoint)
    }

    /// Who sends a request: whom its head proved, or its credentials.
    private func authentication(
        of request: HubRequest, _ address: RequestAddress, _ work: RequestWork
    ) async throws -> Authentication {
        if let authentication = request.authentication { return authentication }
        return try authenticator.admitted(
            await storage.readSoon(work) {
                try self.authenticator.authentication(request, address, $0)
            }, request)
    }

    /// Has a request that only reads, or that waits, be answered in its turn, without a task of its own.
    ///
    /// - Parameter answer: Gets the answer, on any thread; nil if ``respond(to:_:)`` has to be
    ///   asked.
    package func submit(
        _ request: HubRequest, _ work: RequestWork,
        _ answer: @escaping @Sendable (HubResponse?) -> Void
    ) {
        guard request.refusal == nil else { return answer(nil) }
        if let lane = request.readingLane {
            return submitReading(lane, request, work, answer)
        }
        if !HubPage.submit(request, work, to: self, answer) { answer(nil) }
    }

    // MARK: Reading

    private func submitReading(
        _ lane: WorkPool.Lane, _ request: HubRequest, _ work: RequestWork,
        _ answer: @escaping @Sendable (HubResponse?) -> Void
    ) {
        storage.submitRead(lane, work) { [self] transaction in
            try read(request, work, transaction)
        } answer: { [self] result in
            let response = finished(result, request, work)
            return { [threads] in response.map(answer) ?? threads.pages.handOver { answer(nil) } }
        }
    }

    private func read(
        _ lane: WorkPool.Lane, _ request: HubRequest, _ work: RequestWork
    ) async -> HubResponse {
        let name = Self.callName(of: request)
        do {
            for _ in 0..<2 {
                let response = try await storage.read(lane, work) {
                    try self.read(request, work, $0)
                }
                if let response { return try finishedRead(response, request, work) }
                try await makeDatabase(for: request, work)
            }
            throw HubError(.invalid, "A database was not made before it was read.")
        } catch {
            return replies.refusal(to: error, of: name, request)
        }
    }

    static func callName(of request: HubRequest) -> String {
        request.address?.path?.endpoint.rawValue ?? "other"
    }

    /// The answer to what was read; nil if the database has to be made first.
    private func finished(
        _ result: Result<HubResponse?, any Error>, _ request: HubRequest, _ work: RequestWork
    ) -> HubResponse? {
        do {
            return try result.get().map { try finishedRead($0, request, work) }
        } catch {
            return replies.refusal(to: error, of: Self.callName(of: request), request)
        }
    }

    func finishedRead(
        _ response: consuming HubResponse, _ request: HubRequest, _ work: RequestWork
    ) throws(WireError) -> HubResponse {
        guard response.byteCount <= configuration.limits.replyBytes else {
            throw WireError(.limitExceeded, "The reply would be too large. Ask for less.")
        }
        work.countMade(bytes: response.byteCount)
        return replies.finished(response, of: Self.callName(of: request), request)
    }

    /// Answers a request that only reads, in a transaction; nil if its database has to be made first.
    func read(
        _ request: HubRequest, _ work: RequestWork, _ transaction: any HubReading
    ) throws -> HubResponse? {
        guard let address = request.address else { return nil }
        let target = address.target
        let (path, endpoint) = try Self.call(of: address)
        // Nothing is done for a client that has gone.
        try work.check()
        work.limit(milliseconds: configuration.limits.readMilliseconds)
        let authentication =
            try request.authentication
            ?? authenticator.admitted(
                authenticator.authentication(request, address, transaction), request)
        let call = HubCall(
            request, target, path, authentication, work, configuration.limits)
        guard let database = path.database else { return nil }
        let scope = try authentication.scope(of: database)
        switch endpoint.handler {
        case .readsUsers(let answer):
            try endpoint.right.check(call.principal, scope)
            return try renewing(authentication, in: answer(self, call, transaction))
        case .reads(let answer):
            guard
                let access = try call.access
                    ?? authenticator.access(of: authentication, to: scope, transaction)
            else { return nil }
            try endpoint.right.check(call.principal, scope)
            return try renewing(authentication, in: answer(self, call, access, transaction))
        case .writes, .writesDevices: return nil
        }
    }

    /// Makes the database of a request and its default zone on first use.
    private func makeDatabase(for request: HubRequest, _ work: RequestWork) async throws {
        guard let address = request.address else { return }
        let (path, _) = try Self.call(of: address)
        guard let database = path.database else { return }
        let authentication = try await authentication(of: request, address, work)
        _ = try await databases.open(authentication, authentication.scope(of: database), work)
    }

    /// Answers a call that writes.
    private func respond(to call: HubCall, by endpoint: HubEndpoint) async throws -> HubResponse {
        switch endpoint.handler {
        case .writes(let answer):
            guard let database = call.path.database else { throw WireError.nothing }
            let scope = try call.authentication.scope(of: database)
            let access: DatabaseAccess
            if let known = call.access {
                access = known
            } else {
                access = try await databases.open(call.authentication, scope, call.work)
            }
            try endpoint.right.check(call.principal, scope)
            return try await answer(self, call, access)
        case .writesDevices(let answer): return try await answer(self, call)
        case .reads, .readsUsers:
            throw HubError(.invalid, "A call that reads came to those that write.")
        }
    }

    /// A response with the token that takes the place of that of the request, if it is time.
    private func renewing(
        _ authentication: Authentication, in response: HubResponse
    ) -> HubResponse {
        guard let token = authentication.renewedToken else { return response }
        if authentication.isUseNews, let session = authentication.session {
            sessions.noteUse(of: session)
        }
        var response = response
        response.headers.append(HubRequest.Header(WireHeader.webAuthToken, token))
        return response
    }
}

extension HubRequest {
    /// The threads that answer it if it only reads; nil for all others.
    var readingLane: WorkPool.Lane? {
        guard let endpoint = address?.endpoint, let lane = endpoint.lane,
            endpoint.methods.contains(method)
        else { return nil }
        return lane
    }
}
