import BackstitchCore
import CloudKitWire
import TestBudget
import Testing

@testable import BackstitchHub
@testable import BackstitchHubCore
@testable import CloudKitRecordService

@Suite("Compressed replies", .budgeted)
struct ReplyCodingTests {
    @Test(
        "a client says whether it reads gzip",
        arguments: [
            ("gzip", true), ("GZIP", true), ("deflate, gzip, br", true), ("x-gzip", true),
            ("*", true), ("gzip;q=0.5", true), ("br;q=1.0, *;q=0.1", true), ("", false),
            ("identity", false), ("gzip;q=0", false), ("gzip; q=0, *", false), ("*;q=0", false),
            ("gzip;q=x", false), (",;,", false), ("gzipped", false),
        ])
    func acceptance(header: String, expected: Bool) {
        let headers = [HubRequest.Header("Accept-Encoding", header)]
        #expect(ReplyCoding.acceptsGzip(headers) == expected)
        #expect(!ReplyCoding.acceptsGzip([]))
    }

    @Test("large replies are gzip for those who read it, and as they are for all others")
    func replies() async throws {
        let fixture = try await HubFixture()
        try await fixture.makeZones("z")
        let text = String(repeating: "text ", count: 2_000)
        _ = try await fixture.modify(
            .init(.create, HubFixture.record("a", ["t": .string(text)])))
        let lookup = LookupRecordsRequest(
            records: [.init(recordName: "a")], zoneID: WireZoneID("z")
        ).body()
        let target = fixture.target(.lookupRecords, as: fixture.ada)
        func response(_ coding: String) async -> HubResponse {
            await fixture.hub.respond(
                to: HubRequest(
                    method: "POST", target: target,
                    headers: [HubRequest.Header("Accept-Encoding", coding)], body: lookup))
        }
        let plain = await response("identity")
        let coded = await response("gzip")
        guard case .bytes(let plainBytes) = plain.body, case .bytes(let codedBytes) = coded.body
        else { return }
        #expect(codedBytes.starts(with: [0x1F, 0x8B]) && codedBytes.count < plainBytes.count / 10)
        let vary = HubRequest.Header("Vary", "Accept-Encoding")
        let coding = HubRequest.Header("Content-Encoding", "gzip")
        #expect(plain.headers.contains(vary) && !plain.headers.contains(coding))
        #expect(coded.headers.contains(vary) && coded.headers.contains(coding))
        let health = await fixture.hub.respond(
            to: HubRequest(
                method: "GET", target: "/healthz",
                headers: [HubRequest.Header("Accept-Encoding", "gzip")]))
        #expect(!health.headers.contains(coding))

        let server = try HubServer(fixture.hub)
        var request = HTTPRequest(
            method: "POST", url: server.address + target, timeoutMilliseconds: 900_000)
        request.body = lookup
        let reply = try await CurlClient().send(request)
        #expect(reply.headers["content-encoding"] == "gzip")
        #expect(try RecordsResponse(body: reply.body) == RecordsResponse(body: plainBytes))
        await server.stop()
    }
}
