import BackstitchCore
import BackstitchTesting
import Foundation
import TestBudget
import Testing

@Suite(.budgeted) struct ServerRuleTests {
    @Test func `mutating a record returned does not mutate the database`() async throws {
        let fixture = try await Fixture()
        try await fixture.create("a")
        var page = try await fixture.page()
        page.records[0].fields["title"] = .string("changed")
        page.records[0].changeTag = "changed"
        #expect(try await fixture.page().records != page.records)
        #expect(
            fixture.cloud.record(named: "a", in: fixture.zone)?.fields == ["title": .string("one")])
    }

    @Test func `save in an unknown zone and of an unknown record`() async throws {
        let fixture = try await Fixture()
        let thrown = await code { () async throws(ServiceError) in
            _ = try await fixture.phone.modifyRecords(
                [Fixture.creation("a")], in: ZoneID("none"), atomic: true)
        }
        #expect(thrown == .zoneNotFound)
        let update = RecordModification.update(
            recordName: "none", recordType: "Note", changeTag: "1", fields: [:])
        #expect(try await fixture.modify(update)?.code == .unknownItem)
    }

    @Test func `users do not see each other's zones`() async throws {
        let fixture = try await Fixture()
        try await fixture.create("a")
        let other = fixture.cloud.connection(user: "other", device: "tablet")
        #expect(try await other.databaseChanges(since: nil).changedZones == [])
        let thrown = await code { () async throws(ServiceError) in
            _ = try await other.lookUpRecords(["a"], in: fixture.zone)
        }
        #expect(thrown == .zoneNotFound)
        try await other.createZone(fixture.zone)
        #expect(try await other.lookUpRecords(["a"], in: fixture.zone) == [.notFound])
        #expect(fixture.names == ["a"])
    }

    @Test func `a zone named with its owner is the user's own`() async throws {
        let fixture = try await Fixture()
        try await fixture.create("a")
        let named = ZoneID("notes", ownerName: "user")
        let found = try await fixture.phone.lookUpRecords(["a"], in: named)
        #expect(found.first != .notFound)
        let foreign = ZoneID("notes", ownerName: "other")
        let thrown = await code { () async throws(ServiceError) in
            try await fixture.phone.createZone(foreign)
        }
        #expect(thrown == .permissionDenied)
    }

    @Test func `requests are limited by count and by bytes`() async throws {
        let limits = ServiceLimits(operationsPerRequest: 3, recordBytes: 100, requestBytes: 150)
        let fixture = try await Fixture(limits: limits)
        let large = { (name: String, count: Int) in
            Fixture.creation(name, ["text": .string(String(repeating: "x", count: count))])
        }
        for operations in [
            ["a", "b", "c", "d"].map { Fixture.creation($0) }, [large("a", 80), large("b", 80)],
        ] {
            do throws(ServiceError) {
                _ = try await fixture.modify(operations)
                Issue.record("the request is refused")
            } catch {
                #expect(error.code == .limitExceeded && error.retryAfterSeconds == nil)
            }
        }
        let results = try await fixture.modify([large("a", 10), large("b", 92), large("c", 10)])
        #expect(results.map(\.code) == [nil, .limitExceeded, nil])
        let fits = fixture.update("a", ["more": .string(String(repeating: "x", count: 71))])
        #expect(try await fixture.modify(fits)?.code == nil)
        let over = fixture.update("a", ["even": .string("xxx")])
        #expect(try await fixture.modify(over)?.code == .limitExceeded)
        #expect(fixture.names == ["a", "c"])
        fixture.cloud.limits.operationsPerRequest = 4
        #expect(await fixture.phone.limits.operationsPerRequest == 4)
    }

    @Test func `a declared schema refuses what it does not know`() async throws {
        var options = SimulatedCloud.Options()
        options.declaredSchema = ["Note": ["title": .value(.string), "tags": .list(.string)]]
        let fixture = try await Fixture(options: options)
        let results = try await fixture.modify([
            Fixture.creation("a", ["title": .string("x"), "tags": .list([.string("y")])]),
            Fixture.creation("b", ["title": .int64(1)]),
            Fixture.creation("c", ["body": .string("x")]),
            .create(recordName: "d", recordType: "Task", fields: [:]),
            Fixture.creation("e", ["title": .null, "tags": .list([])]),
            Fixture.creation("f", ["tags": .list([.int64(1)])]),
        ])
        let refused = ServiceError.Code.invalidRequest
        #expect(results.map(\.code) == [nil, refused, refused, refused, nil, refused])
    }

    @Test func `a field keeps the type of its first value, unless told otherwise`() async throws {
        let fixture = try await Fixture()
        let results = try await fixture.modify([
            Fixture.creation("a", ["n": .int64(1), "tags": .list([]), "none": .null]),
            Fixture.creation("b", ["n": .string("1")]),
            Fixture.creation("c", ["n": .double(1)]),
            Fixture.creation("d", ["n": .null, "tags": .list([.string("x")])]),
            Fixture.creation("e", ["tags": .list([.int64(1)])]),
            Fixture.creation("f", ["none": .bytes(Data([1])), "n": .int64(2)]),
            .create(recordName: "g", recordType: "Task", fields: ["n": .string("1")]),
        ])
        let refused = ServiceError.Code.invalidRequest
        #expect(results.map(\.code) == [nil, refused, refused, nil, refused, nil, nil])
        guard case .failed(let error) = results[1] else { return }
        #expect(error.message.contains("'n'"))
        #expect(error.message.contains("STRING"))
        #expect(error.message.contains("INT64"))
        // Neither the end of all records nor another user changes that.
        _ = try await fixture.modify(fixture.deletion("a"))
        let late = try await fixture.modify(Fixture.creation("h", ["tags": .list([.double(1)])]))
        #expect(late?.code == refused)
        #expect(throws: ServiceError.self) {
            try fixture.cloud.write(
                "i", type: "Note", fields: ["n": .string("")], in: fixture.zone)
        }
        // What fails decides nothing.
        fixture.cloud.options.keepsFieldTypes = false
        let taken = try await fixture.modify(Fixture.creation("j", ["n": .string("")]))
        #expect(taken?.isSaved == true)
        fixture.cloud.options.keepsFieldTypes = true
        let again = try await fixture.modify(Fixture.creation("k", ["n": .string("")]))
        #expect(again?.code == refused)
        fixture.cloud.wipe()
    }

    @Test func `values must be ones that a server can keep`() async throws {
        let fixture = try await Fixture()
        let values: [ServiceValue] = [
            .double(.nan), .double(.infinity), .list([.string("a"), .int64(1)]),
            .list([.list([.int64(1)])]), .list([.null]),
        ]
        for value in values {
            let result = try await fixture.modify(Fixture.creation("a", ["x": value]))
            #expect(result?.code == .invalidRequest)
        }
        #expect(try await fixture.modify(Fixture.creation("a", ["x": .list([])]))?.isSaved == true)
    }

    @Test func `deletions tell the type, or keep it to themselves`() async throws {
        let fixture = try await Fixture()
        try await fixture.create("a")
        _ = try await fixture.modify(fixture.deletion("a"))
        let told = ServiceDeletion(recordName: "a", recordType: "Note")
        #expect(try await fixture.page().deletions == [told])
        fixture.cloud.options.deletionsCarryType = false
        #expect(try await fixture.page().deletions == [ServiceDeletion(recordName: "a")])
    }

    @Test func `the feed keeps each record once however often it changes`() async throws {
        let fixture = try await Fixture()
        try await fixture.create("a", "b")
        for round in 0..<1_000 {
            let update = fixture.update("a", ["round": .int64(Int64(round))])
            #expect(try await fixture.modify(update)?.isSaved == true)
        }
        let page = try await fixture.page(limit: 1)
        #expect(page.records.map(\.recordName) == ["b"] && page.moreComing)
        let next = try await fixture.page(since: page.token, limit: 1)
        #expect(next.records.first?.fields["round"] == .int64(999) && !next.moreComing)
    }
}
