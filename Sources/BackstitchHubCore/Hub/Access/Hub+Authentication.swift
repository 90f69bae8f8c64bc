import BackstitchCore
import CloudKitWire
import Foundation
import WireCrypto

extension Hub {
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
        let (address, now, limits) = (request.remoteAddress, steadyNow, configuration.limits)
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
            + (webToken(of: target).map { [WebTokenRow.key($0)] } ?? [])
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
            webToken: Self.webToken(of: address.target).map { WebTokenRow.key($0) },
            database: path.database.map { "\($0)" })
    }

    private static func webToken(of target: RequestTarget) -> String? {
        let text = target.query["ckWebAuthToken"] ?? target.query["ckSession"]
        // Clients often leave the plus signs of a token as they are, which then read as blanks.
        return text?.replacing(" ", with: "+")
    }

    /// Whom the credentials of a request prove; nil if they don't count.
    ///
    /// - Throws: `AUTHENTICATION_REQUIRED` if a session has ended.
    func authentication(
        _ request: HubRequest, _ target: RequestTarget, _ path: WirePath,
        _ transaction: any HubReading
    ) throws -> Authentication? {
        guard ServiceNames.isRecordName(path.container) else { return nil }
        let key = RealmRow.key(container: path.container, environment: path.environment)
        transaction.expect {
            Self.credentialKeys(of: request, target).map { .key($0) } + [.key(key)]
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
        guard let row: WebTokenRow = try transaction.row(WebTokenRow.key(webToken)),
            row.realm == realm.number
        else { return nil }
        guard row.expires > now else {
            // Who has a token that counted may know that it did; nobody guesses one.
            throw WireError(.authenticationRequired, "The session has ended. Sign in again.")
        }
        return Authentication(
            realm: realm, principal: .user(row.userRecordName), session: Digest.sha256(webToken),
            end: row.expires)
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
            abs(now - milliseconds) <= configuration.limits.signatureMilliseconds,
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

    /// Whose database a path means.
    ///
    /// - Throws: `AUTHENTICATION_REQUIRED` if a user has to sign in, `ACCESS_DENIED` for server
    ///   keys in databases of users.
    func scope(
        _ authentication: Authentication, _ database: WireDatabase
    ) throws(WireError) -> DatabaseAccess.Scope {
        switch (database, authentication.principal) {
        case (.public, _): return .everybodys
        case (.private, .user(let user)): return .own(user)
        case (.shared, .user(let user)): return .sharedWith(user)
        case (_, .anonymous):
            throw WireError(.authenticationRequired, "request needs authorization")
        case (_, .server):
            throw WireError(.accessDenied, "Server keys open the public database only.")
        }
    }
}

/// The date of a signed request: ISO 8601, UTC, no fractions of seconds.
enum SignedDate {
    /// The date in milliseconds since 1970; nil if the text is none.
    static func milliseconds(_ text: String) -> Int64? {
        let bytes = Array(text.utf8)
        let pattern = Array("0000-00-00T00:00:00Z".utf8)
        guard bytes.count == pattern.count else { return nil }
        for (byte, form) in zip(bytes, pattern) {
            let isDigit = (0x30...0x39).contains(byte)
            guard form == UInt8(ascii: "0") ? isDigit : byte == form else { return nil }
        }
        func number(_ range: Range<Int>) -> Int64 {
            bytes[range].reduce(0) { $0 * 10 + Int64($1 - 0x30) }
        }
        let (year, month, day) = (number(0..<4), number(5..<7), number(8..<10))
        let (hour, minute, second) = (number(11..<13), number(14..<16), number(17..<19))
        guard (1...12).contains(month), (1...31).contains(day), hour < 24, minute < 60,
            second <= 60
        else { return nil }
        let days = daysSince1970(year, month, day)
        return (((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000
    }

    /// A time as the header spells it.
    static func text(milliseconds: Int64) -> String {
        Date(timeIntervalSince1970: Double(milliseconds / 1_000)).formatted(.iso8601)
    }

    /// The days of the Gregorian calendar since 1970, by whole eras of 400 years.
    private static func daysSince1970(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let era = (year >= 0 ? year : year - 399) / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }
}
