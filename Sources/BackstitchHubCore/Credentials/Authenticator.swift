import BackstitchCore
import CloudKitWire
import Foundation
import WireCrypto

/// Finds out who sends a request, by its credentials.
struct Authenticator: Sendable {
    let configuration: HubConfiguration
    let keys: any KeyReading
    let signIns: any SignInLimiting

    /// The one answer to all credentials that don't count, whatever is wrong with them.
    private static let failed = WireError(.authenticationFailed, "Authentication failed")

    /// Whom credentials prove, or the failure of those that don't count.
    ///
    /// - Throws: `AUTHENTICATION_FAILED`, or `THROTTLED` after too many failures.
    func admitted(
        _ authentication: Authentication?, _ request: HubRequest
    ) throws(WireError) -> Authentication {
        if let authentication { return authentication }
        // Only failed sign-ins are counted, so a client with good credentials gets in even if another
        // client at the same address keeps trying bad ones.
        let (address, now, limits) = (
            request.remoteAddress, configuration.steadyNow, configuration.limits
        )
        guard !signIns.isClosed(to: address, now: now, max: limits.failedSignInsPerMinute) else {
            throw WireError(.throttled, "Too many sign-ins failed. Wait a minute.", retryAfter: 60)
        }
        signIns.noteFailure(of: address, now: now)
        throw Self.failed
    }

    /// The keys of the credentials that a request names.
    private static func credentialKeys(of request: HubRequest, _ target: RequestTarget) -> [HubKey]
    {
        if let id = request.header(WireHeader.keyID) {
            return id.utf8.count <= 128 ? [ServerKeyRow.key(id: id)] : []
        }
        return (target.query["ckAPIToken"].map { [APITokenRow.key($0)] } ?? [])
            + (webToken(of: target).map { [WebTokenRow.key($0.secret), StateRow.key] } ?? [])
    }

    /// By what the credentials of a request are remembered; nil of those that are looked at each time.
    func cacheKey(of request: HubRequest, _ address: RequestAddress) -> AuthenticationCache.Key? {
        guard let path = address.path, request.header(WireHeader.keyID) == nil,
            ServiceNames.isRecordName(path.container),
            let token = address.target.query["ckAPIToken"]
        else { return nil }
        return AuthenticationCache.Key(
            realm: RealmRow.key(container: path.container, environment: path.environment),
            apiToken: APITokenRow.key(token),
            webToken: Self.webToken(of: address.target),
            database: path.database.map { "\($0)" })
    }

    private static func webToken(of target: RequestTarget) -> WebToken? {
        let text = target.query["ckWebAuthToken"] ?? target.query["ckSession"]
        // Clients often leave the plus signs of a token as they are, which then read as blanks.
        return text.map { WebToken($0.replacing(" ", with: "+")) }
    }

    /// Whom the credentials of a request prove; nil if they don't count.
    ///
    /// - Parameter others: What is read after this, to be fetched with it.
    /// - Throws: `AUTHENTICATION_REQUIRED` if a session has ended.
    func authentication(
        _ request: HubRequest, _ target: RequestTarget, _ path: WirePath,
        _ transaction: any HubReading, alsoReads others: [HubKey] = []
    ) throws -> Authentication? {
        guard ServiceNames.isRecordName(path.container) else { return nil }
        let key = RealmRow.key(container: path.container, environment: path.environment)
        transaction.expect {
            (Self.credentialKeys(of: request, target) + [key] + others).map { .key($0) }
        }
        guard let realm: RealmRow = try transaction.row(key) else { return nil }
        if let keyID = request.header(WireHeader.keyID) {
            guard let (user, signed) = try signer(keyID, request, realm, transaction) else {
                return nil
            }
            return Authentication(realm: realm, principal: .server(user), signed: signed)
        }
        guard let token = target.query["ckAPIToken"],
            let row: APITokenRow = try transaction.row(APITokenRow.key(token)),
            row.realm == realm.number
        else { return nil }
        guard let webToken = Self.webToken(of: target) else {
            return Authentication(realm: realm, principal: .anonymous)
        }
        func tokenKey() throws -> [UInt8] { try transaction.state().tokenKey }
        guard let row: WebTokenRow = try transaction.row(WebTokenRow.key(webToken.secret)),
            row.realm == realm.number, try webToken.isGenuine(key: tokenKey)
        else { return nil }
        let now = configuration.now
        let life = SessionLife(webToken, of: row, configuration.limits, now: now)
        guard life.end > now else {
            // Who has a token that counted may know that it did; nobody guesses one.
            throw WireError(.authenticationRequired, "The session has ended. Sign in again.")
        }
        return Authentication(
            realm: realm, principal: .user(row.userRecordName),
            session: Digest.sha256(webToken.secret), end: life.end,
            renewedToken: life.isDue ? webToken.renewed(at: now, key: try tokenKey()) : nil,
            isUseNews: life.isDue && row.isUseNews(configuration.limits, now: now))
    }

    /// The user of the key that signed a request, and what was signed; nil if the signature does not
    /// count.
    private func signer(
        _ keyID: String, _ request: HubRequest, _ realm: RealmRow, _ transaction: any HubReading
    ) throws -> (userRecordName: String, SignedRequest)? {
        guard keyID.utf8.count <= 128, !keyID.isEmpty,
            let row: ServerKeyRow = try transaction.row(ServerKeyRow.key(id: keyID)),
            row.realm == realm.number, let key = keys.key(pem: row.publicPEM),
            let date = request.header(WireHeader.signedDate),
            let milliseconds = SignedDate.milliseconds(date),
            abs(configuration.now - milliseconds) <= configuration.limits.signatureMilliseconds,
            let text = request.header(WireHeader.signature),
            let signature = Data(base64Encoded: text), signature.count <= 80
        else { return nil }
        let body = request.bytes
        var messages = [
            RequestSignature.message(date: date, body: body, path: request.target)
        ]
        if body.isEmpty {
            messages.append(
                RequestSignature.messageWithoutBody(date: date, path: request.target))
        }
        guard let message = messages.first(where: { key.verify(Array(signature), of: $0) }) else {
            return nil
        }
        let signed = SignedRequest(
            keyID: keyID, signature: Array(signature), message: message,
            end: milliseconds + configuration.limits.signatureMilliseconds
                + SignedRequest.graceMilliseconds)
        return (row.userRecordName, signed)
    }

    /// Whether the key that a request names is known; its signature is checked with its body.
    func isSignerKnown(
        of request: HubRequest, _ path: WirePath, _ transaction: any HubReading
    ) throws -> Bool {
        let id = request.header(WireHeader.keyID) ?? ""
        guard ServiceNames.isRecordName(path.container), (1...128).contains(id.utf8.count) else {
            return false
        }
        let key = RealmRow.key(container: path.container, environment: path.environment)
        transaction.expect { [.key(key), .key(ServerKeyRow.key(id: id))] }
        let realm: RealmRow? = try transaction.row(key)
        let signer: ServerKeyRow? = try transaction.row(ServerKeyRow.key(id: id))
        return realm != nil && signer?.realm == realm?.number
    }

    /// Notes that credentials failed, and says so.
    func refused(_ request: HubRequest) -> WireError {
        signIns.noteFailure(of: request.remoteAddress, now: configuration.steadyNow)
        return Self.failed
    }
}

extension Authentication {
    /// Whose database a path means.
    ///
    /// - Throws: `AUTHENTICATION_REQUIRED` if a user has to sign in, `ACCESS_DENIED` for server
    ///   keys in databases of users.
    func scope(of database: WireDatabase) throws(WireError) -> DatabaseAccess.Scope {
        switch (database, principal) {
        case (.public, _): return .everybodys
        case (.private, .user(let user)): return .own(user)
        case (.shared, .user(let user)): return .sharedWith(user)
        case (_, .anonymous):
            throw WireError(.authenticationRequired, "request needs authorization")
        case (_, .server):
            throw WireError(.accessDenied, "Server keys open the public database only.")
        }
    }

    /// The right to a database; nil if it has to be made first.
    func access(
        to scope: DatabaseAccess.Scope, _ transaction: any HubReading
    ) throws -> DatabaseAccess? {
        let name = scope.name(in: realm)
        transaction.expect { [.key(name.key)] }
        return try transaction.partition(of: name).map { access(to: scope, in: $0) }
    }

    /// The right to a database in a partition.
    func access(to scope: DatabaseAccess.Scope, in partition: Partition) -> DatabaseAccess {
        DatabaseAccess(realm: realm, scope: scope, principal: principal, partition: partition)
    }
}
