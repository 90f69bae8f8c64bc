import BackstitchCore
import CloudKitWire
import Foundation
import TestBudget
import Testing
import WireCrypto

@testable import BackstitchHubCore

@Suite("Records of a hub", .budgeted)
struct HubRecordTests {
    @Test("a record is created, read, updated and deleted")
    func life() async throws {
        let fixture = try await HubFixture()
        try await fixture.makeZones("z")
        let created = try await fixture.modify(
            .init(.create, HubFixture.record("a", ["n": .int64(.max), "s": .string("x")])))
        let first = try #require(created.first?.value)
        #expect(first.fields["n"] == WireField(.int64(.max)))
        #expect(first.created == first.modified)
        #expect(first.created?.userRecordName == fixture.ada.userRecordName)
        fixture.advance(milliseconds: 5)
        var change = HubFixture.record("a", tag: first.recordChangeTag)
        change.fields["s"] = WireField(nil)
        let updated = try await fixture.modify(.init(.update, change))
        let second = try #require(updated.first?.value)
        #expect(second.recordChangeTag != first.recordChangeTag)
        #expect(second.fields == ["n": WireField(.int64(.max))])
        #expect(second.modified?.timestamp == 1_700_000_000_005)
        #expect(second.created == first.created)
        let found: RecordsResponse = try await fixture.call(
            .lookupRecords,
            LookupRecordsRequest(
                records: [.init(recordName: "a"), .init(recordName: "b")],
                zoneID: WireZoneID("z")))
        #expect(found.records[0].value == second)
        #expect(found.records[1].code == "NOT_FOUND")
        let deleted = try await fixture.modify(
            .init(.delete, HubFixture.record("a", tag: second.recordChangeTag)))
        #expect(deleted.first?.value?.isDeleted == true)
    }

    @Test("each type of operation keeps its rule about tags")
    func tagRules() async throws {
        let fixture = try await HubFixture()
        try await fixture.makeZones("z")
        func code(
            _ kind: WireRecordOperation.Kind, _ name: String, tag: String? = nil
        ) async throws -> String? {
            try await fixture.modify(
                .init(kind, HubFixture.record(name, tag: tag, ["f": .int64(1)]))
            )
            .first?.code
        }
        #expect(try await code(.create, "a") == nil)
        #expect(try await code(.create, "a") == "EXISTS")
        #expect(try await code(.update, "a", tag: "stale") == "CONFLICT")
        #expect(try await code(.update, "a") == "BAD_REQUEST")
        #expect(try await code(.update, "b", tag: "1") == "NOT_FOUND")
        #expect(try await code(.replace, "a", tag: "stale") == "CONFLICT")
        #expect(try await code(.forceUpdate, "a", tag: "stale") == nil)
        #expect(try await code(.forceUpdate, "new") == nil)
        #expect(try await code(.forceReplace, "newer") == nil)
        #expect(try await code(.delete, "a", tag: "stale") == "CONFLICT")
        #expect(try await code(.delete, "missing", tag: "1") == "NOT_FOUND")
        #expect(try await code(.forceDelete, "a", tag: "stale") == nil)
        #expect(try await code(.forceDelete, "missing") == nil)
        #expect(try await code(.create, "a") == nil)
    }

    @Test("replace clears the fields that it does not name")
    func replacing() async throws {
        let fixture = try await HubFixture()
        try await fixture.makeZones("z")
        _ = try await fixture.modify(
            .init(.create, HubFixture.record("a", ["x": .int64(1), "y": .int64(2)])))
        let replaced = try await fixture.modify(
            .init(.forceReplace, HubFixture.record("a", ["x": .int64(3)])))
        #expect(replaced.first?.value?.fields == ["x": WireField(.int64(3))])
    }

    @Test("a conflict tells the hub's record to those who know that, and to nobody else")
    func serverRecord() async throws {
        let fixture = try await HubFixture()
        try await fixture.makeZones("z")
        let operation = WireRecordOperation(
            .create, HubFixture.record("a", ["x": .int64(1)]))
        _ = try await fixture.modify(operation)
        let headers = [HubRequest.Header("x-backstitch-extensions", "server-record, other")]
        guard
            case .failure(_, let error)? = try await fixture.modify(operation, headers: headers)
                .first
        else {
            Issue.record("The record was created twice.")
            return
        }
        #expect(error.serverRecord?.fields == ["x": WireField(.int64(1))])
        guard case .failure(_, let plain)? = try await fixture.modify(operation).first else {
            Issue.record("The record was created twice.")
            return
        }
        #expect(plain.serverRecord == nil)
    }

    @Test("of an atomic request all or nothing takes effect, and the culprit is told")
    func atomicity() async throws {
        let fixture = try await HubFixture()
        try await fixture.makeZones("z")
        _ = try await fixture.modify(.init(.create, HubFixture.record("b")))
        let codes = try await fixture.modify(
            .init(.create, HubFixture.record("a")), .init(.create, HubFixture.record("b")),
            atomic: true
        ).map(\.code)
        #expect(codes == ["ATOMIC_ERROR", "EXISTS"])
        #expect(try await fixture.modify(.init(.create, HubFixture.record("a"))).first?.code == nil)
    }

    @Test("a request with a name that comes again gets the first answer, and does nothing")
    func ledger() async throws {
        let fixture = try await HubFixture()
        try await fixture.makeZones("z")
        let headers = [
            HubRequest.Header("X-Backstitch-Extensions", "request-id"),
            HubRequest.Header("X-Backstitch-Request-ID", "r1"),
        ]
        let operation = WireRecordOperation(.create, HubFixture.record("a"))
        let first = try await fixture.modify(operation, headers: headers)
        let second = try await fixture.modify(operation, headers: headers)
        #expect(first.first?.value != nil && first == second)
        #expect(try await fixture.modify(operation).first?.code == "EXISTS")
        await #expect(throws: WireError.self) {
            try await fixture.modify(
                .init(.create, HubFixture.record("other")), headers: headers)
        }
        fixture.advance(milliseconds: 3_600_000)
        _ = try await fixture.modify(
            .init(.create, HubFixture.record("b")),
            headers: [headers[0], .init("X-Backstitch-Request-ID", "r2")])
        #expect(try await fixture.modify(operation, headers: headers).first?.code == "EXISTS")
    }

    @Test("bad requests are refused as a whole and change nothing")
    func badRequests() async throws {
        let fixture = try await HubFixture()
        try await fixture.makeZones("z")
        let create = WireRecordOperation(.create, HubFixture.record("a"))
        await #expect(throws: WireError.self) { try await fixture.modify(create, create) }
        let many = ModifyRecordsRequest(
            operations: (0...200).map { .init(.create, HubFixture.record("r\($0)")) },
            zoneID: WireZoneID("z"))
        do {
            let _: RecordsResponse = try await fixture.call(
                .modifyRecords, many, mayBeWrong: true)
            Issue.record("201 operations were taken.")
        } catch let error as WireError {
            #expect(error.code == .limitExceeded)
        }
        for body in ["", "[]", "{", #"{"operations":[{}]}"#, #"{"operations":5}"#] {
            let reply = await fixture.send(
                .modifyRecords, as: fixture.ada, body: Array(body.utf8))
            #expect(reply.status == 400)
            #expect(try WireError(body: reply.body).code == .badRequest)
        }
    }

    @Test("names and values that are none are refused, each in its place")
    func badRecords() async throws {
        let fixture = try await HubFixture()
        try await fixture.makeZones("z")
        var wrongType = HubFixture.record("e")
        wrongType.recordType = "1T"
        var parentless = HubFixture.record("f")
        parentless.parent = "nobody"
        let codes = try await fixture.modify(
            .init(.create, HubFixture.record("_a")),
            .init(.create, HubFixture.record(String(repeating: "x", count: 256))),
            .init(.create, HubFixture.record("b", ["1f": .int64(1)])),
            .init(
                .create,
                HubFixture.record(
                    "c",
                    ["f": .reference(ServiceReference(recordName: "x", action: .other("WHAT")))])),
            .init(.create, HubFixture.record("d", ["f": .asset(ServiceAsset(receipt: "forged"))])),
            .init(.create, wrongType), .init(.create, parentless),
            .init(
                .create,
                HubFixture.record("g", ["f": .string(String(repeating: "x", count: 1_000_001))])),
            .init(.create, HubFixture.record("ok"))
        ).map(\.code)
        let bad = "BAD_REQUEST"
        #expect(
            codes == [
                bad, bad, bad, bad, bad, bad, "VALIDATING_REFERENCE_ERROR", "QUOTA_EXCEEDED", nil,
            ])
    }

    @Test("references cascade and validate as the reference says")
    func references() async throws {
        let fixture = try await HubFixture()
        try await fixture.makeZones("z")
        func child(
            _ name: String, of parent: String, _ action: ServiceReference.Action
        ) -> WireRecordOperation {
            let reference = ServiceReference(recordName: parent, action: action)
            return .init(.create, HubFixture.record(name, ["parent": .reference(reference)]))
        }
        #expect(
            try await fixture.modify(child("x", of: "y", .validate)).first?.code
                == "VALIDATING_REFERENCE_ERROR")
        _ = try await fixture.modify(
            child("leaf", of: "branch", .deleteSelf), child("branch", of: "root", .deleteSelf),
            child("friend", of: "root", .none), .init(.create, HubFixture.record("root")),
            atomic: true)
        let guardian = try await fixture.modify(child("guard", of: "leaf", .validate))
        #expect(guardian.first?.code == nil)
        let refused = try await fixture.modify(.init(.forceDelete, HubFixture.record("root")))
        #expect(refused.first?.code == "VALIDATING_REFERENCE_ERROR")
        let done = try await fixture.modify(
            .init(.forceDelete, HubFixture.record("root")),
            .init(.forceDelete, HubFixture.record("guard")), atomic: true)
        #expect(done.map(\.code) == [nil, nil])
        let found: RecordsResponse = try await fixture.call(
            .lookupRecords,
            LookupRecordsRequest(
                records: ["root", "branch", "leaf", "guard", "friend"].map {
                    .init(recordName: $0)
                }, zoneID: WireZoneID("z")))
        #expect(found.records.map { $0.value != nil } == [false, false, false, false, true])
    }

    @Test("the public database is everybody's to read, and its records their creators' to change")
    func publicDatabase() async throws {
        let fixture = try await HubFixture()
        let create = ModifyRecordsRequest(
            operations: [.init(.create, HubFixture.record("a", ["x": .int64(1)]))])
        let made: RecordsResponse = try await fixture.call(.modifyRecords, in: .public, create)
        #expect(made.records.first?.code == nil)
        let lookup = LookupRecordsRequest(records: [.init(recordName: "a")])
        let anonymous = await fixture.send(.lookupRecords, in: .public, body: lookup.body())
        #expect(anonymous.status == 200)
        #expect(try RecordsResponse(body: anonymous.body).records.first?.value != nil)
        let written = await fixture.send(.modifyRecords, in: .public, body: create.body())
        #expect(written.status == 421)
        let change = ModifyRecordsRequest(
            operations: [.init(.forceDelete, HubFixture.record("a"))])
        let refused: RecordsResponse = try await fixture.call(
            .modifyRecords, in: .public, change, as: fixture.bob)
        #expect(refused.records.first?.code == "ACCESS_DENIED")
        let changes = await fixture.send(
            .databaseChanges, in: .public, as: fixture.ada, body: Array("{}".utf8))
        #expect(changes.status == 400)
    }
}
