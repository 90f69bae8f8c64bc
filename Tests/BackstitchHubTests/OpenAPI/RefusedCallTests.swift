import CloudKitWire
import RawConnection
import TestBudget
import Testing

@testable import BackstitchHub
@testable import BackstitchHubCore

/// What a hub refuses is refused as its description has it, and the description allows it no request that it
/// refuses for its body.
@Suite(.budgeted) struct RefusedCallTests {
    private let description: APIDescription

    init() throws { description = try APIDescription.hub.get() }

    /// Notes an issue where a refusal is not as an operation describes it.
    private func check(
        _ response: HubResponse, of operation: APIDescription.Operation, status: Int, _ what: String
    ) {
        let headers = Dictionary(response.headers.map { ($0.name.lowercased(), $0.value) }) { $1 }
        let problems = description.problems(
            refusal: response.status, of: operation, headers, response.body.content)
        #expect(response.status == status, "\(operation.name): \(what)")
        #expect(problems == [], "\(operation.name): \(what)")
    }

    @Test func `every operation describes the status and the body of what it refuses`() async throws
    {
        let calls = try await RefusedCalls()
        var tolerant: Set<String> = []
        for operation in description.operations {
            let refused = calls.calls(of: operation)
            if refused.isEmpty { tolerant.insert(operation.name) }
            for call in refused {
                let response = await calls.fixture.hub.respond(to: call.request)
                check(response, of: operation, status: call.status, call.what)
                guard call.hasWrongBody else { continue }
                let problems = description.problems(request: call.request.bytes, of: operation)
                #expect(problems != [], "\(operation.name) allows \(call.what)")
            }
        }
        // These answer whoever asks.
        let expected: Set = [
            "GET /healthz", "HEAD /healthz", "POST /healthz", "GET /metrics",
            "OPTIONS /courier/1/{token}", "OPTIONS /upload/1/{token}",
            "OPTIONS /asset/1/{checksum}/{expires}/{signature}/{fileName}",
        ]
        #expect(tolerant == expected)
    }

    @Test func `a method that is not described is refused with those that are`() async throws {
        let calls = try await RefusedCalls()
        for (path, operations) in Dictionary(grouping: description.operations, by: \.path) {
            let described = Set(operations.map(\.method))
            let first = try #require(operations.first)
            let target = calls.path(of: first)
            for method in ["GET", "POST", "PUT", "PATCH", "DELETE"]
            where !described.contains(method) {
                let request = HubRequest(method: method, target: target)
                let response = await calls.fixture.hub.respond(to: request)
                #expect(response.status == 405, "\(method) \(path)")
                response.check(against: request, mayBeWrong: true)
                let allowed = response.headers.first { $0.isNamed("Allow") }?.value ?? ""
                #expect(
                    Set(allowed.split(separator: ", ").map { String($0) })
                        == described.subtracting(["OPTIONS"]), "\(method) \(path)")
            }
        }
    }

    @Test func `a body that is too large is refused before it comes, as it is described`()
        async throws
    {
        let fixture = try await HubFixture()
        let server = try HubServer(fixture.hub)
        for endpoint in HubEndpoint.all {
            let target = fixture.target(endpoint.path, as: fixture.ada)
            let length = HubLimits()[keyPath: endpoint.bodyBytes] + 1
            let head =
                "POST \(target) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
                + "Content-Length: \(length)\r\n\r\n"
            let bytes = try await RawConnection.exchange(server, Array(head.utf8))
            let answer = try #require(RawConnection.replies(in: Array(bytes.utf8)).first)
            let operation = try #require(description.operation("POST", target))
            let response = HubResponse(
                status: answer.status,
                headers: answer.headers.map { HubRequest.Header($0.key, $0.value) },
                body: .bytes(answer.body))
            check(response, of: operation, status: 413, "\(length) bytes")
        }
        await server.stop()
    }

    /// Bodies that look right, and that a hub refuses.
    private static let wrongBodies: [(call: Endpoint, body: String)] = [
        (.queryRecords, #"{"query":{"recordType":""}}"#),
        (.queryRecords, #"{"query":{"recordType":"T"},"resultsLimit":0}"#),
        (
            .queryRecords,
            """
            {"query":{"recordType":"T","filterBy":[{"systemFieldName":"none",
            "comparator":"EQUALS","fieldValue":{"value":"a"}}]}}
            """
        ),
        (.queryRecords, #"{"query":{"recordType":"T","sortBy":[{"systemFieldName":"none"}]}}"#),
        (
            .queryRecords,
            """
            {"query":{"recordType":"T","filterBy":[{"fieldName":"f","comparator":"NEAR",
            "distance":"far","fieldValue":{"value":{"latitude":1,"longitude":1},
            "type":"LOCATION"}}]}}
            """
        ),
        (.recordChanges, #"{"zoneID":{"zoneName":"z"},"resultsLimit":0}"#),
        (.databaseChanges, #"{"resultsLimit":0}"#), (.zonesChanges, #"{"resultsLimit":0}"#),
        (.rereferenceAssets, #"{"zoneID":{"zoneName":"z"}}"#),
        (.uploadAssets, #"{"tokens":[{"recordName":"","fieldName":"f"}]}"#),
        (.uploadAssets, #"{"tokens":[{"recordName":"a","fieldName":""}]}"#),
    ]

    @Test func `a body that a hub refuses is one that the description forbids`() async throws {
        let fixture = try await HubFixture()
        try await fixture.makeZones("z")
        for (call, body) in Self.wrongBodies {
            let request = HubRequest(
                method: "POST", target: fixture.target(call, as: fixture.ada),
                body: Array(body.utf8))
            let operation = try #require(description.operation("POST", request.target))
            check(await fixture.hub.respond(to: request), of: operation, status: 400, body)
            #expect(description.problems(request: request.bytes, of: operation) != [], "\(body)")
        }
    }

    @Test func `of the public database the description says in words what is refused`() async throws
    {
        let fixture = try await HubFixture()
        let create =
            #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"z"}}}]}"#
        let calls: [(call: Endpoint, body: String)] = [
            (.modifyZones, create), (.recordChanges, #"{"zoneID":{"zoneName":"z"}}"#),
            (.zoneChanges, #"{"zones":[{"zoneID":{"zoneName":"z"}}]}"#), (.databaseChanges, "{}"),
            (.zonesChanges, "{}"), ("zones/getCurrentSyncToken", "{}"),
        ]
        for (call, body) in calls {
            let request = HubRequest(
                method: "POST", target: fixture.target(call, in: .public, as: fixture.ada),
                body: Array(body.utf8))
            let operation = try #require(description.operation("POST", request.target))
            check(await fixture.hub.respond(to: request), of: operation, status: 400, body)
        }
        let words = description.json["components"]["parameters"]["database"]["description"].text
        #expect(words.contains("no other zone can be made there, and the zone has no feed"))
    }
}
