import BackstitchTesting
import CloudKitWire
import Foundation
import Testing

@testable import BackstitchHub

/// Requests made at random from pieces that are right, wrong, and hostile.
private struct RequestMaker {
    var random: SeededGenerator
    let fixture: HubFixture

    private mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[Int.random(in: 0..<elements.count, using: &random)]
    }

    mutating func request() -> HubRequest {
        let user = pick([fixture.bob, fixture.bob, nil])
        var target = fixture.target(
            pick(Endpoint.allCases), in: pick(WireDatabase.allCases), as: user)
        if pick([true, false, false, false]) { target = damaged(target) }
        let headers = [
            HubRequest.Header(
                "X-Backstitch-Extensions", pick(["request-id", "server-record", ""])),
            HubRequest.Header("X-Backstitch-Request-ID", pick(["a", "b", ""])),
        ]
        return HubRequest(
            method: pick(["POST", "POST", "POST", "GET", "PUT"]), target: target, headers: headers,
            body: body())
    }

    private mutating func damaged(_ text: String) -> String {
        var bytes = Array(text.utf8)
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(
                in: 0x20...0x7E, using: &random)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private mutating func body() -> [UInt8] {
        var text = "{"
        for _ in 0..<Int.random(in: 0...5, using: &random) {
            text += "\"\(pick(Self.keys))\":\(value(depth: 0)),"
        }
        text += "\"x\":0}"
        var bytes = Array(text.utf8)
        if pick([true, false, false, false, false]) {
            bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(
                in: 0...255, using: &random)
        }
        return bytes
    }

    private mutating func value(depth: Int) -> String {
        switch Int.random(in: 0..<(depth > 4 ? 4 : 7), using: &random) {
        case 0: return pick(Self.numbers)
        case 1, 2, 3: return "\"\(pick(Self.texts(fixture)))\""
        case 4: return "[\(value(depth: depth + 1)),\(value(depth: depth + 1))]"
        default:
            var members = ""
            var names = Self.keys
            names.shuffle(using: &random)
            for name in names.prefix(4) {
                members += "\"\(name)\":\(value(depth: depth + 1)),"
            }
            return "{\(members)\"y\":null}"
        }
    }

    private static let keys = [
        "operations", "operationType", "record", "recordName", "recordType", "recordChangeTag",
        "fields", "value", "type", "zoneID", "zoneName", "ownerRecordName", "atomic", "zones",
        "records", "query", "filterBy", "sortBy", "comparator", "fieldName", "fieldValue",
        "syncToken", "resultsLimit", "continuationMarker", "subscription", "subscriptionID",
        "subscriptionType", "tokens", "assets", "lookupInfos", "users", "apnsEnvironment",
        "apnsToken", "parent", "desiredKeys", "shortGUIDs",
    ]

    private static let numbers = [
        "0", "1", "-1", "1e308", "9223372036854775807", "9223372036854775808", "0.5", "true",
        "null",
    ]

    private static func texts(_ fixture: HubFixture) -> [String] {
        [
            "create", "update", "forceUpdate", "delete", "forceDelete", "replace", "secret", "z",
            "a", "T", "_defaultZone", fixture.ada.userRecordName, "..", "/etc/passwd", "\\u0000",
            "EQUALS", "IN", "NEAR", "STRING", "INT64_LIST", "REFERENCE", "query", "zone",
            "development", "", "AAAA",
        ]
    }
}

@Suite("A hub under generated requests")
struct HubFuzzTests {
    /// How many requests each seed makes; `BACKSTITCH_FUZZ_REQUESTS` asks for more.
    private static let count =
        ProcessInfo.processInfo.environment["BACKSTITCH_FUZZ_REQUESTS"].flatMap(Int.init) ?? 150

    @Test(
        "no request fails the hub, or shows or changes what is another user's",
        arguments: 1...4 as ClosedRange<UInt64>)
    func fuzz(seed: UInt64) async throws {
        var limits = HubLimits()
        limits.failedSignInsPerMinute = .max
        let fixture = try await HubFixture(limits: limits, seed: seed)
        try await fixture.makeZones("secret")
        _ = try await fixture.modify(
            .init(.create, HubFixture.record("hidden", ["text": .string("treasure")])),
            zone: "secret")
        var maker = RequestMaker(random: SeededGenerator(seed: seed), fixture: fixture)
        for _ in 0..<Self.count {
            let request = maker.request()
            let response = await fixture.hub.respond(to: request)
            guard case .bytes(let body) = response.body else { continue }
            let text = String(decoding: body, as: UTF8.self)
            let about =
                "seed \(seed): \(request.target) \(String(decoding: request.bytes, as: UTF8.self))"
            #expect((200..<500).contains(response.status), "\(response.status) \(about)")
            #expect(!text.contains("treasure") && !text.contains("hidden"), "\(about)")
        }
        let own: RecordsResponse = try await fixture.call(
            .lookupRecords,
            LookupRecordsRequest(
                records: [.init(recordName: "hidden")], zoneID: WireZoneID("secret")))
        #expect(own.records.first?.value?.fields == ["text": WireField(.string("treasure"))])
    }
}
