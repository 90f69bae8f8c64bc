import Backstitch
import BackstitchCore
import BackstitchSync
import Foundation
import TestBudget
import Testing

@testable import BackstitchStore

/// What the service can deliver: one bad record is rejected or kept as unreadable, and never stops
/// the others.
@Suite(.budgeted) struct BadInputServiceTests {
    let store: Store

    init() throws { store = try Store.inMemory(schema: .all) }

    private func merge(
        _ fields: NamedFields, type: String = "Everything", name: String = "x",
        tag: String = "1"
    ) async throws -> MergeResult {
        let record = ServiceRecord(
            recordName: name, recordType: type, changeTag: tag, modifiedMilliseconds: 1,
            fields: fields)
        return try await store.withLogWriter { try $0.merge(record, policy: .serverWins) }
    }

    private func expectRejected(_ result: MergeResult, naming culprit: String) throws {
        guard case .rejected(let reason) = result else {
            Issue.record("It was not rejected but \(result).")
            return
        }
        #expect(reason.contains(culprit), "\(reason)")
        #expect(try store.head == 0)
    }

    @Test(arguments: ["", "_x", String(repeating: "x", count: 256)])
    func `an impossible record name`(name: String) async throws {
        try expectRejected(try await merge([:], name: name), naming: "record name")
        try await store.withLogWriter { try FullFetch($0, in: 0).markSeen(name) }
    }

    @Test(arguments: ["", String(repeating: "x", count: 256)])
    func `an impossible change tag, type or field name`(text: String) async throws {
        try expectRejected(try await merge([:], tag: text), naming: "change tag")
        try expectRejected(try await merge([:], type: text), naming: "type")
        try expectRejected(try await merge([text: .int64(1)]), naming: "field")
        #expect(store.catalog.entities.count == StoreSchema.all.entities.count)
    }

    @Test func `values that can't be stored`() async throws {
        let long = String(repeating: "x", count: _FieldWriter.fieldBytesMax + 1)
        for value in [
            .string(long), .bytes(Data(long.utf8)), .list([.string(long)]), .list([.list([])]),
        ] as [ServiceValue] {
            try expectRejected(try await merge(["string": value]), naming: "string")
        }
    }

    @Test(
        arguments: [
            ("int16", .int64(40_000)), ("int32", .int64(.max)), ("bool", .int64(2)),
            ("int", .double(1.5)), ("int", .string("1")), ("string", .int64(1)),
            ("float", .double(1e300)), ("uuid", .string("none")), ("date", .int64(1)),
            ("decimal", .string("12abc")), ("decimal", .string("")), ("reference", .string("x")),
            ("reference", .reference(ServiceReference(recordName: "_x"))),
            ("reference", .reference(ServiceReference(recordName: ""))),
            ("data", .list([.int64(1)])), ("url", .string("")),
        ] as [(String, ServiceValue)])
    func `a value that does not fit its type keeps the record, unread`(
        name: String, value: ServiceValue
    ) async throws {
        #expect(try await merge([name: value]) == .applied)
        #expect(try await merge(["int": .int64(1)], name: "good") == .applied)
        #expect(try store.read { try $0.fetch(Everything.self).map(\.id) } == ["good"])
        let error = failure { try store.read { _ = try $0.find(Everything.self, "x") } }
        #expect(error == nil || error?.code == .unreadable)
        if let error { #expect(error.message.contains(name)) }
        try await store.expectConsistent()
        // A later version that fits mends it.
        #expect(try await merge([:], tag: "2") == .applied)
        #expect(try store.read { try $0.count(Everything.self) } == 2)
        try await store.expectConsistent()
    }

    @Test(arguments: [[:], ["name": .null], ["name": .double(.nan)]] as [NamedFields])
    func `a mandatory field that is missing`(fields: NamedFields) async throws {
        #expect(try await merge(fields, type: "Department") == .applied)
        #expect(try await merge(["name": .string("x")], type: "Department", name: "y") == .applied)
        #expect(try store.read { try $0.fetch(Department.self).map(\.id) } == ["y"])
        let error = failure { try store.read { _ = try $0.find(Department.self, "x") } }
        #expect(error?.code == .unreadable)
        #expect(error?.message.contains("name") == true)
        try await store.expectConsistent()
    }

    @Test func `numbers that are none count as absent`() async throws {
        let nowhere = GeoLocation(latitude: .nan, longitude: 0)
        #expect(
            try await merge(["double": .double(.infinity), "where": .location(nowhere)]) == .applied
        )
        #expect(try store.read { try $0.find(Everything.self, "x") }?.double == 0)
    }

    @Test func `unknown fields and types are kept`() async throws {
        #expect(try await merge(["new": .string("kept"), "int": .int64(1)]) == .applied)
        #expect(try await merge(["f": .list([.int64(1)])], type: "New", name: "n") == .applied)
        #expect(try store.read { try $0.find(Everything.self, "x") }?.int == 1)
        #expect(store.catalog.entities.last?.attribute(named: "f") != nil)
        try await store.expectConsistent()
    }

    @Test func `more names than a store can number`() async throws {
        let fields = NamedFields(
            (0...Catalog.undeclaredMax).map { (key: "f\($0)", value: ServiceValue.int64(1)) })
        #expect(try await merge(fields.merging(["int": .int64(1)])) == .applied)
        #expect(try store.read { try $0.find(Everything.self, "x") }?.int == 1)
        #expect(try store.info().incompleteRecords == 1)
        try await store.expectConsistent()
        // A version with names that there are numbers for is whole.
        #expect(try await merge(["int": .int64(2)], tag: "2") == .applied)
        #expect(try store.info().incompleteRecords == 0)
        let types = Set((0..<Catalog.undeclaredMax).map { "T\($0)" })
        try await store.withLogWriter { try $0.catalogChanges.numberTables(named: types) }
        let head = try store.head
        let result = try await merge(["f": .int64(1)], type: "Another", name: "y")
        guard case .unnumbered(let reason) = result else {
            Issue.record("It was not left out but \(result).")
            return
        }
        #expect(reason.contains("\(Catalog.undeclaredMax)"))
        #expect(try store.head == head)
        #expect(try store.info().incompleteRecords == 1)
    }

    @Test func `clearing a reference of an unreadable record keeps it unread`() async throws {
        try await store.write { try $0.save(Employee(id: "e", name: "", email: "")) }
        let lead = ServiceValue.reference(ServiceReference(recordName: "e"))
        #expect(try await merge(["lead": lead], type: "Project") == .applied)
        try await store.write { try $0.delete(Employee.ID("e")) }
        #expect(try store.read { try $0.fetch(Project.self) } == [])
        try await store.expectConsistent()
    }
}
