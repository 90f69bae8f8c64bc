import CloudKitWire
import Foundation
import WireCrypto

extension Hub {
    /// Answers a request.
    ///
    /// A reply to a write is given after what was written is on disk. A request to the courier is
    /// answered when there is something to tell, or after a time.
    public func respond(to request: HubRequest) async -> HubResponse {
        var call = "other"
        var response = await respond(to: request, &call)
        metrics.countRequest(call, status: response.status)
        if response.headers.allSatisfy({ $0.name != WireHeader.requestUUID }) {
            response.headers.append(HubRequest.Header(WireHeader.requestUUID, makeUUID()))
        }
        response.headers += [
            HubRequest.Header("X-Content-Type-Options", "nosniff"),
            HubRequest.Header(
                WireHeader.extensions, WireExtension.header(WireExtension.allCases)),
            HubRequest.Header("Access-Control-Allow-Origin", "*"),
            HubRequest.Header(
                "Access-Control-Expose-Headers",
                "\(WireHeader.requestUUID),\(WireHeader.webAuthToken),X-Responding-Instance,Via"),
        ]
        return response.coded(for: request.headers)
    }

    private func respond(to request: HubRequest, _ call: inout String) async -> HubResponse {
        guard let target = RequestTarget(request.target) else {
            return failure(WireError(.badRequest, "The address can't be read."))
        }
        do {
            switch (request.method, target.path.first) {
            case ("GET", "healthz"), ("HEAD", "healthz"):
                call = "healthz"
                _ = try storage.read { try $0.state() }
                return .text("ok\n")
            case ("GET", "metrics"):
                call = "metrics"
                return .text(metrics.text(waitingCouriers: couriers.waiterCount))
            case ("GET", "courier"):
                call = "courier"
                return try await nextNotification(target)
            case ("POST", "upload"), ("PUT", "upload"):
                call = "upload"
                return try await keepUpload(target, request)
            case ("GET", "asset"):
                call = "asset"
                return try asset(target)
            default: break
            }
            guard let path = WirePath("/" + target.path.joined(separator: "/")) else {
                throw WireError(.notFound, "There is nothing at this address.")
            }
            call = path.endpoint.rawValue
            switch request.method {
            case "POST": break
            case "GET" where path.endpoint.takesGet: break
            case "OPTIONS": return Self.preflight
            default:
                throw WireError(.badRequest, "Call \(path.endpoint.rawValue) by POST.")
            }
            return try await respond(to: request, target, path)
        } catch let error as WireError {
            return failure(error)
        } catch {
            log(failure: error, call: call)
            return failure(Self.reply(to: error))
        }
    }

    private func respond(
        to request: HubRequest, _ target: RequestTarget, _ path: WirePath
    ) async throws -> HubResponse {
        let authentication = try authenticate(request, target, path)
        guard request.bytes.count <= configuration.limits.bodyBytes else {
            throw WireError(.quotaExceeded, "The body is too large.")
        }
        let call = HubCall(
            path: path, authentication: authentication, body: request.bytes,
            extensions: WireExtension.parse(request.header(WireHeader.extensions)),
            requestID: request.header(WireHeader.requestID),
            pushToken: request.header(WireHeader.pushToken))
        guard let database = path.database else { return try await respondToDevice(call) }
        return try await respond(to: call, access(authentication, database))
    }

    private func respond(to call: HubCall, _ access: DatabaseAccess) async throws -> HubResponse {
        switch call.path.endpoint {
        case .currentUser, .caller, .discoverUsers, .lookupUsersByEmail, .lookupUsersByID,
            .lookupContacts:
            return try users(call)
        default: break
        }
        try await openDatabase(access)
        switch call.path.endpoint {
        case .modifyRecords: return try await modifyRecords(call, access)
        case .lookupRecords: return try lookUpRecords(call, access)
        case .queryRecords: return try queryRecords(call, access)
        case .recordChanges: return try recordChanges(call, access)
        case .zoneChanges: return try zoneChanges(call, access)
        case .databaseChanges, .zonesChanges: return try databaseChanges(call, access)
        case .listZones: return try listZones(access)
        case .lookupZones: return try lookUpZones(call, access)
        case .modifyZones: return try await modifyZones(call, access)
        case .listSubscriptions: return try listSubscriptions(access)
        case .lookupSubscriptions: return try lookUpSubscriptions(call, access)
        case .modifySubscriptions: return try await modifySubscriptions(call, access)
        case .uploadAssets: return try await makeUploads(call, access)
        case .rereferenceAssets: return try await rereferenceAssets(call, access)
        case .resolveRecords, .acceptRecords:
            throw WireError(.badRequest, "This hub does not support sharing.")
        case .currentUser, .caller, .discoverUsers, .lookupUsersByEmail, .lookupUsersByID,
            .lookupContacts, .createToken, .registerToken:
            throw WireError(.badRequest, "This call is not one of a database.")
        }
    }

    /// Makes the database and its default zone on first use.
    private func openDatabase(_ access: DatabaseAccess) async throws {
        let isThere = try storage.read { try $0.database(access) != nil }
        if !isThere { try await storage.write { _ = try $0.openDatabase(access) } }
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

    private func failure(_ error: WireError) -> HubResponse {
        var error = error
        error.uuid = makeUUID()
        error.serverRecord = nil
        var response = HubResponse.failure(error)
        response.headers.append(HubRequest.Header(WireHeader.requestUUID, error.uuid ?? ""))
        return response
    }

    /// A random name, as a UUID of version 4 (RFC 9562, section 5.4).
    func makeUUID() -> String {
        var bytes = configuration.clock.secret(16)
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        let digits = Array(bytes.hexadecimal.uppercased())
        let parts = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32]
        return parts.map { String(digits[$0]) }.joined(separator: "-")
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

    private static let preflight = HubResponse(
        status: 200,
        headers: [
            HubRequest.Header("Access-Control-Allow-Methods", "GET, POST"),
            HubRequest.Header("Access-Control-Allow-Headers", "Content-Type"),
            HubRequest.Header("Access-Control-Max-Age", "600"),
        ])
}
