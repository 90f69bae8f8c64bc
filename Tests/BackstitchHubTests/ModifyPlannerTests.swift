import BackstitchCore
import CloudKitWire
import Foundation
import TestBudget
import Testing

@testable import BackstitchHubCore

/// A zone in memory.
private struct ZoneModel: ZoneView {
    var records: [String: StoredRecord] = [:]

    func record(_ name: String) -> StoredRecord? { records[name] }

    func visitSources(
        of target: String, _ kind: RecordLink.Kind, _ visit: (String) throws -> Bool
    ) throws {
        let link = RecordLink(target: target, kind: kind)
        for name in records.keys.sorted() {
            guard let record = records[name], !record.isDeleted,
                RecordLink.links(of: try record.fields(), parent: record.parent).contains(link)
            else { continue }
            guard try visit(name) else { return }
        }
    }

    func uploadedAsset(receipt: String, recordName: String, fieldName: String) -> ServiceAsset? {
        receipt == "paid" ? ServiceAsset(fileChecksum: "sum", size: 1) : nil
    }

    /// Plans operations, and carries the plan out.
    mutating func run(
        _ operations: WireRecordOperation..., atomic: Bool = false, now: Int64 = 100,
        bytesLeft: Int64? = nil
    ) throws -> ModifyPlan {
        let sequence = records.values.map(\.sequence).max() ?? 0
        let planner = ModifyPlanner(
            view: self,
            context: ModifyContext(
                isPublic: false, user: "_u", now: now, tagSuffix: "abcd", sequence: sequence,
                limits: HubLimits(), bytesLeft: bytesLeft))
        let plan = try planner.plan(operations, isAtomic: atomic)
        for write in plan.writes {
            #expect(write.before == records[write.after.recordName])
            records[write.after.recordName] = write.after
        }
        return plan
    }
}

extension ModifyPlan.Result {
    fileprivate var code: WireErrorCode? {
        if case .failed(_, let error) = self { error.code } else { nil }
    }
}

@Suite("What a request does to records, by value", .budgeted)
struct ModifyPlannerTests {
    private static func create(
        _ name: String, to target: String? = nil, _ action: ServiceReference.Action = .deleteSelf
    ) -> WireRecordOperation {
        let reference = target.map {
            ServiceValue.reference(ServiceReference(recordName: $0, action: action))
        }
        return WireRecordOperation(
            .create, HubFixture.record(name, reference.map { ["link": $0] } ?? [:]))
    }

    /// Sets the fields of the record "r" to values as they stand in JSON.
    private static func update(json: [String: String]) throws -> WireRecordOperation {
        var record = HubFixture.record("r")
        for (name, text) in json {
            record.fields[name] = try WireField(
                json: JSONObject(body: Array(text.utf8)), name: name)
        }
        return WireRecordOperation(.forceUpdate, record)
    }

    @Test func `a value without a type takes the type of its field`() throws {
        var zone = ZoneModel()
        let fields: [String: ServiceValue] = [
            "at": .timestamp(milliseconds: 1), "share": .double(0.5), "bytes": .bytes(Data([1])),
            "count": .int64(1), "text": .string("a"),
        ]
        _ = try zone.run(WireRecordOperation(.create, HubFixture.record("r", fields)))
        _ = try zone.run(
            try Self.update(json: [
                "at": #"{"value":2}"#, "share": #"{"value":3}"#, "bytes": #"{"value":"AgM="}"#,
                "count": #"{"value":4}"#, "text": #"{"value":"b"}"#, "new": #"{"value":5}"#,
            ]))
        let expected: [String: ServiceValue] = [
            "at": .timestamp(milliseconds: 2), "share": .double(3), "bytes": .bytes(Data([2, 3])),
            "count": .int64(4), "text": .string("b"), "new": .int64(5),
        ]
        #expect(try zone.records["r"]?.fields() == expected.mapValues { WireField($0) })
        _ = try zone.run(
            try Self.update(json: [
                "at": #"{"value":6,"type":"INT64"}"#, "bytes": #"{"value":"no base64"}"#,
            ]))
        let changed = try #require(try zone.records["r"]?.fields())
        #expect(changed["at"]?.value == .int64(6))
        #expect(changed["bytes"]?.value == .string("no base64"))
    }

    private static func delete(_ name: String) -> WireRecordOperation {
        WireRecordOperation(.forceDelete, HubFixture.record(name))
    }

    @Test("each change has the next place in the feed, its own tag, and a later time")
    func stamps() throws {
        var zone = ZoneModel()
        _ = try zone.run(Self.create("a"), Self.create("b"))
        #expect(zone.records["a"]?.changeTag == "1abcd")
        #expect(zone.records["b"]?.sequence == 2)
        _ = try zone.run(Self.delete("a"), now: 50)
        #expect(zone.records["a"]?.modified == 101)
        _ = try zone.run(Self.create("a"), now: 50)
        let again = try #require(zone.records["a"])
        #expect(again.modified == 102 && again.created == 102 && again.changeTag == "4abcd")
    }

    @Test("a circle of DELETE_SELF goes as a whole, each record once")
    func circles() throws {
        var zone = ZoneModel()
        _ = try zone.run(
            Self.create("a", to: "c"), Self.create("b", to: "a"), Self.create("c", to: "b"),
            Self.create("self", to: "self"))
        let plan = try zone.run(Self.delete("b"), Self.delete("self"))
        #expect(plan.writes.map(\.after.recordName) == ["b", "c", "a", "self"])
        #expect(plan.writes.allSatisfy { $0.after.isDeleted && $0.linksAfter.isEmpty })
    }

    @Test("a record that another operation deleted by a cascade is not found by a later one")
    func cascadesBeforeUpdates() throws {
        var zone = ZoneModel()
        _ = try zone.run(Self.create("parent"), Self.create("child", to: "parent"))
        let update = WireRecordOperation(
            .forceUpdate, HubFixture.record("child", ["x": .int64(1)]))
        let plan = try zone.run(Self.delete("parent"), update)
        #expect(plan.results.map(\.code) == [nil, .notFound])
        #expect(zone.records["child"]?.isDeleted == true)
    }

    @Test("a record that is moved away in the same request is not deleted with its old target")
    func movedAway() throws {
        var zone = ZoneModel()
        _ = try zone.run(
            Self.create("old"), Self.create("new"), Self.create("child", to: "old"))
        let reference = ServiceValue.reference(
            ServiceReference(recordName: "new", action: .deleteSelf))
        let move = WireRecordOperation(
            .forceUpdate, HubFixture.record("child", ["link": reference]))
        _ = try zone.run(move, Self.delete("old"))
        #expect(zone.records["child"]?.isDeleted == false)
        #expect(zone.records["old"]?.isDeleted == true)
    }

    @Test("what fails takes down those that depend on it, and nothing else")
    func dependents() throws {
        var zone = ZoneModel()
        _ = try zone.run(Self.create("taken"))
        let plan = try zone.run(
            Self.create("x", to: "y", .validate), Self.create("y", to: "z", .validate),
            Self.create("z", to: "missing", .validate), Self.create("taken"), Self.create("free"))
        let violated = WireErrorCode.validatingReferenceError
        #expect(plan.results.map(\.code) == [violated, violated, violated, .exists, nil])
        #expect(plan.writes.map(\.after.recordName) == ["free"])
    }

    @Test("links and files are counted from the record before to the record after")
    func differences() throws {
        var zone = ZoneModel()
        let upload = WireRecordOperation(
            .create, HubFixture.record("a", ["f": .asset(ServiceAsset(receipt: "paid"))]))
        let first = try zone.run(upload)
        #expect(first.writes[0].assetsAfter == ["sum"] && first.writes[0].assetsBefore.isEmpty)
        let kept = WireRecordOperation(
            .forceUpdate, HubFixture.record("a", ["f": .asset(ServiceAsset(fileChecksum: "sum"))]))
        let second = try zone.run(kept)
        #expect(second.writes[0].assetsBefore == ["sum"] && second.writes[0].assetsAfter == ["sum"])
        let third = try zone.run(Self.delete("a"))
        #expect(third.writes[0].assetsBefore == ["sum"] && third.writes[0].assetsAfter.isEmpty)
    }

    @Test("what would not fit into the space is refused, and deletes make room for what follows")
    func space() throws {
        var zone = ZoneModel()
        func record(_ name: String, _ count: Int) -> WireRecord {
            HubFixture.record(name, ["t": .string(String(repeating: "x", count: count))])
        }
        let first = try zone.run(.init(.create, record("a", 100)), bytesLeft: 150)
        let size = try first.growth()
        #expect(size > 100 && size < 150)
        let full = WireErrorCode.quotaExceeded
        let refused = try zone.run(
            .init(.create, record("b", 100)), .init(.create, record("c", 1)),
            .init(.forceUpdate, record("a", 99)), bytesLeft: size - 1)
        #expect(refused.results.map(\.code) == [full, nil, nil])
        let room = try zone.run(
            .init(.create, record("b", 100)), .init(.forceDelete, record("a", 0)),
            .init(.create, record("d", 99)), bytesLeft: 0)
        #expect(room.results.map(\.code) == [full, nil, nil])
        #expect(try room.growth() == 0)
        let atomic = try zone.run(
            .init(.create, record("x", 0)), .init(.create, record("y", 0)), atomic: true,
            bytesLeft: 40)
        #expect(atomic.results.map(\.code) == [.atomicError, full] && atomic.writes.isEmpty)
        let file = WireRecordOperation(
            .create, HubFixture.record("e", ["f": .asset(ServiceAsset(receipt: "paid"))]))
        let held = try zone.run(file)
        #expect(try held.growth() == Int64(held.writes[0].after.fieldsJSON.count) + 2)
    }

    @Test("a stored record is read as it was written, and damage is noticed")
    func storedRecords() throws {
        var record = StoredRecord(recordName: "r", recordType: "T")
        record.changeTag = "1abcd"
        record.sequence = .max
        record.created = -1
        record.modified = .max
        record.createdBy = "_u"
        record.parent = "p"
        record.hasLinks = true
        record.fieldsJSON = Array(#"{"x":{"value":1,"type":"INT64"}}"#.utf8)
        let stored = record.stored
        let reread = try stored.withUnsafeBytes { try StoredRecord(recordName: "r", stored: $0) }
        #expect(reread == record)
        for index in stored.indices {
            var damaged = stored
            damaged[index] ^= 1
            #expect(throws: HubError.self) {
                try damaged.withUnsafeBytes { try StoredRecord(recordName: "r", stored: $0) }
            }
        }
        for count in 0..<stored.count {
            #expect(throws: HubError.self) {
                try stored.prefix(count).withUnsafeBytes {
                    try StoredRecord(recordName: "r", stored: $0)
                }
            }
        }
    }

    @Test(
        "dates of signatures are read strictly",
        arguments: [
            ("1970-01-01T00:00:00Z", 0), ("2000-02-29T12:34:56Z", 951_827_696_000),
            ("2024-12-31T23:59:59Z", 1_735_689_599_000), ("2016-13-01T00:00:00Z", nil),
            ("2016-01-25T22:15:43.5Z", nil), ("2016-01-25 22:15:43Z", nil), ("", nil),
            ("２016-01-25T22:15:43Z", nil), ("2016-01-25T24:00:00Z", nil),
        ] as [(String, Int64?)])
    func dates(text: String, milliseconds: Int64?) {
        #expect(SignedDate.milliseconds(text) == milliseconds)
    }

    @Test("targets are decoded, and what climbs or hides something is refused")
    func targets() {
        let target = RequestTarget("/a%20b/c?x=1%2B2&x=3&y=a+b&z")
        #expect(target?.path == ["a b", "c"])
        #expect(target?.query == ["x": "1+2", "y": "a b", "z": ""])
        for bad in ["", "a", "/%2e%2E/x", "/a%2fb", "/%00", "/%ff", "/a\u{1}", "/?%zz", "/.."] {
            #expect(RequestTarget(bad) == nil, "\(bad)")
        }
    }
}
