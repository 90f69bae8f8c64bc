@testable import BackstitchCore
import CloudKitWire
import Foundation
import TestBudget
import Testing

@testable import BackstitchHubCore

@Suite("The description of the hub's calls", .budgeted)
struct APIDescriptionTests {
    private let description: APIDescription

    init() throws { description = try APIDescription.hub.get() }

    @Test("every call of the protocol is described with its methods, and nothing else")
    func paths() {
        var expected: Set<String> = [
            "GET /healthz", "HEAD /healthz", "POST /healthz", "GET /ready", "HEAD /ready",
            "GET /metrics", "GET /courier/1/{token}", "OPTIONS /courier/1/{token}",
            "HEAD /upload/1/{token}", "PATCH /upload/1/{token}",
            "POST /upload/1/{token}", "PUT /upload/1/{token}", "OPTIONS /upload/1/{token}",
            "GET /asset/1/{checksum}/{expires}/{signature}/{fileName}",
            "OPTIONS /asset/1/{checksum}/{expires}/{signature}/{fileName}",
            "GET /signin/{page}", "POST /signin/{page}",
        ]
        for endpoint in Endpoint.allCases {
            let end = "/1/{container}/{environment}/"
            let starts =
                endpoint.isOfDevice
                ? ["/device" + end, "/database" + end] : ["/database" + end + "{database}/"]
            for start in starts {
                let path = start + endpoint.rawValue
                expected.formUnion(["POST \(path)", "OPTIONS \(path)"])
                if endpoint.takesGet { expected.insert("GET \(path)") }
            }
        }
        let described = description.operations.map { "\($0.method) \($0.path)" }
        #expect(Set(described) == expected)
        #expect(described.count == expected.count)
    }

    @Test("codes, statuses, kinds of operations, comparators, headers and limits are the program's")
    func constants() throws {
        let schemas = description.json["components"]["schemas"]
        let codes = schemas["ErrorCode"]
        #expect(
            Set(codes["enum"].elements.map(\.text)) == Set(WireErrorCode.allCases.map(\.rawValue)))
        for code in WireErrorCode.allCases {
            #expect(codes["x-http-status"][code.rawValue].count == code.status, "\(code)")
        }
        let kinds = schemas["RecordOperation"]["properties"]["operationType"]["enum"].elements
        #expect(
            Set(kinds.map(\.text)) == Set(WireRecordOperation.Kind.allCases.map(\.rawValue)))
        let comparators = Set(
            schemas["Filter"]["properties"]["comparator"]["enum"].elements.map(\.text))
        #expect(comparators.isSuperset(of: ServiceFilter.Comparator.allCases.map(\.rawValue)))
        for spelling in comparators {
            let value = #"{"value":[],"type":"STRING_LIST"}"#
            let text = #"{"fieldName":"f","comparator":"\#(spelling)","fieldValue":\#(value)}"#
            let json = try JSONObject(body: Array(text.utf8))
            #expect(throws: Never.self) { try ServiceFilter(json: json) }
        }
        let components = description.json["components"]
        let names = (components["parameters"].members + components["securitySchemes"].members)
            .map { $0.value["name"].text }
        let headers = [
            WireHeader.extensions, WireHeader.requestID, WireHeader.pushToken, WireHeader.keyID,
            WireHeader.signedDate, WireHeader.signature,
        ]
        #expect(Set(headers).isSubset(of: names))
        let most = schemas["ModifyRecordsRequest"]["properties"]["operations"]["maxItems"].count
        #expect(most == HubLimits().operationsPerRequest)
    }

    @Test("every reference leads to something, and every schema is used")
    func references() throws {
        var used: Set<String> = []
        func visit(_ schema: JSONSchema) {
            if let name = schema.reference, used.insert(name).inserted {
                guard let target = description.checker.schemas[name] else {
                    Issue.record("There is no schema \(name).")
                    return
                }
                visit(target)
            }
            schema.parts.forEach(visit)
        }
        for operation in description.operations {
            operation.request.map(visit)
            operation.replies?.values.forEach(visit)
        }
        used.insert("ServerError")
        description.checker.schemas["ServerError"].map(visit)
        #expect(used == Set(description.checker.schemas.keys))
    }

    /// With `BACKSTITCH_WRITE_API=1` the file is written anew.
    @Test("the calls are described as their table has them")
    func table() throws {
        var text = try String(contentsOf: APIDescription.file, encoding: .utf8)
        let start = try #require(text.range(of: DescribedCalls.start)).upperBound
        let end = try #require(text.range(of: DescribedCalls.end)).lowerBound
        let isSame = text[start..<end] == DescribedCalls.text
        if ProcessInfo.processInfo.environment["BACKSTITCH_WRITE_API"] == "1", !isSame {
            text.replaceSubrange(start..<end, with: DescribedCalls.text)
            try text.write(to: APIDescription.file, atomically: true, encoding: .utf8)
        } else {
            #expect(
                isSame,
                """
                The description differs from the table. Write it anew with BACKSTITCH_WRITE_API=1 \
                swift test --filter APIDescriptionTests
                """)
        }
    }

    @Test(
        "what is no call leads to nothing",
        arguments: ["records/", "records/query/", "records/forget", "records", "tokens/create"])
    func noCalls(path: String) async throws {
        let fixture = try await HubFixture()
        let target = fixture.target(.queryRecords, as: fixture.ada)
            .replacing("records/query", with: path)
        for method in ["POST", "GET", "OPTIONS"] {
            let request = HubRequest(method: method, target: target)
            #expect(await fixture.hub.respond(to: request).status == 404)
        }
    }

    @Test("every call answers as it is described", arguments: Endpoint.allCases)
    func tour(endpoint: Endpoint) async throws {
        let fixture = try await HubFixture()
        try await fixture.makeZones("z")
        let bodies: [Endpoint: String] = [
            .queryRecords: #"{"query":{"recordType":"T"},"zoneID":{"zoneName":"z"}}"#,
            .lookupRecords: #"{"records":[{"recordName":"a"}]}"#,
            .modifyRecords:
                #"{"operations":[{"operationType":"create","record":{"recordType":"T"}}]}"#,
            .recordChanges: #"{"zoneID":{"zoneName":"z"}}"#,
            .zoneChanges: #"{"zones":[{"zoneID":{"zoneName":"z"}},{"zoneID":{"zoneName":"y"}}]}"#,
            .lookupZones: #"{"zones":[{"zoneName":"z"},{"zoneName":"y"}]}"#,
            .modifyZones: """
            {"operations":[{"operationType":"delete","zone":{"zoneID":{"zoneName":"y"}}}]}
            """,
            .lookupSubscriptions: #"{"subscriptions":[{"subscriptionID":"s"}]}"#,
            .modifySubscriptions: """
            {"operations":[{"operationType":"create","subscription":{"subscriptionType":"query",
            "query":{"recordType":"T","filterBy":[{"fieldName":"f","comparator":"EQUALS",
            "fieldValue":{"value":1}}]},"firesOn":["create"]}}]}
            """,
            .lookupUsersByEmail: #"{"users":[{"emailAddress":"ada@example.com"}]}"#,
            .lookupUsersByID: #"{"users":[{"userRecordName":"_a"}]}"#,
            .uploadAssets: #"{"tokens":[{"fieldName":"f"}]}"#,
            .rereferenceAssets: #"{"assets":[{"recordName":"a","fieldName":"f"}]}"#,
            .createToken: #"{"apnsEnvironment":"development"}"#,
            .registerToken: #"{"apnsEnvironment":"development","apnsToken":"t"}"#,
        ]
        let body = Array((bodies[endpoint] ?? "{}").utf8)
        let isSharing = ["records/resolve", "records/accept"].contains(endpoint)
        for method in ["POST", "OPTIONS"] + (endpoint.takesGet ? ["GET"] : []) {
            let request = HubRequest(
                method: method, target: fixture.target(endpoint, as: fixture.ada),
                body: method == "POST" ? body : [])
            let response = await fixture.hub.respond(to: request)
            #expect(response.status == (isSharing && method == "POST" ? 400 : 200))
            response.check(against: request, mayBeWrong: method != "POST")
        }
    }
}
