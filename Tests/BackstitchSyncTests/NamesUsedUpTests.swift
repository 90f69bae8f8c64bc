import Backstitch
import BackstitchCore
@testable import BackstitchStore
import BackstitchSync
import BackstitchTesting
import TestBudget
import Testing

/// A note with fields that an older version of the schema does not declare.
@Entity("Note") struct WiderNote: Equatable {
    var id = ID()
    var title: String
    var body: String?
    var zz: String?
}

/// A type that an older version of the schema does not declare.
@Entity("Zebra") struct Zebra: Equatable {
    var id = ID()
    var name: String
}

/// More names of types and fields on the service than a store can number.
@Suite(.budgeted, .serialized) struct NamesUsedUpTests {
    private let cloud = SimulatedCloud(limits: ServiceLimits(recordsPerPage: 500))

    /// Makes records of unknown types, or notes with unknown fields.
    private func write(types: Int = 0, fields: Int = 0) throws {
        for number in 0..<types {
            try cloud.write(
                "t\(number)", type: "Type\(number)", fields: ["x": .int64(1)], in: scenarioZone)
        }
        for start in stride(from: 0, to: fields, by: 100) {
            var record: NamedFields = ["title": .string("one")]
            for number in start..<min(fields, start + 100) { record["f\(number)"] = .int64(1) }
            try cloud.write("n\(start)", type: "Note", fields: record, in: scenarioZone)
        }
    }

    @Test func `records of declared types arrive though the fields are used up`() async throws {
        let phone = try Device(cloud)
        try await phone.sync()
        try write(fields: Catalog.undeclaredMax + 300)
        try cloud.write(
            "late", type: "Note",
            fields: ["title": .string("late"), "zz": .string("kept there"), "f1": .int64(2)],
            in: scenarioZone)
        try await phone.sync()
        #expect(try phone.titles().count == (Catalog.undeclaredMax + 300) / 100 + 1)
        #expect(try phone.titles()["late"] == "late")
        #expect(try phone.store.info().incompleteRecords == 5)
        // What was left out stays on the service through an edit here.
        try await phone.note("late", "edited")
        try await phone.sync()
        let record = cloud.record(named: "late", in: scenarioZone)
        #expect(record?.fields["title"] == .string("edited"))
        #expect(record?.fields["zz"] == .string("kept there"))
        #expect(record?.fields["f1"] == .int64(2))
        try await phone.expectSettled()
        // A record that ends is not missed any more.
        try cloud.remove("late", in: scenarioZone)
        try await phone.sync()
        #expect(try phone.store.info().incompleteRecords == 4)
    }

    @Test func `a schema that declares them gets numbers, and what was left out is fetched`()
        async throws
    {
        let folder = try TemporaryFolder()
        let phone = try Device(cloud, store: Store(at: folder.path, schema: scenarioSchema))
        try await phone.sync()
        // What the service had once, and has no more.
        let types = Set((0..<Catalog.undeclaredMax).map { "Old\($0)" })
        try await phone.store.withLogWriter { try $0.catalogChanges.numberTables(named: types) }
        try write(types: 1, fields: Catalog.undeclaredMax + 10)
        try cloud.write(
            "late", type: "Note", fields: ["title": .string("late"), "zz": .string("text")],
            in: scenarioZone)
        try cloud.write("z", type: "Zebra", fields: ["name": .string("Zoe")], in: scenarioZone)
        let report = try await phone.sync()
        #expect(report.rejectedRecords == 2 && report.undeliveredRecords == 0)
        #expect(try phone.store.info().undeliveredRecords == 0)
        let before = try phone.store.info().incompleteRecords
        #expect(before == 5)
        #expect(try phone.titles()["late"] == "late")
        phone.store.close()
        let schema = StoreSchema(
            WiderNote.self, TaskList.self, Chore.self, Step.self, Zebra.self)
        let newer = try Device(cloud, store: Store(at: folder.path, schema: schema))
        try await newer.sync()
        #expect(try newer.find(WiderNote.ID("late"))?.zz == "text")
        #expect(try newer.find(Zebra.ID("z"))?.name == "Zoe")
        #expect(try newer.store.info().incompleteRecords == before - 2)
        // What still lacks numbers is not asked for in each round.
        cloud.clearRequests()
        try await newer.sync()
        #expect(cloud.requests.count { $0.kind == .lookup } <= 1)
        try await newer.expectSettled()
        newer.store.close()
    }

    @Test(arguments: [400, 1_600])
    func `each new name is encoded once, however many there are`(types: Int) async throws {
        let phone = try Device(cloud)
        try await phone.sync()
        try write(types: types)
        let before = CatalogCoding.entities.encodedCount
        try await phone.sync()
        #expect(try phone.store.info().entities.count >= types)
        let encoded = CatalogCoding.entities.encodedCount - before
        // Those that the smaller run encoded are remembered.
        #expect(encoded + 400 >= types)
        // Other suites encode their own at the same time.
        #expect(encoded <= types + types / 2 + 500)
    }

    @Test func `a record with many new names changes the catalog once`() async throws {
        let phone = try Device(cloud)
        let fields = NamedFields(
            (0..<2_000).map { (key: "f\($0)", value: ServiceValue.int64(1)) })
        let changes = try await phone.store.withLogWriter { context in
            _ = try RecordMerger(context, policy: .serverWins).merge(
                ServiceRecord(
                    recordName: "n", recordType: "New", changeTag: "1", modifiedMilliseconds: 1,
                    fields: fields))
            return context.catalogChanges.count
        }
        #expect(changes == 2)
    }
}
