import Backstitch
@testable import BackstitchCore
import Foundation
import LMDB
import TestBudget
import Testing

@testable import BackstitchLog
@testable import BackstitchStore

/// With indexes of several attributes and of folded texts.
@Entity struct Resident: Equatable {
    static let indexes: [EntityIndex<Resident>] = [
        EntityIndex(\.city, \.born), EntityIndex(.insensitive(\.name)),
    ]
    var id = ID()
    var name: String
    var city: String?
    var born: Date
    var note = ""
}

/// The same without.
enum WithoutIndexes {
    @Entity("Resident") struct Resident {
        var id = ID()
        var name: String
        var city: String?
        var born: Date
        var note = ""
    }
}

/// The same with others.
enum WithOtherIndexes {
    @Entity("Resident") struct Resident {
        static let indexes: [EntityIndex<Resident>] = [
            EntityIndex(.insensitive(\.name)), EntityIndex(.exact(\.born), .insensitive(\.city)),
        ]
        var id = ID()
        var name: String
        var city: String?
        var born: Date
        var note = ""
    }
}

@Suite(.budgeted) struct EntityIndexTests {
    private static let schema = StoreSchema(Resident.self)
    private static let cities: [String?] = ["Köln", "koln", "Bonn", nil]

    private static func resident(_ number: Int) -> Resident {
        Resident(
            id: .init("r\(number)"), name: ["Ånna", "anna", "ANNE", "Bo"][number % 4],
            city: cities[number % 4 == 3 ? 3 : number % 3],
            born: Date(timeIntervalSince1970: Double(number * 86_400)))
    }

    private static func fill(_ folder: TemporaryFolder, _ schema: StoreSchema) throws {
        let store = try folder.open(schema)
        defer { store.close() }
        try store.write { transaction in
            for number in 0..<700 {
                let one = resident(number)
                try transaction.save(
                    WithoutIndexes.Resident(
                        id: .init(one.id.description), name: one.name, city: one.city,
                        born: one.born))
            }
        }
    }

    private static var query: Query<Resident> {
        Query<Resident>().where(\.city, is: "Köln")
            .where(\.born, atLeast: Date(timeIntervalSince1970: 86_400 * 600)).sorted(by: \.born)
    }

    private static func entries(_ store: Store) throws -> Int {
        try store.read { transaction in
            var count = 0
            try [TableKey.compounds].withUnsafeBytes { prefix in
                try transaction.reader.visit(prefix: prefix) { _, _ in
                    count += 1
                    return true
                }
            }
            return count
        }
    }

    @Test func `an index that is added is built after opening, used, verified and rebuilt`()
        async throws
    {
        let folder = try TemporaryFolder()
        try Self.fill(folder, StoreSchema(WithoutIndexes.Resident.self))
        var configuration = StoreConfiguration.quick
        configuration.worksInBackground = false
        let store = try folder.open(Self.schema, configuration: configuration)
        defer { store.close() }
        #expect(
            try store.indexesBeingBuilt == ["Resident(city, born)", "Resident(fold(name))"])
        let expected = (600..<700).filter { $0 % 4 != 3 && $0 % 3 == 0 }
        func found() throws -> [Int] {
            try store.read { try $0.fetch(Self.query) }
                .map { Int($0.born.timeIntervalSince1970) / 86_400 }
        }
        #expect(try found() == expected)
        #expect(try store.verify().problems == [])
        // A write in the middle of building.
        _ = try await store.withLogWriter { try SchemaWork($0).goOn(limit: 256) }
        var first = try #require(try store.read { try $0.find(Resident.ID("r0")) })
        first.city = "Bonn"
        let changed = first
        try await store.save(changed)
        #expect(try store.verify().problems == [])
        try await store.prepareIndexes()
        #expect(try store.indexesBeingBuilt == [])
        #expect(try found() == expected)
        let steps = try store.read { try $0.explain(Self.query) }.steps
        #expect(steps.first?.hasPrefix("index (city, born) city = \"Köln\" and born ≥") == true)
        #expect(try Self.entries(store) == 1_400)
        try await store.expectConsistent()
        #expect(try await store.rebuild().isIdentical)
        // Later writes keep it up.
        try await store.write { transaction in
            try transaction.delete(Resident.ID("r1"))
            try transaction.update(
                Query<Resident>().where(\.name, is: "Bo"), set: \.name, to: "Ännä")
            try transaction.save(Self.resident(900))
        }
        #expect(try Self.entries(store) == 1_400)
        try await store.expectConsistent()
        let same = Query<Resident>().where(\.name, is: "ANNA", comparing: .insensitive)
        #expect(try store.read { try $0.count(same) } == 700 / 4 * 3 + 1 - 1)
        #expect(
            try store.read { try $0.explain(same) }.steps.first == "index fold(name) = \"anna\"")
    }

    @Test func `indexes that are changed or dropped leave nothing`()
        async throws
    {
        let folder = try TemporaryFolder()
        try Self.fill(folder, StoreSchema(WithoutIndexes.Resident.self))
        func opened(_ schema: StoreSchema) async throws -> (entries: Int, [UInt16]) {
            let store = try folder.open(schema)
            defer { store.close() }
            await BackgroundSchemaWork(store).wait()
            try await store.expectConsistent()
            let numbers = store.catalog.entities.flatMap { $0.indexes ?? [] }.map(\.number)
            return (try Self.entries(store), numbers)
        }
        #expect(try await opened(StoreSchema(WithoutIndexes.Resident.self)) == (0, []))
        #expect(try await opened(Self.schema) == (1_400, [1, 2]))
        // That of the name stays as it is.
        #expect(
            try await opened(StoreSchema(WithOtherIndexes.Resident.self, version: 1))
                == (1_400, [2, 3]))
        #expect(
            try await opened(StoreSchema(WithoutIndexes.Resident.self, version: 2)) == (0, []))
    }

    @Test func `an index of other folding tables is built again`() async throws {
        let folder = try TemporaryFolder()
        try Self.fill(folder, StoreSchema(WithoutIndexes.Resident.self))
        let store = try folder.open(Self.schema)
        await BackgroundSchemaWork(store).wait()
        var catalog = store.catalog
        store.close()
        for position in (catalog.entities[0].indexes ?? []).indices {
            if catalog.entities[0].indexes?[position].folding != nil {
                catalog.entities[0].indexes?[position].folding = 0
            }
        }
        let (other, number) = (catalog, catalog.entities[0].indexes?.last?.number)
        try folder.tamper { access, databases in
            try access.putCatalog(other, databases)
            // An entry that these tables would not make.
            var key: [UInt8] = [TableKey.compounds, 0, 1, 0, UInt8(number ?? 0)]
            key += [1, 0x41, 0, 0] + RecordKey("r0").bytes
            let empty = UnsafeRawBufferPointer(start: nil, count: 0)
            try key.withUnsafeBytes { try access.put($0, empty, in: databases.tables) }
        }
        let again = try folder.open(Self.schema)
        defer { again.close() }
        await BackgroundSchemaWork(again).wait()
        try await again.expectConsistent()
        #expect(again.catalog.entities[0].indexes?.last?.folding == TextFolding.version)
    }

    @Test func `past states and backups are read by the index too`() async throws {
        let folder = try TemporaryFolder()
        try Self.fill(folder, StoreSchema(WithoutIndexes.Resident.self))
        let store = try folder.open(Self.schema)
        defer { store.close() }
        await BackgroundSchemaWork(store).wait()
        let before = try store.read { try $0.lastSequence }
        let expected = try store.read { try $0.fetch(Self.query) }
        try await store.write { transaction in
            try transaction.update(
                Query<Resident>().where(\.city, is: "Köln"), set: \.city, to: "Bonn")
            try transaction.delete(Query<Resident>().where(\.city, is: nil))
        }
        #expect(try store.read { try $0.count(Self.query) } == 0)
        #expect(try store.read(at: before) { try $0.fetch(Self.query) } == expected)
    }

    @Test func `declarations that can't be right are refused with what to do`() throws {
        let error = #expect(throws: StoreError.self) {
            _ = try Store.inMemory(schema: StoreSchema(Misindexed.self))
        }
        #expect(error?.code == .invalidSchema)
        let message = error?.message ?? ""
        for part in [
            "has 5 attributes: give it 1 to 4", "is over name alone: write @Attribute(.indexed)",
            "has an attribute twice", "declares an index twice", "no stored attribute",
        ] { #expect(message.contains(part), "\(part)") }
    }

    @Test func `groups and sections by periods and attributes come in order`() throws {
        let store = try Store.inMemory(schema: Self.schema)
        defer { store.close() }
        try store.write { transaction in
            for number in 0..<70 { try transaction.save(Self.resident(number)) }
        }
        try store.read { transaction in
            let months = try transaction.groups(
                Query<Resident>(), by: DatePeriod.month.of(\Resident.born), .count(),
                .minimum(\.born))
            #expect(months.map(\.values.0) == [31, 28, 11])
            #expect(months.map(\.key) == months.map(\.values.1))
            let weeks = try transaction.fetch(
                Query<Resident>().sorted(by: \.born)
                    .sections(by: .week, of: \.born, order: .reverse))
            #expect(weeks.map(\.count).reduce(0, +) == 70)
            // The first day of 1970 was a Thursday.
            #expect(weeks.last?.count == 4)
            #expect(weeks.last?.key == Date(timeIntervalSince1970: -3 * 86_400))
            #expect(weeks.first?.records.map(\.born) == weeks.first?.records.map(\.born).sorted())
            let cities = try transaction.fetch(
                Query<Resident>().sorted(by: \.name).sections(by: \.city))
            #expect(cities.map(\.key) == [nil, "Bonn", "Köln", "koln"])
            for section in cities {
                #expect(section.records.allSatisfy { $0.city == section.key })
                #expect(section.records.map(\.name) == section.records.map(\.name).sorted())
            }
            let named = try transaction.groups(
                RecordQuery(entity: "Resident"), by: ["fold(city)", "year(born)"], [.count])
            #expect(named.map(\.keys.first) == [.null, .string("bonn"), .string("koln")])
            let none = try transaction.fetch(Query<Resident>().limit(0).sections(by: \.city))
            #expect(none.isEmpty)
        }
    }

    @Test func `insensitive conditions and sorts of the typed builder are those by names`() throws {
        let store = try Store.inMemory(schema: Self.schema)
        defer { store.close() }
        try store.write { transaction in
            for number in 0..<40 { try transaction.save(Self.resident(number)) }
        }
        try store.read { transaction in
            let all = Query<Resident>()
            let cases: [(Query<Resident>, RecordQuery.Condition)] = [
                (
                    all.where(\.city, is: "KOLN", comparing: .insensitive),
                    .equal("fold(city)", .string("köln"))
                ),
                (
                    all.where(\.city, isNot: "KOLN", comparing: .insensitive),
                    .notEqual("fold(city)", .string("köln"))
                ),
                (
                    all.where(\.name, contains: "NN", comparing: .insensitive),
                    .contains("fold(name)", "nn")
                ),
                (
                    all.where(\.name, startsWith: "Á", comparing: .insensitive),
                    .starts("fold(name)", with: "a")
                ),
                (
                    all.where(\.city, in: ["BÖNN", nil], comparing: .insensitive),
                    .member("fold(city)", of: [.string("bonn"), .null])
                ),
                (
                    all.where(\.name, is: "anna", comparing: .exact),
                    .equal("name", .string("anna"))
                ),
            ]
            for (typed, condition) in cases {
                let named = RecordQuery(entity: "Resident").where(condition)
                let found = try transaction.fetch(
                    typed.sorted(by: \.name, comparing: .insensitive, order: .reverse))
                #expect(!found.isEmpty)
                #expect(
                    try found.map(\.id.key)
                        == transaction.fetch(named.sorted(by: "fold(name)", order: .reverse))
                        .map(\.id.key))
            }
        }
    }
}

@Entity struct Misindexed {
    static let indexes: [EntityIndex<Misindexed>] = [
        EntityIndex(\.name, \.one, \.two, \.three, \.four), EntityIndex(\.name),
        EntityIndex(\.one, \.one), EntityIndex(\.one, \.two), EntityIndex(\.one, \.two),
        EntityIndex(\.one, \.computed),
    ]
    var id = ID()
    var name: String
    var one = 1
    var two = 2
    var three = 3
    var four = 4
    var computed: Int { one + two }
}
