import CloudKitWire
import Foundation
import TestBudget
import Testing
import WireCrypto

@testable import BackstitchHub
@testable import BackstitchHubCore

/// The page where people sign in, and who tries to get past it.
@Suite(.budgeted) struct SignInTests {
    private static let realm = HubAccounts.Realm(
        HubFixture.container, environment: "development")
    private static let app = "https://app.example.com"
    private static let password = "correct horse 1"

    private let fixture: HubFixture
    private var signIns: HubSignIns { fixture.hub.signIns }
    private var id: String { HubAccounts.id(ofAPIToken: fixture.apiToken) }
    private var path: String { "/signin/" + Digest.sha256(fixture.apiToken).hexadecimal }

    init() async throws {
        fixture = try await HubFixture()
        #expect(
            try await fixture.hub.signIns.setPages(
                ofToken: HubAccounts.id(ofAPIToken: fixture.apiToken), origins: [Self.app],
                callback: nil))
        try await fixture.hub.signIns.setPassword(Self.password, of: "Ada", in: Self.realm)
    }

    /// The headers of a form that a browser sends from the page.
    private static let own = [
        HubRequest.Header("Host", "hub.example.com"),
        HubRequest.Header("Origin", "https://hub.example.com"),
        HubRequest.Header("Sec-Fetch-Site", "same-origin"),
        HubRequest.Header("Content-Type", "application/x-www-form-urlencoded"),
    ]

    private static func headers(_ name: String, _ value: String?) -> [HubRequest.Header] {
        own.filter { $0.name != name } + (value.map { [HubRequest.Header(name, $0)] } ?? [])
    }

    private struct Answer {
        let response: HubResponse
        var status: Int { response.status }
        var text: String {
            guard case .bytes(let bytes) = response.body else { return "" }
            return String(decoding: bytes, as: UTF8.self)
        }
        func header(_ name: String) -> String? {
            response.headers.first { $0.name == name }?.value
        }
        var token: String? {
            text.firstMatch(of: /data-token="([^"]*)"/).map { String($0.1) }
        }
    }

    private func open(_ path: String? = nil) async -> Answer {
        Answer(
            response: await fixture.hub.respond(
                to: HubRequest(method: "GET", target: path ?? self.path)))
    }

    private func send(
        _ form: String, _ headers: [HubRequest.Header] = own, from address: String = "192.0.2.1",
        isFromProxy: Bool = false, to path: String? = nil
    ) async -> Answer {
        var request = HubRequest(
            method: "POST", target: path ?? self.path, headers: headers, body: Array(form.utf8),
            remoteAddress: address)
        request.isFromProxy = isFromProxy
        return Answer(response: await fixture.hub.respond(to: request))
    }

    private func form(_ name: String, _ password: String) -> String {
        "by=password&name=\(name)&password=\(password.replacing(" ", with: "+"))"
    }

    private func counts(_ token: String) async -> Bool {
        let user = HubAccounts.SignedInUser(
            name: "", userRecordName: "", webAuthToken: token)
        return await fixture.send(.listZones, as: user, body: Array("{}".utf8)).status == 200
    }

    // MARK: The page

    @Test func `who has to sign in is told where, and the page there is for people alone`()
        async throws
    {
        let (status, body) = await fixture.send(.listZones, body: Array("{}".utf8))
        let error = try WireError(body: body)
        #expect(status == 421)
        #expect(error.redirectURL == "http://127.0.0.1" + path)
        let page = await open()
        #expect(page.status == 200)
        #expect(page.text.contains(#"name="password" type="password""#))
        #expect(page.header("Content-Type") == "text/html; charset=UTF-8")
        #expect(page.header("Cache-Control") == "no-store")
        // Nobody frames it, and scripts of other pages don't read it.
        let policy = try #require(page.header("Content-Security-Policy"))
        #expect(policy.contains("default-src 'none'"))
        #expect(policy.contains("frame-ancestors 'none'"))
        #expect(policy.contains("form-action 'self';"))
        #expect(!policy.contains("unsafe"))
        #expect(page.header("X-Frame-Options") == "DENY")
        #expect(page.header("Access-Control-Allow-Origin") == nil)
        let preflight = await fixture.hub.respond(
            to: HubRequest(method: "OPTIONS", target: path))
        #expect(preflight.status == 405)
    }

    @Test func `an address of no API token, or of one without web pages, has no form`() async throws
    {
        for wrong in [
            "/signin", "/signin/", "/signin/00", "/signin/" + String(repeating: "0", count: 64),
            path + "/x", path + "0", "/signin/" + fixture.apiToken,
        ] {
            #expect(await open(wrong).status == 404, "\(wrong)")
        }
        #expect(try await signIns.setPages(ofToken: id, origins: [], callback: nil))
        let page = await open()
        #expect(page.status == 403)
        #expect(!page.text.contains("<form"))
        #expect(await send(form("Ada", Self.password)).status == 403)
    }

    // MARK: Signing in

    @Test func `a password gives a session, which is handed to the named web pages alone`()
        async throws
    {
        try #expect(
            await signIns.setPages(
                ofToken: id, origins: [Self.app, "http://localhost:8080"], callback: nil))
        let answer = await send(form("Ada", Self.password))
        #expect(answer.status == 200)
        #expect(answer.text.contains(#"data-origins="\#(Self.app) http://localhost:8080""#))
        #expect(!answer.text.contains("\"*\""))
        let policy = try #require(answer.header("Content-Security-Policy"))
        let script = try #require(answer.text.firstMatch(of: /(?s)<script>(.*)<\/script>/)).1
        #expect(
            policy.contains(
                "'sha256-\(Data(Digest.sha256(String(script))).base64EncodedString())'"))
        #expect(await counts(try #require(answer.token)))
        #expect(answer.response.began?.user == fixture.ada.userRecordName)
        // The session is one like any other.
        let sessions = try await fixture.hub.accounts.credentials(.session)
        #expect(sessions.filter { $0.userName == "Ada" }.count == 2)
        #expect(
            try await fixture.hub.accounts.endSessions(
                of: "Ada", container: HubFixture.container, environment: "development") == 2)
        #expect(!(await counts(try #require(answer.token))))
    }

    @Test func `whatever is wrong with a name and a password, the answer is the same`()
        async throws
    {
        var answers: Set<String> = []
        for (name, password) in [
            ("Ada", "wrong horse 1"), ("Ada", ""), ("Bob", Self.password),
            ("Nobody", Self.password), ("", Self.password), ("Ada", "%FF%FE"),
            ("Ada", String(repeating: "a", count: 2_000)), ("Ada%00", Self.password),
        ] {
            let answer = await send(form(name, password))
            #expect(answer.status == 401, "\(name)")
            #expect(answer.token == nil)
            answers.insert(answer.text)
        }
        for wrong in ["", "by=password", "by=proxy&name=Ada", "by=other", "%"] {
            #expect(await send(wrong).status == 401, "\(wrong)")
        }
        #expect(answers.count == 1)
    }

    @Test func `a password is changed, taken away, and hashed with a salt`() async throws {
        func stored() throws -> Set<String> {
            try fixture.hub.storage.readHere { transaction in
                var rows: Set<String> = []
                try transaction.scan(HubKey(.global, .password), from: nil) { _, value in
                    rows.insert(String(decoding: value, as: UTF8.self))
                    return true
                }
                return rows
            }
        }
        try await signIns.setPassword(Self.password, of: "Bob", in: Self.realm)
        #expect(try stored().count == 2)
        #expect(try !stored().contains { $0.contains("horse") })
        try await signIns.setPassword("another horse", of: "Ada", in: Self.realm)
        #expect(await send(form("Ada", Self.password)).status == 401)
        #expect(await send(form("Ada", "another horse")).status == 200)
        // One letter with its accent, or with the accent behind it.
        try await signIns.setPassword("cafe\u{301} cafe\u{301}", of: "Ada", in: Self.realm)
        #expect(await send(form("Ada", "caf%C3%A9 caf%C3%A9")).status == 200)
        try await signIns.setPassword("", of: "Ada", in: Self.realm)
        #expect(await send(form("Ada", "another horse")).status == 401)
        #expect(try stored().count == 1)
        for bad in ["short", String(repeating: "a", count: 1_025)] {
            await #expect(throws: HubError.self) {
                try await signIns.setPassword(bad, of: "Ada", in: Self.realm)
            }
        }
        await #expect(throws: HubError.self) {
            try await signIns.setPassword(Self.password, of: "Nobody", in: Self.realm)
        }
    }

    @Test func `a code signs in once, within its time, for its container`() async throws {
        let code = try await signIns.makeCode(for: "Bob", in: Self.realm)
        #expect(code.wholeMatch(of: /[0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{4}/) != nil)
        let typed = code.lowercased().replacing("-", with: "+").replacing("0", with: "o")
        let answer = await send("by=code&code=\(typed)")
        #expect(answer.status == 200)
        #expect(answer.response.began?.user == fixture.bob.userRecordName)
        #expect(await send("by=code&code=\(code)").status == 401)

        let late = try await signIns.makeCode(for: "Bob", in: Self.realm)
        fixture.advance(milliseconds: 60 * 60_000)
        #expect(await send("by=code&code=\(late)").status == 401)
        // What is over is removed with the next one.
        _ = try await signIns.makeCode(for: "Ada", in: Self.realm)
        let count = try fixture.hub.storage.readHere {
            try $0.list(HubKey(.global, .signInCode), as: SignInCodeRow.self).count
        }
        #expect(count == 1)

        let other = HubAccounts.Realm("iCloud.other", environment: "development")
        try await fixture.hub.accounts.makeContainer(
            other.container, environment: other.environment)
        _ = try await fixture.hub.accounts.addUser(
            "Cy", container: other.container, environment: other.environment)
        let foreign = try await signIns.makeCode(for: "Cy", in: other)
        #expect(await send("by=code&code=\(foreign)").status == 401)
    }

    @Test func `of many who come with one code at once, one is signed in`() async throws {
        let code = try await signIns.makeCode(for: "Bob", in: Self.realm)
        let statuses = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<20 { group.addTask { await send("by=code&code=\(code)").status } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses.filter { $0 == 200 }.count == 1)
        #expect(statuses.filter { $0 == 401 }.count == 19)
    }

    @Test func `who was removed does not sign in, and nothing is kept of the password`()
        async throws
    {
        let code = try await signIns.makeCode(for: "Ada", in: Self.realm)
        _ = try await fixture.hub.accounts.removeUser(
            "Ada", container: HubFixture.container, environment: "development")
        #expect(await send(form("Ada", Self.password)).status == 401)
        #expect(await send("by=code&code=\(code)").status == 401)
        let rows = try fixture.hub.storage.readHere {
            try $0.list(HubKey(.global, .password), as: PasswordRow.self).count
        }
        #expect(rows == 0)
    }

    // MARK: Attacks

    @Test func `a form of another page signs nobody in`() async throws {
        let code = try await signIns.makeCode(for: "Bob", in: Self.realm)
        for (name, value) in [
            ("Origin", nil), ("Origin", "null"), ("Origin", "https://evil.example"),
            ("Origin", "https://hub.example.com.evil.example"),
            ("Origin", "https://hub.example.com:444"), ("Origin", Self.app),
            ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Site", "same-site"),
            ("Sec-Fetch-Site", "none"), ("Content-Type", nil), ("Content-Type", "text/plain"),
            ("Content-Type", "multipart/form-data; boundary=a"), ("Host", nil),
        ] as [(String, String?)] {
            let answer = await send("by=code&code=\(code)", Self.headers(name, value))
            #expect(answer.status == 403, "\(name): \(value ?? "-")")
            #expect(answer.token == nil)
        }
        // It was not used up.
        #expect(await send("by=code&code=\(code)").status == 200)
    }

    @Test func `nobody but whoever runs the hub says where a token goes`() async throws {
        for query in [
            "?callback=https://evil.example", "?origin=https://evil.example", "?to=//evil",
        ] {
            let answer = await send(
                form("Ada", Self.password) + "&callback=https://evil.example"
                    + "&origin=https://evil.example", to: path + query)
            #expect(answer.status == 200)
            #expect(!answer.text.contains("evil"))
            #expect(answer.header("Location") == nil)
        }
        let callback = "https://app.example.com/signed-in?step=2"
        try #expect(await signIns.setPages(ofToken: id, origins: nil, callback: callback))
        let page = await open()
        #expect(
            page.header("Content-Security-Policy")?
                .contains("form-action 'self' https://app.example.com;") == true)
        let answer = await send(form("Ada", Self.password))
        #expect(answer.status == 303)
        let location = try #require(answer.header("Location"))
        #expect(location.hasPrefix(callback + "&ckWebAuthToken="))
        let token = try #require(
            RequestTarget("/?" + location.split(separator: "?")[1])?.query["ckWebAuthToken"])
        #expect(await counts(token))
        for bad in [
            "javascript:alert(1)", "http://app.example.com/", "//app.example.com", "https://",
            "https://app.example.com/#a", "https://a b/", "data:text/html,x", "app.example.com",
            "https://user@app.example.com/", "https://app.example.com\"/",
        ] {
            await #expect(throws: HubError.self, "\(bad)") {
                try await signIns.setPages(ofToken: id, origins: nil, callback: bad)
            }
        }
        for bad in [
            "*", "null", "https://app.example.com/", "https://*.example.com", "app.example.com",
            "http://app.example.com", "https://App.example.com", "https://app.example.com:0",
            "https://app.example.com:080", "https://[::1", "https://a;b", "https://a https://b",
        ] {
            await #expect(throws: HubError.self, "\(bad)") {
                try await signIns.setPages(ofToken: id, origins: [bad], callback: nil)
            }
        }
        for good in [
            "http://localhost", "http://127.0.0.1:8080", "http://[::1]:1", "https://a.b:8443",
        ] {
            try #expect(await signIns.setPages(ofToken: id, origins: [good], callback: nil))
        }
    }

    @Test func `after too many passwords a user waits, wherever they come from`() async throws {
        for number in 0..<HubLimits().failedPasswordsPerHour {
            let answer = await send(form("Ada", "wrong horse"), from: "192.0.2.\(number)")
            #expect(answer.status == 401)
        }
        let right = form("Ada", Self.password)
        #expect(await send(right, from: "198.51.100.1").status == 429)
        // A code still signs in, and so do others.
        let code = try await signIns.makeCode(for: "Ada", in: Self.realm)
        #expect(await send("by=code&code=\(code)", from: "198.51.100.1").status == 200)
        try await signIns.setPassword(Self.password, of: "Bob", in: Self.realm)
        #expect(await send(form("Bob", Self.password)).status == 200)
        fixture.advance(milliseconds: 3_600_000)
        #expect(await send(right).status == 200)
        // One that was right forgets those that were wrong.
        for _ in 0..<2 {
            for _ in 0..<HubLimits().failedPasswordsPerHour - 1 {
                #expect(await send(form("Ada", "wrong horse"), from: "192.0.2.9").status == 401)
            }
            fixture.advance(milliseconds: 60_000)
            #expect(await send(right).status == 200)
        }
    }

    @Test func `a password that is set anew gives no further tries, and a code lets its user in`()
        async throws
    {
        for number in 0..<HubLimits().failedPasswordsPerHour {
            let answer = await send(form("Ada", "wrong horse"), from: "192.0.2.\(number)")
            #expect(answer.status == 401)
        }
        try await signIns.setPassword("another horse", of: "Ada", in: Self.realm)
        for password in ["another horse", Self.password, "wrong horse"] {
            #expect(await send(form("Ada", password), from: "198.51.100.1").status == 429)
        }
        let code = try await signIns.makeCode(for: "Ada", in: Self.realm)
        #expect(await send("by=code&code=\(code)", from: "198.51.100.1").status == 200)
        fixture.advance(milliseconds: 3_600_000)
        #expect(await send(form("Ada", "another horse"), from: "198.51.100.1").status == 200)
    }

    @Test func `after too many failures an address waits, whatever it tries`() async throws {
        for number in 0..<HubLimits().failedSignInsPerMinute {
            let code = "by=code&code=AAAAAAAA\(1_000 + number)"
            #expect(await send(code).status == 401)
        }
        let code = try await signIns.makeCode(for: "Bob", in: Self.realm)
        #expect(await send("by=code&code=\(code)").status == 429)
        #expect(await send(form("Ada", Self.password)).status == 429)
        #expect(await send("by=code&code=\(code)", from: "192.0.2.2").status == 200)
        fixture.advance(milliseconds: 60_000)
        #expect(await send(form("Ada", Self.password)).status == 200)
    }

    // MARK: A company's own sign-in

    @Test func `whom a trusted proxy signed in goes on, and nobody else says so`() async throws {
        var configuration = fixture.hub.configuration
        configuration.signInHeader = "X-Remote-User"
        let hub = try await Hub(
            storage: fixture.hub.storage, files: MemoryHubFiles(), configuration: configuration)
        defer { hub.threads.stop() }
        func answer(
            _ method: String, _ names: [String], isFromProxy: Bool = true, form: String = "by=proxy"
        ) async -> Answer {
            var request = HubRequest(
                method: method, target: path,
                headers: Self.own + names.map { HubRequest.Header("x-remote-user", $0) },
                body: Array(form.utf8))
            request.isFromProxy = isFromProxy
            return Answer(response: await hub.respond(to: request))
        }
        #expect(await answer("GET", ["Ada"]).text.contains("Go on as Ada"))
        let signedIn = await answer("POST", ["Ada"])
        #expect(signedIn.status == 200)
        #expect(signedIn.response.began?.user == fixture.ada.userRecordName)
        // Someone whom the hub does not know yet is made.
        #expect(await answer("POST", ["Eve <b>"]).status == 200)
        #expect(
            try await fixture.hub.accounts.users(
                HubFixture.container, environment: "development"
            ).contains { $0.name == "Eve <b>" })
        let page = await answer("GET", [#"<script>"'&"#])
        #expect(page.text.contains("Go on as &lt;script&gt;&quot;'&amp;"))
        for (names, isFromProxy) in [
            (["Ada"], false), ([], true), (["Ada", "Bob"], true), ([""], true),
            ([String(repeating: "a", count: 256)], true),
        ] {
            #expect(await answer("POST", names, isFromProxy: isFromProxy).status == 401)
            let page = await answer("GET", names, isFromProxy: isFromProxy)
            #expect(page.text.contains(#"name="password""#))
        }
        // Who is being erased does not come back.
        let key = UserRow.key(realm: 1, fixture.bob.userRecordName)
        try await hub.storage.write(to: [.global]) { transaction in
            var user: UserRow = try #require(try transaction.row(key))
            user.isErased = true
            try transaction.put(key, user)
        }
        #expect(await answer("POST", ["Bob"]).status == 401)
        // Without the header's name nothing is taken from it.
        #expect(
            await send(
                "by=proxy", Self.own + [HubRequest.Header("X-Remote-User", "Ada")],
                isFromProxy: true
            )
            .status == 401)
    }

    @Test func `a proxy is one by its address`() throws {
        let proxies = try TrustedProxies(["10.0.0.0/8"])
        for (peer, isProxy) in [("10.0.0.1", true), ("192.0.2.7", false)] {
            var head = HubRequest(
                method: "GET", target: "/",
                headers: [HubRequest.Header("X-Forwarded-For", "10.0.0.1, 192.0.2.7")],
                remoteAddress: peer)
            for _ in 0..<2 {
                proxies.readClient(of: &head)
                #expect(head.isFromProxy == isProxy)
                #expect(head.remoteAddress == "192.0.2.7")
            }
        }
    }
}
