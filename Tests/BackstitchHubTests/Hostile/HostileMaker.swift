import BackstitchTesting
import CloudKitWire
import LMDB
import Threading

@testable import BackstitchHubCore

/// Makes requests at random from pieces that are right, wrong, and hostile.
struct HostileMaker {
    var random: SeededGenerator
    let world: HostileWorld

    mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[Int.random(in: 0..<elements.count, using: &random)]
    }

    /// Whether something happens that does so once in a number of times.
    mutating func happens(onceIn count: Int) -> Bool {
        Int.random(in: 0..<count, using: &random) == 0
    }

    // MARK: Sizes and repetition

    /// What the hub of this world takes.
    var limits: HubLimits { world.fixture.hub.configuration.limits }

    /// A size from nothing to beyond a bound; mostly a small one, and the more so the larger the bound.
    mutating func size(upTo bound: Int) -> Int {
        guard happens(onceIn: 12 + bound / 200) else {
            return Int.random(in: 0...min(bound, 3), using: &random)
        }
        return pick([bound / 2, bound - 1, bound, bound + 1, 2 * bound + 1])
    }

    /// Values, as many as a bound allows or more; now and then all are the same.
    mutating func values(
        upTo bound: Int, _ value: (inout HostileMaker) -> String
    ) -> [String] {
        let count = size(upTo: bound)
        // Thousands of different ones would take longer to make than to answer.
        if count > 500 || happens(onceIn: 4) {
            return Array(repeating: value(&self), count: count)
        }
        return (0..<count).map { _ in value(&self) }
    }

    /// Text of a letter that comes as often as a bound allows, or oftener.
    mutating func letters(upTo bound: Int) -> String {
        String(repeating: pick(["n", "é", " a", "\\n"]), count: size(upTo: bound))
    }

    // MARK: Requests

    /// Requests that are sent at once: of several clients, or one of them several times.
    mutating func burst() -> [HubRequest] {
        let count = pick([2, 3, 5, 8])
        if happens(onceIn: 3) { return Array(repeating: request(), count: count) }
        return (0..<count).map { _ in request() }
    }

    /// A request that HTTP can carry.
    mutating func request() -> HubRequest {
        if happens(onceIn: 8) { return fileRequest() }
        let endpoint = pick(Endpoint.allCases)
        var target = target(endpoint)
        if happens(onceIn: 10) { target = damaged(target) }
        target += values(upTo: 2_000) { "&\($0.pick(["a", "ckAPIToken", "ckWebAuthToken"]))=b" }
            .joined()
        var body = body(of: endpoint)
        if happens(onceIn: 6) { body = broken(body) }
        if happens(onceIn: 12) { body += Array(repeating: 0x20, count: size(of: endpoint)) }
        let methods = ["POST", "POST", "POST", "POST", "POST", "POST", "GET", "OPTIONS", "PUT"]
        let method = happens(onceIn: 20) ? pick(["DELETE", "HEAD", "PATCH", "X"]) : pick(methods)
        return HubRequest(
            method: method, target: target, headers: headers(), body: method == "GET" ? [] : body)
    }

    /// How many bytes a call's body may have, or around that.
    private mutating func size(of endpoint: Endpoint) -> Int {
        let most = endpoint == .modifyRecords ? limits.bodyBytes : limits.callBodyBytes
        return size(upTo: pick([most, limits.anonymousBodyBytes, 16 << 10]))
    }

    // MARK: Addresses

    private var longName: String { String(repeating: "k", count: 600) }

    private mutating func target(_ endpoint: Endpoint) -> String {
        let fixture = world.fixture
        let database = pick([WireDatabase.private, .private, .private, .public, .shared])
        if happens(onceIn: 8) {
            let path = WirePath(
                container: pick([
                    HubFixture.container, "iCloud.other", "..", "%2e%2e", "a%2Fb", longName,
                ]),
                environment: pick(["development", "production", "Development", ""]),
                database: database, endpoint: endpoint)
            return path.text + "?" + credentials()
        }
        return fixture.target(endpoint, in: database, as: happens(onceIn: 8) ? nil : fixture.bob)
    }

    private mutating func credentials() -> String {
        let fixture = world.fixture
        let apiToken = pick([fixture.apiToken, world.strangerAPIToken, "", "0", fixture.apiToken])
        let webToken = pick([
            fixture.bob.webAuthToken, world.expiredWebToken,
            String(fixture.ada.webAuthToken.dropLast()),
            fixture.ada.webAuthToken.lowercased(), "", "%00", String(repeating: "A", count: 3_000),
        ])
        let name = pick(["ckWebAuthToken", "ckSession", "ckwebauthtoken"])
        let escaped = webToken.replacing("+", with: "%2B").replacing("=", with: "%3D")
        return "ckAPIToken=\(apiToken)&\(name)=\(escaped)"
    }

    /// A request for a file, an upload or a notification, with an address that is not one.
    private mutating func fileRequest() -> HubRequest {
        let checksum = pick(world.checksums)
        let parts = world.adaDownload.split(separator: "/").map(String.init)
        let (expires, signature) = (parts[3], parts[4])
        let later = String((Int64(expires) ?? 0) + 1)
        let ada = parts[2]
        let target = pick([
            "/asset/1/\(ada)/\(later)/\(signature)/a", "/asset/1/\(ada)/\(expires)//a",
            "/asset/1/\(ada)/\(expires)/\(signature.uppercased())/a",
            "/asset/1/\(ada)/9223372036854775807/\(signature)/a",
            "/asset/1/\(ada)/-1/\(signature)/a", "/asset/2/\(ada)/\(expires)/\(signature)/a",
            "/asset/1/\(ada.uppercased())/\(expires)/\(signature)/a",
            "/asset/1/\(checksum)/\(expires)/\(signature)/a",
            "/asset/1/7fff-\(checksum)/\(expires)/\(signature)/a",
            "/asset/1/0\(ada)/\(expires)/\(signature)/a",
            "/upload/1/1-\(checksum)", "/upload/1/0-", "/upload/1/-",
            "/asset/1/\(checksum)/\(expires)/\(String(signature.reversed()))/a",
            "/asset/1/../../../../../../etc/passwd", "/asset/1/..%2F..%2Fetc%2Fpasswd/1/2/3",
            "/asset/1/%2e%2e/\(expires)/\(signature)/a", "/asset/1/\(ada)%00/1/2/3",
            "/asset/1/incoming/\(expires)/\(signature)/a", "/asset/\(ada)", "/asset/1/\(ada)/",
            "/asset//1/\(ada)/\(expires)/\(signature)/a", "/asset", "/assets/\(ada)",
            damagedDownload(),
            "/upload/1/\(pick(world.tokens))", "/upload/1/", "/upload", "/upload/2/a/b",
            "/upload/1/..%2f..%2f\(ada)", damaged(world.bobUpload), world.bobUpload,
            "/courier/1/\(ada)", "/courier/1/zz", "/courier/1/", "/courier/2/00",
            "/courier/1/\(String(repeating: "41", count: 2_000))",
            "/healthz", "/metrics", "/healthz/..", "//healthz", "/", "/database", "/data.mdb",
            "/database/1/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/\\..\\..", "/?a=b",
            "/database/1/\(HubFixture.container)/development/private/records/modify/../lookup",
        ])
        let method = pick(["GET", "GET", "POST", "PUT", "HEAD", "DELETE"])
        let hasBody = method == "POST" || method == "PUT"
        return HubRequest(
            method: method, target: target, headers: headers(),
            body: hasBody ? Array(text().utf8) : [])
    }

    /// Ada's address with a mistake before the name of the file, which anybody may choose.
    private mutating func damagedDownload() -> String {
        let stem = world.adaDownload.replacing("/${f}", with: "")
        let damaged = damaged(stem)
        return (damaged == stem ? String(stem.dropLast()) : damaged) + "/a"
    }

    private mutating func damaged(_ text: String) -> String {
        var bytes = Array(text.utf8)
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            bytes[Int.random(in: 1..<bytes.count, using: &random)] = UInt8.random(
                in: 0x21...0x7E, using: &random)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    // MARK: Headers

    private mutating func headers() -> [HubRequest.Header] {
        var headers = [
            HubRequest.Header(
                "X-Backstitch-Extensions",
                pick(["request-id, server-record, large-pages", "server-record", "", ",,", "x"])),
            HubRequest.Header("X-Backstitch-Request-ID", pick(["a", "b", "", text()])),
            HubRequest.Header(
                "Content-Type",
                pick(["application/json", "text/plain", "multipart/form-data", "text/html", ""])),
        ]
        if happens(onceIn: 6) {
            headers.append(HubRequest.Header("X-Backstitch-Push-Token", pick(world.tokens)))
        }
        if happens(onceIn: 16) { headers += world.signedHeaders }
        if happens(onceIn: 16) {
            let day = SignedDate.text(milliseconds: world.fixture.time.withLock { $0 })
            headers += [
                HubRequest.Header(WireHeader.keyID, pick(["", "0", pick(world.checksums)])),
                HubRequest.Header(
                    WireHeader.signedDate,
                    pick([day, "", "2016-99-99T99:99:99Z", "9999-12-31T23:59:59Z", "now"])),
                HubRequest.Header(
                    WireHeader.signature, pick(["", "AAAA", "MEUCIQ==", pick(world.tokens)])),
            ]
        }
        headers += values(upTo: 100) { "X-\($0.pick(["A", "B"]))" }.map {
            HubRequest.Header($0, "1")
        }
        if happens(onceIn: 10) {
            headers.append(
                HubRequest.Header(
                    pick(["Accept-Encoding", "Range", "If-None-Match", "X-Forwarded-For", "Cookie"]
                    ),
                    pick(["identity", "bytes=0-", "*", "::1", "gzip", "gzip;q=0", "\"", ";;;"])))
        }
        return headers
    }
}
