import BackstitchCore
import CloudKitWire
import Foundation
import TestBudget
import Testing

@testable import BackstitchHub
@testable import BackstitchHubCore

/// What a hub answers on the thread that brings a request, and what it leaves to others.
@Suite(.budgeted) struct InlineReadsTests {
    private let fixture: HubFixture
    private var hub: Hub { fixture.hub }

    init() async throws {
        fixture = try await HubFixture(
            storage: LMDBHubStorage.temporary(readers: WorkPool(HubLimits())))
        try await fixture.makeZones("z")
    }

    private func lookUp(_ names: [String], zone: String = "z") -> String {
        let records = names.map { "{\"recordName\":\"\($0)\"}" }.joined(separator: ",")
        return "{\"zoneID\":{\"zoneName\":\"\(zone)\"},\"records\":[\(records)]}"
    }

    private func request(
        _ endpoint: Endpoint, _ body: String, as user: HubAccounts.SignedInUser? = nil
    ) -> HubRequest {
        HubRequest(
            method: "POST", target: fixture.target(endpoint, as: user ?? fixture.ada),
            body: Array(body.utf8))
    }

    /// The answer on this thread to a request whose head was admitted; nil if there is none.
    private func answerAtOnce(_ request: HubRequest) -> HubResponse? {
        var head = request
        head.body = .bytes([])
        let admission = hub.admissions.admissionAtOnce(of: &head, length: request.bytes.count)
        switch admission {
        case .take:
            head.body = request.body
            return InlineReads(hub).answer(head)
        case .refuse(let response): return response
        case nil: return nil
        }
    }

    private func save(_ names: [String], bytes: Int = 10) async throws {
        for name in names {
            _ = try await fixture.modify(
                .init(
                    .forceReplace,
                    HubFixture.record(name, ["s": .string(String(repeating: "x", count: bytes))])))
        }
    }

    @Test func `a small read is answered as it is elsewhere`() async throws {
        try await save(["a"])
        for (endpoint, body) in [
            (Endpoint.lookupRecords, lookUp(["a"])), (.lookupRecords, lookUp(["a", "none"])),
            (.lookupRecords, lookUp(["a"], zone: "none")), (.listZones, "{}"),
            (.lookupRecords, "no JSON"), (.currentUser, "{}"),
        ] {
            let request = request(endpoint, body)
            let quick = try #require(answerAtOnce(request), "\(endpoint) \(body)")
            let other = await hub.respond(to: request)
            #expect(quick.status == other.status)
            #expect(quick.headers.map(\.name).sorted() == other.headers.map(\.name).sorted())
            guard quick.status == 200 else { continue }
            #expect(quick.body == other.body)
        }
    }

    @Test func `what costs more, or writes, is left to others`() async throws {
        try await save((0..<40).map { "r\($0)" })
        try await save(["large"], bytes: 20_000)
        #expect(answerAtOnce(request(.lookupRecords, lookUp(["r1"]))) != nil)
        let many = lookUp((0..<40).map { "r\($0)" })
        #expect(many.utf8.count < 1_024)
        #expect(answerAtOnce(request(.lookupRecords, many)) == nil)
        #expect(answerAtOnce(request(.lookupRecords, lookUp(["large"]))) == nil)
        #expect(answerAtOnce(request(.queryRecords, "{\"query\":{\"recordType\":\"T\"}}")) == nil)
        #expect(answerAtOnce(request(.modifyRecords, "{\"operations\":[]}")) == nil)
        let long = String(repeating: " ", count: 2_000) + lookUp(["r1"])
        #expect(answerAtOnce(request(.lookupRecords, long)) == nil)
        // It is answered all the same.
        #expect(await hub.respond(to: request(.lookupRecords, many)).status == 200)
    }

    @Test func `pages that are always the same are answered at once, others are not`() {
        #expect(answerAtOnce(HubRequest(method: "GET", target: "/healthz"))?.status == 200)
        #expect(answerAtOnce(HubRequest(method: "PUT", target: "/healthz")) == nil)
        #expect(answerAtOnce(HubRequest(method: "GET", target: "/ready")) == nil)
        #expect(answerAtOnce(HubRequest(method: "GET", target: "/courier/1/x")) == nil)
        #expect(answerAtOnce(HubRequest(method: "GET", target: "/%zz")) == nil)
    }

    @Test func `nobody is let in who was shut out`() async throws {
        try await save(["a"])
        let request = request(.lookupRecords, lookUp(["a"]))
        #expect(answerAtOnce(request)?.status == 200)
        #expect(answerAtOnce(request)?.status == 200)
        #expect(try await hub.accounts.revoke(fixture.ada.webAuthToken))
        #expect(answerAtOnce(request)?.status == 401)
        let other = self.request(.lookupRecords, lookUp(["a"]), as: fixture.bob)
        // A database that is not there yet is made, which writes.
        #expect(answerAtOnce(other) == nil)
        #expect(await hub.respond(to: other).status == 404)
        #expect(answerAtOnce(other)?.status == 404)
        #expect(try await hub.accounts.revoke(fixture.apiToken))
        #expect(answerAtOnce(other)?.status == 401)
    }

    @Test func `a session ends and is renewed in time though nothing is written`() async throws {
        try await save(["a"])
        let request = request(.lookupRecords, lookUp(["a"]))
        #expect(answerAtOnce(request)?.status == 200)
        let day: Int64 = 24 * 3_600 * 1_000
        fixture.advance(milliseconds: 2 * day)
        let renewed = try #require(answerAtOnce(request))
        #expect(renewed.headers.contains { $0.name == WireHeader.webAuthToken })
        fixture.advance(milliseconds: 13 * day)
        #expect(answerAtOnce(request)?.status == 421)
    }

    @Test func `a record that was changed is read anew`() async throws {
        try await save(["a"], bytes: 1)
        let request = request(.lookupRecords, lookUp(["a"]))
        let first = answerAtOnce(request)
        #expect(first?.body == answerAtOnce(request)?.body)
        try await save(["a"], bytes: 2)
        let second = answerAtOnce(request)
        #expect(second?.status == 200 && second?.body != first?.body)
        let delete = ModifyZonesRequest(operations: [.init(.delete, WireZoneID("z"))])
        let _: ZonesResponse = try await fixture.call(.modifyZones, delete)
        #expect(answerAtOnce(request)?.status == 404)
    }

    @Test func `names of replies are UUIDs of version 4, each another one`() {
        let names = ReplyNames { [UInt8](repeating: 0xFF, count: $0) }
        let some = (0..<10_000).map { _ in names.next() }
        #expect(Set(some).count == some.count)
        for name in some.prefix(100) {
            #expect(UUID(uuidString: name)?.uuidString == name)
            let digits = Array(name)
            #expect(digits[14] == "4" && "89AB".contains(digits[19]))
        }
    }

    @Test func `targets that are remembered lead where they led`() throws {
        let book = RequestAddressBook()
        let target = fixture.target(.lookupRecords, as: fixture.ada)
        let address = try #require(book.address(target))
        #expect(book.address(target) === address)
        #expect(address.endpoint?.path == .lookupRecords)
        #expect(book.address("/healthz")?.page?.name == "healthz")
        #expect(book.address("/%zz") == nil)
        for number in 0..<5_000 { _ = book.address(target + "&n=\(number)") }
        #expect(book.address(target)?.endpoint?.path == .lookupRecords)
        #expect(book.address(target + "&n=7")?.target.query["n"] == "7")
    }
}
