import BackstitchCore
import CloudKitWire
import Foundation
import WireCrypto

/// Finds out who sends a request, by its credentials.
struct Authenticator: Sendable {
    let configuration: HubConfiguration
    let keys: any KeyReading
    let signIns: any SignInLimiting
    private let rows = CredentialMemos()

    /// What was read of rows that every request needs.
    private struct CredentialMemos: Sendable {
        let realms = RowMemo<RealmRow>()
        let apiTokens = RowMemo<APITokenRow>()
        let webTokens = RowMemo<WebTokenRow>()
        let databaseNames = RowMemo<DatabaseNameRow>()
    }

    init(configuration: HubConfiguration, keys: any KeyReading, signIns: any SignInLimiting) {
        (self.configuration, self.keys, self.signIns) = (configuration, keys, signIns)
    }

    /// The one answer to all credentials that don't count, whatever is wrong with them.
    private static let failed = WireError(.authenticationFailed, "Authentication failed")

    /// The answer to a client that asks for a container that the hub does not have.
    private static func noContainer(_ path: WirePath) -> WireError {
        WireError(
            .authenticationFailed,
            "This hub has no container '\(path.container)' for \(path.environment). Start it with "
                + "--container \(path.container), or use the container that it printed.")
    }

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
    private static func credentialKeys(
        of request: HubRequest, _ credentials: QueryCredentials
    ) -> [HubKey] {
        if let id = request.header(WireHeader.keyID) {
            return id.utf8.count <= 128 ? [ServerKeyRow.key(id: id)] : []
        }
        return (credentials.apiToken.map { [$0] } ?? [])
            + (credentials.webTokenKey.map { [$0, StateRow.key] } ?? [])
    }

    /// By what the credentials of a request are remembered; nil of those that are looked at each time.
    func cacheKey(of request: HubRequest, _ address: RequestAddress) -> AuthenticationCache.Key? {
        guard let path = address.path, request.header(WireHeader.keyID) == nil,
            let realm = address.credentials?.realm, let token = address.credentials?.apiToken
        else { return nil }
        return AuthenticationCache.Key(
            realm: realm, apiToken: token, webToken: address.credentials?.webToken,
            database: path.database?.rawValue)
    }

    /// Whom the credentials of a request prove; nil if they don't count.
    ///
    /// - Parameter others: What is read after this, to be fetched with it.
    /// - Throws: `AUTHENTICATION_REQUIRED` if a session has ended; `AUTHENTICATION_FAILED` for an unknown
    ///   container if the hub names it.
    func authentication(
        _ request: HubRequest, _ address: RequestAddress, _ transaction: any HubReading,
        alsoReads others: [HubKey] = []
    ) throws -> Authentication? {
        guard let credentials = address.credentials, let key = credentials.realm else { return nil }
        transaction.expect {
            (Self.credentialKeys(of: request, credentials) + [key] + others).map { .key($0) }
        }
        guard let realm = try rows.realms.row(key, transaction) else {
            guard configuration.namesUnknownContainers, let path = address.path else { return nil }
            throw Self.noContainer(path)
        }
        if let keyID = request.header(WireHeader.keyID) {
            guard let (user, signed) = try signer(keyID, request, realm, transaction) else {
                return nil
            }
            return Authentication(realm: realm, principal: .server(user), signed: signed)
        }
        guard let token = credentials.apiToken,
            let row = try rows.apiTokens.row(token, transaction), row.realm == realm.number
        else { return nil }
        guard let webToken = credentials.webToken, let sessionKey = credentials.webTokenKey else {
            return Authentication(realm: realm, principal: .anonymous)
        }
        func tokenKey() throws -> [UInt8] { try transaction.state().tokenKey }
        guard let row = try rows.webTokens.row(sessionKey, transaction),
            row.realm == realm.number, try webToken.isGenuine(key: tokenKey)
        else { return nil }
        let now = configuration.now
        let life = SessionLife(webToken, of: row, configuration.limits, now: now)
        guard life.end > now else {
            // Only the holder of a token that was valid hears that it has ended: tokens can't be guessed.
            throw WireError(.authenticationRequired, "The session has ended. Sign in again.")
        }
        return Authentication(
            realm: realm, principal: .user(row.userRecordName),
            session: Array(sessionKey.behindTable), end: life.end,
            renewedToken: life.isDue ? webToken.renewed(at: now, key: try tokenKey()) : nil,
            isUseNews: life.isDue && row.isUseNews(configuration.limits, now: now))
    }

    /// The right to a database; nil if it has to be made first.
    func access(
        of authentication: Authentication, to scope: DatabaseAccess.Scope,
        _ transaction: any HubReading
    ) throws -> DatabaseAccess? {
        let key = scope.name(in: authentication.realm).key
        transaction.expect { [.key(key)] }
        return try rows.databaseNames.row(key, transaction).map {
            authentication.access(to: scope, in: $0.partition)
        }
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
