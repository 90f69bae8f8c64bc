import Backstitch
import BackstitchCore
import BackstitchSync
import Foundation
import LMDB
import TestBudget
import Testing

@testable import BackstitchStore

enum ChangedUnaware {
    @Entity("Card") struct Card: Equatable {
        var id = ID()
        var title = ""
    }
}
enum ChangedAware {
    @Entity("Card") struct Card: Equatable {
        var id = ID()
        var title = ""
        @Attribute(.indexed) var level: Int = 0
    }
}

/// What is read after the schema changed, before, while and after the records are marked.
@Suite(.budgeted) struct ChangedSchemaTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Opens the store without any work in the background, so that each state can be looked at.
    private func openIdle(_ schema: StoreSchema) throws -> Store {
        var configuration = StoreConfiguration.quick
        configuration.worksInBackground = false
        return try folder.open(schema, configuration: configuration)
    }

    /// Two cards with a level that is no integer, and one that fits.
    private func fill() async throws {
        let store = try openIdle(StoreSchema(ChangedUnaware.Card.self))
        try await store.pull("Card", "one", ["level": .double(1.5)])
        try await store.pull("Card", "two", ["level": .double(2)])
        try await store.pull("Card", "fits", ["level": .int64(3)])
        try await store.pull("Card", "none", ["title": .string("none")])
        store.close()
    }

    private func expect(_ ids: [String], _ store: Store) throws {
        let expected = ids.map { ChangedAware.Card.ID($0) }
        let byLevel = Query<ChangedAware.Card>().where(#Predicate { $0.level >= 0 })
        let named = RecordQuery(entity: "Card")
        try store.read { transaction in
            let fetched = try transaction.fetch(ChangedAware.Card.self).map(\.id)
            #expect(fetched == expected)
            #expect(try transaction.count(ChangedAware.Card.self) == ids.count)
            #expect(try Set(transaction.fetch(byLevel).map(\.id)) == Set(expected))
            #expect(try transaction.count(byLevel) == ids.count)
            #expect(try transaction.fetch(named).map(\.id.key) == expected.map(\.key))
            #expect(try transaction.count(named) == ids.count)
            let query = Query<ChangedAware.Card>()
            #expect(try transaction.aggregate(query, .count()) == ids.count)
            #expect(try transaction.aggregate(query, .count(\.level)) == ids.count)
            #expect(try transaction.select(query, \.id) == expected)
            #expect(try transaction.page(query, count: 10).rows.map(\.id) == expected)
        }
        try store.read(at: store.read { try $0.lastSequence }) { transaction in
            let fetched = try transaction.fetch(ChangedAware.Card.self).map(\.id)
            #expect(fetched == expected)
            #expect(try transaction.count(byLevel) == ids.count)
        }
    }

    @Test func `records that don't fit are left out from the first read on, in every kind of read`()
        async throws
    {
        try await fill()
        let store = try openIdle(StoreSchema(ChangedAware.Card.self))
        #expect(try store.read { $0.reader.catalog.tables[0].isUnderExamination })
        try expect(["fits", "none"], store)
        #expect(try store.unreadableRecords() == ["Card": 2])
        let info = try #require(try store.info().entities.first)
        #expect(info.records == 4 && info.unreadable == 2)
        #expect(try store.read { try $0.record("one", of: "Card") }?.state == .unreadable)
        let error = failure { _ = try store.read { try $0.find(ChangedAware.Card.self, "one") } }
        #expect(error?.code == .unreadable)

        var changes = store.changes().makeAsyncIterator()
        try await store.prepareIndexes()
        let change = try #require(await changes.next())
        #expect(change.unreadable(ChangedAware.Card.self) == ["one", "two"])
        #expect(change.updated(ChangedAware.Card.self) == ["one", "two"])
        try expect(["fits", "none"], store)
        #expect(try store.unreadableRecords() == ["Card": 2])
        try await store.expectConsistent()
    }

    @Test func `a live query gives the same while records are marked`() async throws {
        try await fill()
        let store = try openIdle(StoreSchema(ChangedAware.Card.self))
        let query = Query<ChangedAware.Card>().sorted(by: \.level)
        var results = store.observe(query).makeAsyncIterator()
        #expect(try await results.next()?.map(\.id) == ["none", "fits"])
        try await store.prepareIndexes()
        try await store.write { try $0.save(ChangedAware.Card(id: "new", level: 1)) }
        #expect(try await results.next()?.map(\.id) == ["none", "new", "fits"])
    }

    @Test func `records that fit again are there from the first read on`() async throws {
        try await fill()
        let aware = try openIdle(StoreSchema(ChangedAware.Card.self))
        try await aware.prepareIndexes()
        aware.close()
        let store = try openIdle(StoreSchema(ChangedUnaware.Card.self, version: 1))
        #expect(try store.unreadableRecords() == [:])
        #expect(try store.read { try $0.count(ChangedUnaware.Card.self) } == 4)
        #expect(try store.read { try $0.fetch(ChangedUnaware.Card.self) }.count == 4)
        var changes = store.changes().makeAsyncIterator()
        try await store.prepareIndexes()
        let change = try #require(await changes.next())
        #expect(change.updated(ChangedUnaware.Card.self) == ["one", "two"])
        #expect(change.unreadable(ChangedUnaware.Card.self).isEmpty)
        try await store.expectConsistent()
    }

    @Test func `parked and forgotten records are left out too, though they can't be marked`()
        async throws
    {
        try await fill()
        let unaware = try openIdle(StoreSchema(ChangedUnaware.Card.self))
        try await unaware.write { transaction in
            var card = try #require(try transaction.find(ChangedUnaware.Card.self, "one"))
            card.title = "edited"
            try transaction.save(card)
        }
        try await unaware.withLogWriter { context in
            let table = try #require(context.catalog.table(named: "Card"))
            let row = try #require(
                try context.reader.row(table.number, RecordKey(RecordName("one"))))
            _ = try context.marks.park(
                table.number, RecordKey(RecordName("one")), through: row.lastSequence,
                reason: "no")
        }
        try await unaware.withLogWriter {
            try ZoneLoss($0, in: 0).forgetService(keepsUnsynced: true)
        }
        unaware.close()
        for _ in 0..<2 {
            let store = try openIdle(StoreSchema(ChangedAware.Card.self))
            try expect(["fits", "none"], store)
            try await store.prepareIndexes()
            #expect(store.catalog.entities.allSatisfy { $0.needsExamination == nil })
            try expect(["fits", "none"], store)
            #expect(try store.unreadableRecords() == ["Card": 2])
            try await store.expectConsistent()
            store.close()
        }
        // Once they are settled, the next opening marks them.
        let store = try folder.open(StoreSchema(ChangedAware.Card.self))
        await BackgroundSchemaWork(store).wait()
        #expect(store.catalog.entities.contains { $0.hasUnexamined == true })
        for name in ["one", "two"] {
            try await store.pull("Card", name, tag: "2", at: 2, ["level": .double(0.5)])
        }
        #expect(try store.unreadableRecords() == ["Card": 2])
        store.close()
        let last = try folder.open(StoreSchema(ChangedAware.Card.self))
        await BackgroundSchemaWork(last).wait()
        #expect(last.catalog.entities.allSatisfy { $0.hasUnexamined == nil })
        try expect(["fits", "none"], last)
    }

    @Test func `a past state is read by the present schema`() async throws {
        try await fill()
        let store = try openIdle(StoreSchema(ChangedAware.Card.self))
        try await store.prepareIndexes()
        let head = try store.read { try $0.lastSequence }
        for sequence in 1...head {
            try store.read(at: sequence) { transaction in
                let count = try transaction.fetch(ChangedAware.Card.self).count
                #expect(try transaction.count(ChangedAware.Card.self) == count)
                let byLevel = Query<ChangedAware.Card>().where(#Predicate { $0.level >= 0 })
                #expect(try transaction.count(byLevel) == count)
            }
        }
    }

    // MARK: Random schemas

    /// A value that a service may have in a field.
    private static func value(_ generator: inout SeededGenerator) -> ServiceValue {
        let scalars: [ServiceValue] = [
            .int64(0), .int64(1), .int64(70_000), .int64(.max), .double(0.5), .double(1e300),
            .string("x y"), .string("12"), .string("00000000-0000-0000-0000-00000000000A"),
            .string("http://a.example"), .bytes(Data([1])), .timestamp(milliseconds: 7),
            .reference(ServiceReference(recordName: "r", action: .none)),
            .location(GeoLocation(latitude: 1, longitude: 2)),
        ]
        let value = scalars[Int.random(in: 0..<scalars.count, using: &generator)]
        switch Int.random(in: 0..<10, using: &generator) {
        case 0: return .null
        case 1: return .list([])
        case 2, 3: return .list([value, value])
        default: return value
        }
    }

    private static func columns(_ generator: inout SeededGenerator) -> [Shifting.Column?] {
        // References need a declared target, which the entity itself would be.
        let types = AttributeType.allCases.filter { $0 != .reference }
        return Shifting.names.map { _ in
            if Int.random(in: 0..<3, using: &generator) == 0 { return nil }
            return Shifting.Column(
                type: types[Int.random(in: 0..<types.count, using: &generator)],
                isOptional: Bool.random(using: &generator),
                isIndexed: Bool.random(using: &generator))
        }
    }

    /// Checks that all kinds of reads agree with what the type reads, record by record.
    private static func check(_ store: Store, _ names: [String], _ what: String) throws {
        let keys = try store.read { transaction -> [RecordKey] in
            var readable: [RecordKey] = []
            for name in names {
                do {
                    if let found = try transaction.find(Shifting.self, .init(name)) {
                        readable.append(found.id.key)
                    }
                } catch let error as StoreError where error.code == .unreadable {}
            }
            let all = Query<Shifting>()
            let named = RecordQuery(entity: "Shifting")
            let keys = readable.sorted()
            #expect(try transaction.fetch(all).map(\.id.key) == keys, "\(what): fetch")
            #expect(try transaction.count(all) == keys.count, "\(what): count")
            #expect(try transaction.fetch(named).map(\.id.key) == keys, "\(what): by names")
            #expect(try transaction.aggregate(all, .count()) == keys.count, "\(what): aggregate")
            for (name, column) in zip(Shifting.names, Shifting.columns) {
                guard let column else { continue }
                let groups = try transaction.groups(named, by: [name], [.count])
                let total = groups.reduce(0) { sum, group in
                    if case .int64(let count) = group.values[0] { sum + Int(count) } else { sum }
                }
                #expect(total == keys.count, "\(what): groups by \(name)")
                let without = try transaction.count(named.where(.equal(name, .null)))
                let with = try transaction.count(named.where(.notEqual(name, .null)))
                #expect(without + with == keys.count, "\(what): parts by \(name)")
                guard column.type.isOrdered else { continue }
                let sorted = try transaction.fetch(named.sorted(by: name))
                #expect(sorted.map(\.id.key).sorted() == keys, "\(what): sorted by \(name)")
            }
            return keys
        }
        let past = try store.read(at: store.read { try $0.lastSequence }) {
            try $0.fetch(Query<Shifting>()).map(\.id.key)
        }
        #expect(past == keys, "\(what): past")
        let live = try store.read { try $0.count(of: "Shifting") }
        let unreadable = try store.unreadableRecords()["Shifting"] ?? 0
        #expect(live - keys.count == unreadable, "\(what): unreadable")
    }

    @Test(arguments: Load.some(of: 0..<12, oneOf: 5))
    func `random schemas over random records agree in every read and at every step`(
        seed: Int
    ) async throws {
        var generator = SeededGenerator(seed: UInt64(seed) &+ 900)
        var names: [String] = []
        var columns: [Shifting.Column?] = [nil, nil, nil]
        for version in 0..<6 {
            let wanted = version == 0 ? columns : Self.columns(&generator)
            let opened: Store? = try Shifting.$columns.withValue(wanted) {
                do {
                    return try openIdle(StoreSchema(Shifting.self, version: version))
                } catch let error as StoreError where error.code == .invalidSchema {
                    return nil
                }
            }
            // What the store refuses, an app can't open it with.
            guard let store = opened else { continue }
            columns = wanted
            let records = (0..<20).map { number in
                (
                    "r\(version)-\(number)",
                    NamedFields(
                        Shifting.names.map { (key: $0, value: Self.value(&generator)) })
                )
            }
            try Shifting.$columns.withValue(columns) {
                try Self.check(store, names, "seed \(seed), version \(version), opened")
            }
            for (name, fields) in records {
                try await store.pull("Shifting", name, fields)
                names.append(name)
            }
            let known = names
            try Shifting.$columns.withValue(columns) {
                try Self.check(store, known, "seed \(seed), version \(version), pulled")
            }
            if Bool.random(using: &generator) {
                while try await store.withLogWriter({ try SchemaWork($0).goOn(limit: 256) }) != nil
                {
                    try Shifting.$columns.withValue(columns) {
                        try Self.check(store, known, "seed \(seed), version \(version), at work")
                    }
                }
            }
            #expect(try store.verify().problems == [])
            store.close()
        }
    }
}
