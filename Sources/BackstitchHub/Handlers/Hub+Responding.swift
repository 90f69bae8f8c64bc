import CloudKitWire
import Foundation
import Glibc
import WireCrypto

extension Hub {
    /// Answers a request.
    ///
    /// A reply to a write is given after what was written is on disk. A request to the courier is
    /// answered when there is something to tell, or after a time.
    public func respond(to request: HubRequest) async -> HubResponse {
        await respond(to: request, makeWork(for: request))
    }

    /// What a request costs, in the name of whoever it is of.
    func makeWork(for request: HubRequest) -> RequestWork {
        RequestWork(
            client: request.client, clock: configuration.clock.steadyMilliseconds)
    }

    /// Answers a request.
    func respond(to request: HubRequest, _ work: RequestWork) async -> HubResponse {
        if let refusal = request.refusal { return refusal }
        if let lane = Self.readingLane(of: request) { return await read(lane, request, work) }
        var call = "other"
        let response = await respond(to: request, work, &call)
        // Of an upload that was not kept nothing stays.
        if case .file(let path, _, _) = request.body { unlink(path) }
        work.countMade(bytes: response.byteCount)
        return finished(response, of: call, request)
    }

    /// A response with what all of them have, counted.
    private func finished(
        _ response: HubResponse, of call: String, _ request: HubRequest
    ) -> HubResponse {
        metrics.countRequest(call, status: response.status)
        return finished(response, for: request.target).coded(for: request.headers)
    }

    /// The response with the headers that all have.
    private func finished(_ response: HubResponse, for target: String) -> HubResponse {
        var response = response
        func has(_ name: String) -> Bool { response.headers.contains { $0.name == name } }
        if !has(WireHeader.requestUUID) {
            response.headers.append(HubRequest.Header(WireHeader.requestUUID, makeUUID()))
        }
        // What is told to one user is kept by nobody on the way.
        if !has("Cache-Control") {
            response.headers.append(HubRequest.Header("Cache-Control", "no-store"))
        }
        response.headers += [
            HubRequest.Header("X-Content-Type-Options", "nosniff"),
            Self.extensions,
        ]
        guard HubPage(target: target)?.isForOperators != true else { return response }
        response.headers += [
            HubRequest.Header("Access-Control-Allow-Origin", "*"),
            HubRequest.Header(
                "Access-Control-Expose-Headers",
                "\(WireHeader.requestUUID),\(WireHeader.webAuthToken),X-Responding-Instance,Via"),
        ]
        return response
    }

    private static let extensions = HubRequest.Header(
        WireHeader.extensions, WireExtension.header(WireExtension.allCases))

    /// What a client is told whose request can't be acted upon.
    func refusal(
        to error: any Error, of call: String, _ request: HubRequest
    ) -> HubResponse {
        finished(failure(error, of: call), of: call, request)
    }

    private func respond(
        to request: HubRequest, _ work: RequestWork, _ call: inout String
    ) async -> HubResponse {
        guard let address = request.address else {
            return failure(WireError(.badRequest, "The address can't be read."))
        }
        let target = address.target
        do {
            if let page = HubPage(target: request.target) {
                call = page.rawValue
                return try await respond(to: request, target, page, work)
            }
            let path = try Self.path(of: address)
            call = path.endpoint.rawValue
            let methods = path.endpoint.takesGet ? ["GET", "POST"] : ["POST"]
            if request.method == "OPTIONS" { return Self.preflight(methods) }
            guard methods.contains(request.method) else { return notAllowed(methods) }
            work.limit(milliseconds: configuration.limits.requestMilliseconds)
            let authentication = try authentication(of: request, target, path)
            guard request.bytes.count <= configuration.limits.bodyBytes else {
                throw WireError(.quotaExceeded, "The body is too large.")
            }
            let arrived = self.call(request, target, path, authentication, work)
            return try await inTurn(arrived) { () async throws -> HubResponse in
                guard let database = path.database else {
                    return try await self.respondToDevice(arrived)
                }
                return try await self.respond(
                    to: arrived, self.access(authentication, database))
            }
        } catch {
            return failure(error, of: call)
        }
    }

    private func respond(
        to request: HubRequest, _ target: RequestTarget, _ page: HubPage, _ work: RequestWork
    ) async throws -> HubResponse {
        if request.method == "OPTIONS", !page.isForOperators { return Self.preflight(page.methods) }
        guard page.methods.contains(request.method) else { return notAllowed(page.methods) }
        switch page {
        case .healthz: return .text("ok\n")
        case .ready: return try await readyResponse()
        case .metrics: return .text(metrics.text(waitingCouriers: couriers.waiterCount))
        case .courier: return try await nextNotification(target)
        case .upload: return try await keepUpload(target, request, work)
        case .asset: return try asset(target, request)
        }
    }

    /// Runs a closure for a call while its body has room, and its user has not too many under way.
    private func inTurn(
        _ call: HubCall, _ body: () async throws -> HubResponse
    ) async throws -> HubResponse {
        let user = call.clientName
        guard gate.enter(user, max: configuration.limits.requestsPerUser) else {
            throw Self.tooManyRequests
        }
        defer { gate.leave(user) }
        return try await parsing.with(bytes: call.body.count, call.work) { try await body() }
    }

    static let tooManyRequests = WireError(
        .throttled, "Too many requests are under way. Wait for their answers.", retryAfter: 1)

    /// The path of a call.
    private static func path(of address: RequestAddress) throws(WireError) -> WirePath {
        guard let path = address.path else {
            throw WireError(.notFound, "There is nothing at this address.")
        }
        return path
    }

    /// Who sends a request: whom its head proved, or its credentials.
    private func authentication(
        of request: HubRequest, _ target: RequestTarget, _ path: WirePath
    ) throws -> Authentication {
        if let authentication = request.authentication { return authentication }
        return try authenticate(request, target, path)
    }

    private func call(
        _ request: HubRequest, _ target: RequestTarget, _ path: WirePath,
        _ authentication: Authentication, _ work: RequestWork
    ) -> HubCall {
        HubCall(
            path: path, authentication: authentication, body: request.bytes,
            extensions: WireExtension.parse(request.header(WireHeader.extensions)),
            requestID: request.header(WireHeader.requestID),
            pushToken: request.header(WireHeader.pushToken),
            wantsSyncToken: target.query["getCurrentSyncToken"] == "true", work: work,
            valuesMax: configuration.limits.valuesPerBody)
    }

    // MARK: Reading

    /// Where a request is answered that only reads; nil where it is none of these.
    static func readingLane(of request: HubRequest) -> WorkPool.Lane? {
        guard let path = request.address?.path,
            request.method == "POST" || request.method == "GET" && path.endpoint.takesGet
        else { return nil }
        switch path.endpoint {
        case .queryRecords, .discoverUsers, .lookupUsersByEmail: return .scan
        case .lookupRecords, .recordChanges, .zoneChanges, .databaseChanges, .zonesChanges,
            .listZones, .lookupZones, .listSubscriptions, .lookupSubscriptions, .currentUser,
            .caller, .lookupUsersByID, .lookupContacts:
            return .page
        case .modifyRecords, .modifyZones, .modifySubscriptions, .uploadAssets,
            .rereferenceAssets, .createToken, .registerToken, .resolveRecords, .acceptRecords:
            return nil
        }
    }

    /// Has a request that only reads be answered in its turn.
    ///
    /// - Parameter answer: Gets the answer, on any thread; nil where ``respond(to:_:)`` has to be
    ///   asked.
    func submitReading(
        _ request: HubRequest, _ work: RequestWork,
        _ answer: @escaping @Sendable (HubResponse?) -> Void
    ) {
        guard request.refusal == nil, let lane = Self.readingLane(of: request) else {
            return answer(nil)
        }
        pool.submit(lane, work) { [self] in
            if let response = readNow(request, work) { return answer(response) }
            pool.handOver { answer(nil) }
        } refuse: { [self] in
            answer(refusal(to: Self.tooBusy, of: "other", request))
        }
    }

    static let tooBusy = WireError.busy("The service is busy. Try again later.")

    private func read(
        _ lane: WorkPool.Lane, _ request: HubRequest, _ work: RequestWork
    ) async -> HubResponse {
        do {
            for _ in 0..<2 {
                let response = try await pool.run(lane, work) { self.readNow(request, work) }
                if let response { return response }
                try await makeDatabase(for: request, work)
            }
            throw HubFailure("A database was not made before it was read.")
        } catch {
            return refusal(to: error, of: "other", request)
        }
    }

    /// Answers a request that only reads; nil where its database has to be made first.
    private func readNow(_ request: HubRequest, _ work: RequestWork) -> HubResponse? {
        var name = "other"
        do {
            guard let address = request.address else { return nil }
            let (target, path) = (address.target, try Self.path(of: address))
            name = path.endpoint.rawValue
            work.limit(milliseconds: configuration.limits.readMilliseconds)
            // Nothing is done for a client that has gone.
            try work.check()
            let authentication = try authentication(of: request, target, path)
            let call = self.call(request, target, path, authentication, work)
            guard let database = path.database else { return nil }
            let access = try access(authentication, database)
            let response: HubResponse
            if path.endpoint.isAboutUsers {
                response = try users(call)
            } else {
                guard try storage.read({ try $0.database(access) }) != nil else { return nil }
                response = try read(call, access)
            }
            guard response.byteCount <= configuration.limits.replyBytes else {
                throw WireError(.limitExceeded, "The reply would be too large. Ask for less.")
            }
            work.countMade(bytes: response.byteCount)
            return finished(response, of: name, request)
        } catch {
            return refusal(to: error, of: name, request)
        }
    }

    private func read(_ call: HubCall, _ access: DatabaseAccess) throws -> HubResponse {
        switch call.path.endpoint {
        case .lookupRecords: return try lookUpRecords(call, access)
        case .queryRecords: return try queryRecords(call, access)
        case .recordChanges: return try recordChanges(call, access)
        case .zoneChanges: return try zoneChanges(call, access)
        case .databaseChanges, .zonesChanges: return try databaseChanges(call, access)
        case .listZones: return try listZones(call, access)
        case .lookupZones: return try lookUpZones(call, access)
        case .listSubscriptions: return try listSubscriptions(call, access)
        case .lookupSubscriptions: return try lookUpSubscriptions(call, access)
        default: throw WireError(.badRequest, "This call does not read.")
        }
    }

    /// Makes the database of a request and its default zone on first use.
    private func makeDatabase(for request: HubRequest, _ work: RequestWork) async throws {
        guard let address = request.address else { return }
        let (target, path) = (address.target, try Self.path(of: address))
        guard let database = path.database else { return }
        try await openDatabase(
            access(authentication(of: request, target, path), database), work)
    }

    private func respond(to call: HubCall, _ access: DatabaseAccess) async throws -> HubResponse {
        try await openDatabase(access, call.work)
        switch call.path.endpoint {
        case .modifyRecords: return try await modifyRecords(call, access)
        case .modifyZones: return try await modifyZones(call, access)
        case .modifySubscriptions: return try await modifySubscriptions(call, access)
        case .uploadAssets: return try await makeUploads(call, access)
        case .rereferenceAssets: return try await rereferenceAssets(call, access)
        case .resolveRecords, .acceptRecords:
            throw WireError(.badRequest, "This hub does not support sharing.")
        default: throw WireError(.badRequest, "This call is not one of a database.")
        }
    }

    /// Makes the database and its default zone on first use.
    private func openDatabase(_ access: DatabaseAccess, _ work: RequestWork) async throws {
        let isThere = try storage.read { try $0.database(access) != nil }
        if !isThere { try await storage.write(work) { _ = try $0.openDatabase(access) } }
    }

    /// Who writes.
    ///
    /// - Throws: `AUTHENTICATION_REQUIRED` where nobody is signed in.
    func author(of access: DatabaseAccess) throws(WireError) -> String {
        guard let author = access.author else {
            throw WireError(.authenticationRequired, "request needs authorization")
        }
        return author
    }

    // MARK: Failures

    private func failure(_ error: any Error, of call: String) -> HubResponse {
        switch error {
        case let error as WireError: return failure(error)
        case is WorkGivenUp: return failure(Self.tooBusy)
        default:
            log(failure: error, call: call)
            if let error = error as? any StorageFullError, error.isAboutSpace {
                readiness.noteFullDisk()
            }
            return failure(Self.reply(to: error))
        }
    }

    /// The answer to a request that failed as a whole.
    func failure(_ error: WireError) -> HubResponse {
        var error = error
        error.uuid = makeUUID()
        error.serverRecord = nil
        var response = HubResponse.failure(error)
        response.headers.append(HubRequest.Header(WireHeader.requestUUID, error.uuid ?? ""))
        return response
    }

    private static let digits = Array("0123456789ABCDEF".utf8)

    /// A random name, as a UUID of version 4 (RFC 9562, section 5.4).
    func makeUUID() -> String {
        var bytes = configuration.clock.secret(16)
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        var text: [UInt8] = []
        text.reserveCapacity(36)
        for (index, byte) in bytes.enumerated() {
            if [4, 6, 8, 10].contains(index) { text.append(UInt8(ascii: "-")) }
            text.append(Self.digits[Int(byte >> 4)])
            text.append(Self.digits[Int(byte & 0xF)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// What a client is told of a failure of the hub itself.
    private static func reply(to error: any Error) -> WireError {
        if let error = error as? any StorageFullError, error.isAboutSpace {
            return WireError(.tryAgainLater, "The service has no space left.", retryAfter: 60)
        }
        return WireError(.internalError, "The service failed.")
    }

    /// Writes a line about a failure of the hub itself.
    func log(failure error: any Error, call: String) {
        var json = JSONWriter()
        json.object { json in
            json.member("time", integer: now)
            json.member("level", "error")
            json.member("call", call)
            json.member("message", "\(error)")
        }
        configuration.log(String(decoding: json.bytes, as: UTF8.self))
    }

    private static func preflight(_ methods: [String]) -> HubResponse {
        HubResponse(
            status: 200,
            headers: [
                HubRequest.Header(
                    "Access-Control-Allow-Methods", methods.joined(separator: ", ")),
                HubRequest.Header("Access-Control-Allow-Headers", "Content-Type, Range"),
                HubRequest.Header("Access-Control-Max-Age", "600"),
            ])
    }

    private func notAllowed(_ methods: [String]) -> HubResponse {
        let names = methods.joined(separator: ", ")
        var response = failure(WireError(.badRequest, "This address takes \(names)."))
        response.status = 405
        response.headers.append(HubRequest.Header("Allow", names))
        return response
    }
}

extension HubResponse {
    /// The bytes of the body in memory.
    var byteCount: Int {
        if case .bytes(let bytes) = body { bytes.count } else { 0 }
    }
}

extension Endpoint {
    /// Whether the call asks for users, whatever database its path names.
    fileprivate var isAboutUsers: Bool {
        switch self {
        case .currentUser, .caller, .discoverUsers, .lookupUsersByEmail, .lookupUsersByID,
            .lookupContacts:
            true
        default: false
        }
    }
}
