import BackstitchCore
import CloudKitWire
import WireCrypto

/// The page where people sign in, and what comes from its forms.
///
/// Its address has the SHA-256 of an API token, which says for which container, and to which web pages the
/// user's token is handed. What is sent from pages of others is refused; so is who guesses.
struct SignInPages: Sendable {
    let configuration: HubConfiguration
    let storage: any HubStorage
    let accounts: HubAccounts
    let sweeper: ExpirySweeper
    let signIns: any SignInLimiting
    /// Threads for passwords alone.
    let passwords: WorkPool

    /// The answer to a form that signs nobody in. It doesn't tell whether the name exists.
    private static let failed = "That did not work. Look at what you typed, or ask for a code."
    private static let throttled = "Too many sign-ins failed. Wait, or ask for a code."
    private static let busy = "The service is busy. Try again in a few seconds."
    /// After how many seconds it is worth to try again.
    private static let busySeconds = 5

    /// The API token and the container that a user signs in for.
    private struct Purpose: Sendable {
        var row: APITokenRow
        var realm: RealmRow

        /// The origin of the callback.
        var callbackOrigin: String? { row.callback.flatMap { WebOrigin(startOf: $0)?.text } }
        var handsOver: Bool { row.callback != nil || !row.origins.isEmpty }
    }

    /// Why nobody is signed in.
    private enum Refusal: Error {
        case failed
        case throttled
    }

    /// Shows the page, or signs in who sends its form.
    ///
    /// - Complexity: Of a form with a password some 100 ms of a processor and 32 MiB on a thread for
    ///   passwords.
    func answer(
        _ target: RequestTarget, _ request: HubRequest, _ work: RequestWork
    ) async throws -> HubResponse {
        guard let purpose = try await purpose(target, work) else { throw WireError.nothing }
        guard purpose.handsOver else {
            return SignInDocument.message(
                403,
                "Whoever runs this hub has named no web page for this application that may have people sign in."
            ).response
        }
        let person = proxyPerson(request)
        func forms(_ problem: String? = nil, status: Int = 200) -> HubResponse {
            SignInDocument.forms(
                person: person, problem: problem, status: status, callback: purpose.callbackOrigin
            ).response
        }
        guard request.method == "POST" else { return forms() }
        guard isOwnForm(request) else {
            return forms("The form was sent from another page. Fill it in here.", status: 403)
        }
        work.limit(milliseconds: configuration.limits.requestMilliseconds)
        do {
            let user = try await signedIn(request, purpose, person, work)
            var response = response(handing: user.webAuthToken, purpose)
            response.began = HubRequest.SignedIn(
                container: purpose.realm.container, environment: purpose.realm.environment,
                user: user.userRecordName)
            return response
        } catch Refusal.failed {
            return forms(Self.failed, status: 401)
        } catch Refusal.throttled {
            return forms(Self.throttled, status: 429)
        } catch is WorkCancelled {
            var response = forms(Self.busy, status: 503)
            response.headers.append(HubRequest.Header("Retry-After", "\(Self.busySeconds)"))
            return response
        }
    }

    private func purpose(
        _ target: RequestTarget, _ work: RequestWork
    ) async throws -> Purpose? {
        guard target.path.count == 2, let hash = Self.hash(target.path[1]) else { return nil }
        return try await storage.readSoon(work) { transaction in
            let key = APITokenRow.key(hash: hash)
            transaction.expect { [.key(key)] }
            guard let row: APITokenRow = try transaction.row(key),
                let realm = try transaction.realm(number: row.realm)
            else { return nil }
            return Purpose(row: row, realm: realm)
        }
    }

    /// The bytes of 64 hexadecimal digits.
    private static func hash(_ text: String) -> [UInt8]? {
        let digits = text.utf8.compactMap(\.hexadecimalDigit)
        guard digits.count == 2 * Digest.byteCount, text.utf8.count == digits.count else {
            return nil
        }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    /// Whom a proxy has signed in: the one header that a trusted one adds.
    private func proxyPerson(_ request: HubRequest) -> String? {
        guard let name = configuration.signInHeader?.lowercased(), request.isFromProxy else {
            return nil
        }
        let values = request.headers.filter { $0.name.lowercased() == name }.map(\.value)
        guard values.count == 1, (1...255).contains(values[0].utf8.count) else { return nil }
        return values[0]
    }

    /// Whether a form is one of this page: browsers tell from where a form is sent, and pages can't change it.
    private func isOwnForm(_ request: HubRequest) -> Bool {
        if let site = request.header("Sec-Fetch-Site"), site != "same-origin" { return false }
        guard let origin = request.header("Origin"),
            request.header("Content-Type")?.lowercased().hasPrefix(
                "application/x-www-form-urlencoded") == true
        else { return false }
        if let url = configuration.publicAddress { return origin == url.lowercased() }
        return origin == "http://\(request.header("Host") ?? "")"
            || origin == "https://\(request.header("Host") ?? "")"
    }

    // MARK: Signing in

    private func signedIn(
        _ request: HubRequest, _ purpose: Purpose, _ person: String?, _ work: RequestWork
    ) async throws -> HubAccounts.SignedInUser {
        let body = String(decoding: request.bytes, as: UTF8.self)
        // A form is written as a query is.
        guard let form = RequestTarget("/?" + body)?.query else { throw Refusal.failed }
        if form["by"] == "proxy", let person {
            let realm = HubAccounts.Realm(
                purpose.realm.container, environment: purpose.realm.environment)
            let known = try await storage.read(.page, work) {
                try $0.user(named: person, realm)
            }
            guard known?.isErased != true else { throw Refusal.failed }
            return try await accounts.signIn(person, realm, work)
        }
        let (now, address) = (configuration.steadyNow, request.remoteAddress)
        guard
            signIns.takeTry(
                of: address, now: now, max: configuration.limits.failedSignInsPerMinute)
        else { throw Refusal.throttled }
        var hasFailed = false
        defer { if !hasFailed { signIns.returnTry(of: address, takenAt: now) } }
        let found =
            switch form["by"] {
            case "password": try await byPassword(form, purpose.realm.number, work)
            case "code": try await byCode(form["code"] ?? "", purpose.realm.number, work)
            default: HubAccounts.SignedInUser?.none
            }
        guard let found else {
            hasFailed = true
            throw Refusal.failed
        }
        return found
    }

    private func byPassword(
        _ form: [String: String], _ realm: UInt32, _ work: RequestWork
    ) async throws -> HubAccounts.SignedInUser? {
        let (name, password) = (form["name"] ?? "", HubSignIns.bytes(of: form["password"] ?? ""))
        guard (1...255).contains(name.utf8.count),
            HubSignIns.passwordBytes.contains(password.count)
        else { return nil }
        let (counted, now) = ("\(realm) \(name)", configuration.steadyNow)
        guard
            signIns.takeTry(
                forUser: counted, now: now, max: configuration.limits.failedPasswordsPerHour)
        else { throw Refusal.throttled }
        var isCompared = false
        // The hub was too busy, or its storage is away.
        defer { if !isCompared { signIns.returnTry(forUser: counted, takenAt: now) } }
        let (user, row) = try await storage.read(.page, work) { transaction in
            let user = try transaction.users(.name(name), realm: realm).first { !$0.isErased }
            let row: PasswordRow? = try user.flatMap {
                try transaction.row(PasswordRow.key(realm: realm, $0.userRecordName))
            }
            return (user, row)
        }
        let salt = configuration.clock.secret(PasswordHash.saltByteCount)
        let isRight = try await passwords.run(.page, work) {
            work.countPassword()
            // For whom there is no password it takes as long.
            let kept = row?.password ?? PasswordHash(salt: salt, hash: [])
            return kept.matches(password)
        }
        isCompared = true
        guard isRight, let user else { return nil }
        signIns.forgetTries(forUser: counted)
        return try await session(of: user.userRecordName, realm, work) { transaction in
            // The password may have been changed meanwhile.
            let key = PasswordRow.key(realm: realm, user.userRecordName)
            return try transaction.row(key) == row
        }
    }

    private func byCode(
        _ text: String, _ realm: UInt32, _ work: RequestWork
    ) async throws -> HubAccounts.SignedInUser? {
        guard let code = SignInCode(typed: text) else { return nil }
        let key = SignInCodeRow.key(code)
        let row: SignInCodeRow? = try await storage.readSoon(work) { transaction in
            transaction.expect { [.key(key)] }
            return try transaction.row(key)
        }
        let now = configuration.now
        guard let row, row.realm == realm, row.expires > now else { return nil }
        return try await session(of: row.userRecordName, realm, work, expecting: [.key(key)]) {
            transaction in
            // Whoever comes second with the code finds none.
            guard try transaction.row(key) == row else { return false }
            try transaction.delete(key)
            return true
        }
    }

    /// Begins a session of a user who is still there.
    ///
    /// - Parameter check: What has to hold in the transaction that begins it.
    private func session(
        of userRecordName: String, _ realm: UInt32, _ work: RequestWork,
        expecting queries: [KeyQuery] = [],
        _ check: @escaping @Sendable (any HubWriting) throws -> Bool
    ) async throws -> HubAccounts.SignedInUser? {
        let (session, limits) = (NewSession(configuration), configuration.limits)
        let (sweep, key) = (sweeper.sweep(of: .global), UserRow.key(realm: realm, userRecordName))
        return try await storage.write(
            work, to: [.global],
            expecting: { [.key(key)] + queries + Expiry.expected(in: .global) }
        ) { transaction in
            guard let user: UserRow = try transaction.row(key), !user.isErased,
                try check(transaction)
            else { return nil }
            try session.write(of: userRecordName, realm: realm, limits, transaction)
            try sweep(transaction)
            return HubAccounts.SignedInUser(
                name: user.name, userRecordName: userRecordName, webAuthToken: session.token)
        }
    }

    // MARK: The token

    private func response(handing token: String, _ purpose: Purpose) -> HubResponse {
        guard let callback = purpose.row.callback else {
            return SignInDocument.handover(token, to: purpose.row.origins).response
        }
        let escaped = token.replacing("+", with: "%2B").replacing("/", with: "%2F")
            .replacing("=", with: "%3D")
        let location =
            callback + (callback.contains("?") ? "&" : "?")
            + "ckWebAuthToken=\(escaped)&ckSession=\(escaped)"
        return HubResponse(
            status: 303,
            headers: [
                HubRequest.Header("Location", location),
                HubRequest.Header("Referrer-Policy", "no-referrer"),
            ])
    }
}

extension HubReading {
    /// The environment of a container by its number.
    fileprivate func realm(number: UInt32) throws -> RealmRow? {
        try list(HubKey(.global, .realm), as: RealmRow.self).map(\.row)
            .first { $0.number == number }
    }
}
