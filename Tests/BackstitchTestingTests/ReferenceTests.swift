import BackstitchCore
import BackstitchTesting
import TestBudget
import Testing

@Suite(.budgeted) struct ReferenceTests {
    @Test func `a child before its parent in one request is saved`() async throws {
        let fixture = try await Fixture()
        let results = try await fixture.modify(
            [Fixture.child("child", of: "parent"), Fixture.creation("parent")], atomic: true)
        #expect(results.allSatisfy { $0.isSaved })
    }

    @Test func `a child without its parent is refused`() async throws {
        let fixture = try await Fixture()
        let results = try await fixture.modify(
            [Fixture.child("child", of: "parent"), Fixture.creation("other")])
        #expect(results.map(\.code) == [.referenceViolation, nil])
        #expect(fixture.names == ["other"])
    }

    @Test func `a child whose parent fails in the same request is refused`() async throws {
        let fixture = try await Fixture()
        let results = try await fixture.modify([
            Fixture.child("grandchild", of: "child"), Fixture.child("child", of: "parent"),
            Fixture.creation("parent", ["": .int64(1)]),
        ])
        let codes: [ServiceError.Code?] = [
            .referenceViolation, .referenceViolation, .invalidRequest,
        ]
        #expect(results.map(\.code) == codes)
        #expect(fixture.names == [])
        #expect(try await fixture.page().records.isEmpty)
    }

    @Test func `parent and child are deleted in one request, the parent first`() async throws {
        let fixture = try await Fixture()
        _ = try await fixture.modify(
            [Fixture.creation("parent"), Fixture.child("child", of: "parent")])
        let results = try await fixture.modify(
            [fixture.deletion("parent"), fixture.deletion("child")], atomic: true)
        #expect(results == [.deleted, .deleted])
    }

    @Test func `a parent is not deleted without its child`() async throws {
        let fixture = try await Fixture()
        _ = try await fixture.modify(
            [Fixture.creation("parent"), Fixture.child("child", of: "parent")])
        let parent = fixture.cloud.record(named: "parent", in: fixture.zone)
        let results = try await fixture.modify(
            [fixture.deletion("parent"), Fixture.creation("other")], atomic: true)
        #expect(results.map(\.code) == [.referenceViolation, .batchFailed])
        #expect(fixture.cloud.record(named: "parent", in: fixture.zone) == parent)
    }

    @Test func `a parent is deleted when its child lets go in the same request`() async throws {
        let fixture = try await Fixture()
        _ = try await fixture.modify(
            [Fixture.creation("parent"), Fixture.child("child", of: "parent")])
        let results = try await fixture.modify(
            [fixture.deletion("parent"), fixture.update("child", ["parent": .null])])
        #expect(results.map(\.code) == [nil, nil])
        #expect(fixture.names == ["child"])
    }

    @Test func `of a delete and a new reference to its record, the later one fails`() async throws {
        let fixture = try await Fixture()
        try await fixture.create("parent")
        let delete = fixture.deletion("parent")
        let child = Fixture.child("child", of: "parent")
        let expected: [ServiceError.Code?] = [nil, .referenceViolation]
        #expect(try await fixture.modify([child, delete]).map(\.code) == expected)
        _ = try await fixture.modify([fixture.deletion("child")])
        #expect(try await fixture.modify([delete, child]).map(\.code) == expected)
    }

    @Test func `a cascade takes along what the same request deletes and not what it updates`()
        async throws
    {
        let fixture = try await Fixture()
        _ = try await fixture.modify([
            Fixture.creation("root"), Fixture.child("a", of: "root", .deleteSelf),
            Fixture.child("b", of: "root", .deleteSelf),
        ])
        let results = try await fixture.modify([
            fixture.deletion("root"), fixture.deletion("a"),
            fixture.update("b", ["title": .string("two")]),
        ])
        #expect(results.map(\.code) == [nil, nil, .unknownItem])
        #expect(fixture.names == [])
        #expect(try await fixture.page().deletions.count == 3)
    }

    @Test func `a cascade is refused where a validating reference forbids it`() async throws {
        let fixture = try await Fixture()
        _ = try await fixture.modify([
            Fixture.creation("root"), Fixture.child("middle", of: "root", .deleteSelf),
            Fixture.child("leaf", of: "middle", .validate),
        ])
        #expect(try await fixture.modify(fixture.deletion("root"))?.code == .referenceViolation)
        #expect(fixture.names == ["leaf", "middle", "root"])
    }

    @Test func `references in lists count`() async throws {
        let fixture = try await Fixture()
        let list = ServiceValue.list([
            .reference(ServiceReference(recordName: "a", action: .deleteSelf)),
            .reference(ServiceReference(recordName: "b", action: .deleteSelf)),
        ])
        _ = try await fixture.modify([
            Fixture.creation("a"), Fixture.creation("b"), Fixture.creation("c", ["all": list]),
        ])
        _ = try await fixture.modify([fixture.deletion("b")])
        #expect(fixture.names == ["a"])
    }

    @Test func `only so many records may refer to one with delete self`() async throws {
        var options = SimulatedCloud.Options()
        options.deleteSelfSourcesMax = 2
        let fixture = try await Fixture(options: options)
        try await fixture.create("root")
        for name in ["a", "b"] {
            let result = try await fixture.modify(Fixture.child(name, of: "root", .deleteSelf))
            #expect(result?.isSaved == true)
        }
        let third = try await fixture.modify(Fixture.child("c", of: "root", .deleteSelf))
        #expect(third?.code == .referenceViolation)
        #expect(fixture.names == ["a", "b", "root"])
    }

    @Test(arguments: 0..<40)
    func `links stay right through random requests`(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let fixture = try await Fixture()
        let names = (0..<8).map { "r\($0)" }
        let actions: [ServiceReference.Action] = [.none, .deleteSelf, .validate]
        for _ in 0..<60 {
            var operations: [RecordModification] = []
            for name in names where random.next() % 3 == 0 {
                let target = names[Int(random.next() % 8)]
                let reference = ServiceReference(
                    recordName: target, action: actions[Int(random.next() % 3)])
                let fields: NamedFields = [
                    "parent": random.next() % 3 == 0 ? .null : .reference(reference)
                ]
                switch (fixture.tag(name).isEmpty, random.next() % 3) {
                case (true, _): operations.append(Fixture.creation(name, fields))
                case (false, 0): operations.append(fixture.deletion(name))
                default: operations.append(fixture.update(name, fields))
                }
            }
            let before = fixture.cloud.records(in: fixture.zone)
            let atomic = random.next() % 2 == 0
            let results = try await fixture.modify(operations, atomic: atomic)
            let records = fixture.cloud.records(in: fixture.zone)
            if results.contains(where: { $0.code != nil }) && atomic {
                #expect(records == before)
            }
            let alive = Set(records.map(\.recordName))
            for record in records {
                guard case .reference(let reference)? = record.fields["parent"],
                    reference.action == .validate
                else { continue }
                #expect(alive.contains(reference.recordName))
            }
        }
        var live: Set<String> = []
        var token: String?
        while true {
            let page = try await fixture.page(since: token, limit: 3)
            for record in page.records { live.insert(record.recordName) }
            for deletion in page.deletions { live.remove(deletion.recordName) }
            token = page.token
            if !page.moreComing { break }
        }
        #expect(live.sorted() == fixture.names)
    }
}
