import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchTesting
import Foundation
import TestBudget
import Testing

private enum Unit: String, EnumAttributeValue { case metre, inch }

@Embeddable private struct Size: Equatable {
    @Attribute(.indexed) var width: Double
    var height = 1.0
    var unit: Unit?
}

/// Has an initialiser of its own, a struct inside, and parts that are neither text nor numbers.
@Embeddable private struct Crate: Equatable {
    private var code: String
    @Attribute(.embedded, originalName: "inside") var inner = Size(width: 2)
    @Attribute(.codable) var marks: [String: Int]
    var labels: [String]
    @Relationship(onDelete: .nullify) var maker: Maker.ID?

    init(_ code: String, labels: [String] = [], maker: Maker.ID? = nil) {
        self.code = code
        self.labels = labels
        self.maker = maker
        marks = [:]
    }

    var shownCode: String { code }
}

@Entity private struct Maker: Equatable {
    var id = ID()
    var name: String
    @Relationship(inverse: \Shipment.crate.maker) var parcels: ToMany<Shipment>
}

@Entity private struct Shipment: Equatable {
    var id = ID()
    var title: String
    @Attribute(.embedded) var size: Size
    var weight = 0
    @Attribute(.embedded) var crate = Crate("none")
    var note: String?
}

/// The parcel of a version of the program that had no parts.
@Entity("Shipment") private struct OldShipment: Equatable {
    var id = ID()
    var title: String
    var weight = 0
}

/// The parcel of a version that had another name for a part, and a size with an initial value.
@Entity("Shipment") private struct RenamedShipment: Equatable {
    var id = ID()
    var title: String
    @Attribute(.embedded, originalName: "size") var extent = Size(width: 7, height: 8, unit: .inch)
    var weight = 0
}

/// A property whose name is that of a part.
@Entity private struct Clash {
    var id = ID()
    @Attribute(.embedded) var size: Size
    var size_width = 0
}

/// Structs that are stored in parts, through everything that an attribute goes through.
@Suite(.budgeted) struct EmbeddedTests {
    private let cloud = SimulatedCloud()
    private let folder: TemporaryFolder
    private let schema = StoreSchema(Maker.self, Shipment.self)

    init() throws { folder = try TemporaryFolder() }

    private func device(_ name: String, _ schema: StoreSchema? = nil) throws -> Device {
        Device(
            store: try folder.store(name, schema ?? self.schema),
            service: cloud.connection(device: name)
        ) { $0.conflictPolicy = .merge(otherwise: .serverWins) }
    }

    private let parcels: [Shipment] = [
        Shipment(
            id: "a", title: "A", size: Size(width: 3, height: 1, unit: .inch),
            crate: Crate("x", labels: ["red"], maker: "m")),
        Shipment(id: "b", title: "B", size: Size(width: 1), weight: 5, crate: Crate("y")),
        Shipment(id: "c", title: "C", size: Size(width: 2, height: 4, unit: .metre), note: "n"),
    ]

    private func fill(_ store: Store) async throws {
        let parcels = parcels
        try await store.write { transaction in
            try transaction.save(Maker(id: "m", name: "Ada"))
            for parcel in parcels { try transaction.save(parcel) }
        }
    }

    @Test func `parts are attributes, named after the property and the part`() {
        let attributes = Shipment.entitySchema.attributes
        #expect(
            attributes.map(\.name) == [
                "title", "size_width", "size_height", "size_unit", "weight", "crate_code",
                "crate_inner_width", "crate_inner_height", "crate_inner_unit", "crate_marks",
                "crate_labels", "crate_maker", "note",
            ])
        #expect(attributes[6].fieldName == "crate_inside_width" && attributes[6].isIndexed)
        #expect(attributes[11].reference == ReferenceSchema(target: "Maker", onDelete: .nullify))
        #expect(attributes[3].allowedValues == [.string("metre"), .string("inch")])
        #expect(Shipment.attributeIndexes.count == 13)
        #expect(Shipment.attributeIndexes[\Shipment.size.width] == 1)
        #expect(Shipment.attributeIndexes[\Shipment.crate.inner.unit] == 8)
        #expect(Shipment.attributeIndexes[\Shipment.note] == 12)
        #expect(Shipment.attributeIndexes[\Shipment.size] == nil)
    }

    @Test func `parts are saved, found, sorted, grouped, summed up and changed`() async throws {
        let store = try device("s").store
        try await fill(store)
        let all = Query<Shipment>()
        let unit = Unit.inch
        try store.read { tx in
            #expect(try tx.fetch(Shipment.self) == parcels)
            let bySize = try tx.fetch(all.sorted(by: \.size.width, order: .reverse))
            #expect(bySize.map(\.id) == ["a", "c", "b"])
            #expect(try tx.fetch(all.where(\.size.width, in: 2...3)).map(\.id) == ["a", "c"])
            #expect(try tx.fetch(all.where(\.size.unit, is: .inch)).map(\.id) == ["a"])
            #expect(try tx.fetch(all.where(\.crate.inner.width, is: 2)).count == 3)
            #expect(try tx.fetch(all.where(\.crate.labels, contains: "red")).map(\.id) == ["a"])
            let typed = all.where(
                #Predicate { $0.size.width > 1 && $0.size.unit == unit || $0.size.height == 4 })
            #expect(try tx.fetch(typed).map(\.id) == ["a", "c"])
            let missing = all.where(#Predicate { $0.size.unit == nil && $0.crate.inner.width < 3 })
            #expect(try tx.fetch(missing).map(\.id) == ["b"])
            #expect(try tx.select(all, \.size.height) == [1, 1, 4])
            #expect(try tx.distinct(all, \.size.unit).count == 3)
            let (sum, most) = try tx.aggregate(all, .sum(\.size.width), .maximum(\.size.height))
            #expect(sum == 6 && most == 4)
            let steps = try tx.explain(all.where(\.size.width, is: 3)).steps.joined()
            #expect(steps.contains("size_width"), Comment(rawValue: steps))
            let maker = try #require(try tx.find(Maker.ID("m")))
            #expect(try tx.fetch(maker.parcels).map(\.id) == ["a"])
            let named = RecordQuery(entity: "Shipment").where(.greater("size_width", than: 2))
            #expect(try tx.count(named) == 1)
        }
        try await store.write { tx in
            let wide = all.where(\.size.width, greaterThan: 2)
            #expect(try tx.update(wide, set: \.size.height, to: 9) == 1)
            #expect(try tx.update(all) { $0.crate.inner.width += 1 } == 3)
            try tx.delete(Maker.ID("m"))
        }
        let first = try #require(try store.read { try $0.find(Shipment.ID("a")) })
        #expect(first.size == Size(width: 3, height: 9, unit: .inch))
        #expect(first.crate.inner.width == 3 && first.crate.maker == nil)
        #expect(first.crate.shownCode == "x" && first.crate.labels == ["red"])
        let operations = try store.read { try $0.lastOperations(limit: 6) }
        #expect(
            Set(operations.filter { $0.kind == .update }.flatMap(\.changes).map(\.attribute))
                == ["size_height", "crate_inner_width", "crate_maker"])
        #expect(try store.verify().problems == [])
        #expect(try await store.rebuild().isIdentical)
    }

    @Test func `queries answer as Swift does`() async throws {
        let store = try Store.inMemory(schema: schema)
        var seed: UInt64 = 7
        func next(_ count: UInt64) -> Double {
            seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Double((seed >> 33) % count)
        }
        var all: [Shipment] = []
        for number in 0..<200 {
            let unit: Unit? = [Unit.metre, .inch, nil][Int(next(3))]
            let size = Size(width: next(9), height: next(4), unit: unit)
            var parcel = Shipment(id: Shipment.ID("\(number + 1000)"), title: "t", size: size)
            parcel.crate.inner.height = next(5)
            all.append(parcel)
        }
        let saved = all
        try await store.write { tx in for parcel in saved { try tx.save(parcel) } }
        for round in 0..<60 {
            let (low, high) = (next(9), next(5))
            let predicate = #Predicate<Shipment> {
                $0.size.width >= low && $0.crate.inner.height < high || $0.size.height == high
            }
            let expected = try all.filter { try predicate.evaluate($0) }
            let query = Query<Shipment>().where(predicate)
            let sorted = query.sorted(by: \.size.unit).sorted(by: \.size.width, order: .reverse)
            let found = try store.read { (try $0.fetch(query), try $0.fetch(sorted)) }
            #expect(found.0 == expected, "\(round)")
            func key(_ parcel: Shipment) -> (String, Double, String) {
                (parcel.size.unit?.rawValue ?? "", -parcel.size.width, parcel.id.name)
            }
            #expect(found.1 == expected.sorted { key($0) < key($1) }, "\(round)")
        }
    }

    @Test
    func `a query for the whole struct, or for a part that is not stored, says what to write`()
        throws
    {
        let store = try Store.inMemory(schema: schema)
        func message(_ query: Query<Shipment>) -> String? {
            do {
                _ = try store.read { try $0.count(query) }
                return nil
            } catch {
                return (error as? StoreError)?.message
            }
        }
        let code = "x"
        let computed = message(Query().where(#Predicate { $0.crate.shownCode == code }))
        #expect(computed?.contains("is not a stored attribute of Shipment") == true)
        let typed = message(Query().where(\.crate.shownCode, is: code))
        #expect(typed?.contains("is not a stored attribute of Shipment") == true)
        let whole = (\Shipment.size as AnyKeyPath).unknown(in: "Shipment")
        #expect(whole.message.contains("name one of them, as in \\.size.width"))
    }

    @Test func `rows from before the parts read as the initial value, for queries too`()
        async throws
    {
        let path = folder.path + "/s"
        do {
            let old = try Store(at: URL(filePath: path), schema: StoreSchema(OldShipment.self))
            try await old.save(OldShipment(id: "a", title: "A", weight: 3))
            old.close()
        }
        let store = try Store(at: URL(filePath: path), schema: StoreSchema(RenamedShipment.self))
        defer { store.close() }
        let found = try store.read { try $0.fetch(Query<RenamedShipment>()) }
        // An optional part reads as nil, as an optional attribute does, whatever its initial value.
        #expect(found.map(\.extent) == [Size(width: 7, height: 8)])
        let wide = Query<RenamedShipment>().where(\.extent.width, is: 7)
        #expect(try store.read { try $0.count(wide.where(\.extent.height, greaterThan: 7)) } == 1)
    }

    @Test func `a part without an initial value can't be added to records that lack it`()
        async throws
    {
        let path = folder.path + "/s"
        do {
            let old = try Store(at: URL(filePath: path), schema: StoreSchema(OldShipment.self))
            try await old.save(OldShipment(id: "a", title: "A"))
            old.close()
        }
        let error = #expect(throws: StoreError.self) {
            _ = try Store(at: URL(filePath: path), schema: schema)
        }
        #expect(error?.code == .invalidSchema)
        #expect(error?.message.contains("Shipment.size_width") == true)
    }

    @Test func `a property with the name of a part is found when the store opens`() throws {
        let error = #expect(throws: StoreError.self) {
            _ = try Store.inMemory(schema: StoreSchema(Clash.self))
        }
        #expect(error?.message.contains("Clash.size_width is declared twice") == true)
    }

    @Test func `parts travel as fields, and edits of different parts do not conflict`() async throws
    {
        let one = try device("one")
        try await fill(one.store)
        try await one.sync()
        let fields = cloud.record(named: "a", in: scenarioZone)?.fields
        #expect(fields?["size_width"] == .double(3) && fields?["size_unit"] == .string("inch"))
        #expect(fields?["crate_inside_width"] == .double(2))
        let other = try device("other")
        let old = try device("old", StoreSchema(OldShipment.self))
        try await other.sync()
        try await old.sync()
        try await one.store.write { try $0.update(Query<Shipment>(), set: \.size.width, to: 10) }
        try await other.store.write { try $0.update(Query<Shipment>(), set: \.size.height, to: 20) }
        try await old.store.write { try $0.update(Query<OldShipment>(), set: \.weight, to: 30) }
        for device in [one, other, old, one, other] { try await device.sync() }
        for device in [one, other] {
            let found = try device.all(Shipment.self)
            #expect(found.count == 3)
            #expect(found.allSatisfy { $0.size.width == 10 && $0.size.height == 20 })
            #expect(found.allSatisfy { $0.weight == 30 })
            #expect(found[0].size.unit == .inch && found[0].crate.labels == ["red"])
            #expect(try device.store.read { try $0.conflicts() }.isEmpty)
            try await device.expectSettled()
        }
    }

    @Test func `a part that is renamed with its property keeps its field`() async throws {
        let one = try device("one")
        try await fill(one.store)
        try await one.sync()
        let other = try device("other", StoreSchema(RenamedShipment.self))
        try await other.sync()
        let found = try other.all(RenamedShipment.self)
        #expect(found.map(\.extent) == parcels.map(\.size))
    }
}
