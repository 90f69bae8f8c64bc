import Backstitch
import BackstitchCore
import Foundation
import TestBudget
import Testing

@testable import BackstitchStore
@testable import BackstitchSync

@Suite(.budgeted) struct DynamicOpeningTests {
    let fixture: DynamicFixture

    init() throws { fixture = try DynamicFixture() }

    @Test(arguments: StoreConfiguration.Access.allCases)
    func `a path without a store is refused and stays as it is`(access: StoreConfiguration.Access)
        throws
    {
        let before = try fixture.files()
        let missing = #expect(throws: StoreError.self) { try fixture.dynamic(access) }
        #expect(missing?.code == .notAStore)
        #expect(try fixture.files() == before)
    }

    @Test func `a store that is open for reading only can't be written`() async throws {
        try fixture.write { _ in }
        let store = try fixture.dynamic()
        defer { store.close() }
        let error = await #expect(throws: StoreError.self) { try await store.rebuild() }
        #expect(error?.code == .inaccessible)
    }

    @Test func `reading changes neither the data file nor the catalog`() throws {
        try fixture.write { transaction in
            try transaction.save(DynamicAuthor(id: .named("ada"), name: "Ada"))
        }
        let before = try fixture.files()["store/data.mdb"]
        let store = try fixture.dynamic()
        _ = try store.info()
        _ = try store.operations(limit: 9)
        #expect(try store.verify().isConsistent)
        store.close()
        #expect(try fixture.files()["store/data.mdb"] == before)
    }

    @Test func `a store without its types can be rebuilt`() async throws {
        try fixture.write { transaction in
            try transaction.save(DynamicAuthor(id: .named("ada"), name: "Ada"))
        }
        let store = try fixture.dynamic(.readWrite)
        defer { store.close() }
        let report = try await store.rebuild()
        #expect(report.isIdentical)
        #expect(report.operations == 1)
    }

    @Test func `a store that is open with its types is shared`() throws {
        let typed = try fixture.typed()
        defer { typed.close() }
        let store = try fixture.dynamic(.readWrite)
        defer { store.close() }
        try typed.write { _ = try $0.save(DynamicAuthor(id: .named("ada"), name: "Ada")) }
        #expect(try store.read { try $0.count(of: "Author") } == 1)
        let error = #expect(throws: StoreError.self) { try fixture.dynamic(.readOnly) }
        #expect(error?.code == .openOtherwise)
    }

    @Test func `names that another handle numbers are seen and not given twice`() async throws {
        let first = try fixture.typed()
        let second = try fixture.typed()
        let dynamic = try fixture.dynamic(.readWrite)
        for (store, field) in [(first, "one"), (second, "two"), (first, "three")] {
            try await store.withLogWriter { context in
                _ = try context.merge(
                    ServiceRecord(
                        recordName: field, recordType: "Author", changeTag: "t",
                        modifiedMilliseconds: 1,
                        fields: ["name": .string("x"), field: .string(field)]),
                    policy: .serverWins)
            }
            let values = try dynamic.read { try $0.record(field, of: "Author")?.values }
            #expect(values == ["name": .string("x"), field: .string(field)])
        }
        #expect(try dynamic.verify().isConsistent)
        for store in [first, second, dynamic] { store.close() }
    }

    @Test func `the information counts what there is`() async throws {
        let typed = try fixture.typed()
        try await typed.write { transaction in
            try transaction.save(DynamicAuthor(id: .named("ada"), name: "Ada"))
            try transaction.save(DynamicAuthor(id: .named("bob"), name: "Bob"))
            try transaction.delete(DynamicAuthor.ID.named("bob"))
        }
        try await typed.withLogWriter { context in
            try context.marks.park(
                EntityNumber(1), RecordKey(.text("ada")), through: 1,
                reason: "too large")
            var zone = ZoneState()
            zone.isSetUp = true
            zone.zoneToken = "a secret token"
            zone.userName = "somebody"
            try context.setZoneState(zone, "Notes")
        }
        typed.close()
        let store = try fixture.dynamic()
        defer { store.close() }
        let info = try store.info()
        #expect(info.storeID == store.catalog.storeID)
        #expect(info.formatVersion == 1)
        #expect(
            info.entities == [
                .init(name: "Author", isDeclared: true, records: 1, tombstones: 1, unreadable: 0),
                .init(name: "Book", isDeclared: true, records: 0, tombstones: 0, unreadable: 0),
            ])
        #expect(info.lastSequence == 4)
        #expect(info.operations == 4)
        #expect(info.outbox.pendingRecords == 1)
        #expect(info.outbox.pendingOperations == 2)
        #expect(info.outbox.parkedRecords == 1)
        #expect(
            info.parked == [
                .init(
                    record: RecordID(entity: "Author", name: "ada"), sequence: 4,
                    reason: "too large")
            ])
        #expect(
            info.zones == [
                .init(
                    zone: .own, name: "Notes", owner: nil, database: .private, isSetUp: true,
                    hasToken: true, needsPull: true, isFullFetch: false, suspension: nil,
                    retryDate: nil, records: 1, pendingRecords: 1, parkedRecords: 1)
            ])
        #expect(!"\(info)".contains("secret"))
        #expect(info.space.fileBytes >= info.space.usedPages * info.space.pageBytes)
        #expect(info.space.mapBytes >= info.space.fileBytes)
        #expect(info.durability == .full)
    }
}
