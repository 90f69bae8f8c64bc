import Backstitch
import BackstitchCore
import Foundation
import TestBudget
import Testing

@testable import BackstitchStore

enum VersionPlain {
    @Entity("Leaf") struct Leaf: Equatable {
        var id = ID()
        var title: String
    }
}
enum VersionRich {
    @Entity("Leaf") struct Leaf: Equatable {
        static let indexes: [EntityIndex<Leaf>] = [EntityIndex(\.rank, \.title)]
        var id = ID()
        @Attribute(.unique) var title: String
        @Attribute(.indexed) var rank = 0
        @Relationship(onDelete: .deny) var parent: VersionRich.Leaf.ID?
    }
}
enum VersionStrict {
    @Entity("Leaf") struct Leaf: Equatable {
        var id = ID()
        var title: String
        var level: Int16
    }
}
enum VersionNumbered {
    @Entity("Leaf") struct Leaf: Equatable {
        var id = ID()
        var title: Int
    }
}

/// Two versions of a program on one store.
@Suite(.budgeted) struct TwoVersionTests {
    private let folder: TemporaryFolder
    private let ranked = Query<VersionRich.Leaf>().where(\.rank, is: 1)

    init() throws { folder = try TemporaryFolder() }

    private func rich(_ version: Int) throws -> Store {
        try folder.open(StoreSchema(VersionRich.Leaf.self, version: version))
    }

    private func plain(_ version: Int = 0) throws -> Store {
        try folder.open(StoreSchema(VersionPlain.Leaf.self, version: version))
    }

    private func fill(_ store: Store) throws {
        try store.write { transaction in
            try transaction.save(VersionRich.Leaf(id: "a", title: "A", rank: 1))
            try transaction.save(VersionRich.Leaf(id: "b", title: "B", rank: 2, parent: "a"))
        }
    }

    @Test(arguments: [0, 2])
    func `an older version that opens and closes takes nothing from a running one`(
        version: Int
    ) async throws {
        let store = try rich(version)
        try fill(store)
        try await store.prepareIndexes()
        let before = store.catalog
        await #expect(processExitsWith: .success) { [path = folder.store as String] in
            let old = try Store(
                at: path, schema: StoreSchema(VersionPlain.Leaf.self), configuration: .quick)
            // It obeys rules that it does not know, and keeps what it does not know.
            let twice = failure {
                try old.write { _ = try $0.save(VersionPlain.Leaf(id: "c", title: "A")) }
            }
            let denied = failure { try old.write { _ = try $0.delete(VersionPlain.Leaf.ID("a")) } }
            guard twice?.code == .notUnique, denied?.code == .deleteDenied else { throw Planned() }
            try await old.write { _ = try $0.save(VersionPlain.Leaf(id: "b", title: "B2")) }
            let titles = try old.read { try $0.fetch(VersionPlain.Leaf.self).map(\.title) }
            guard titles == ["A", "B2"] else { throw Planned(number: 1) }
            old.close()
        }
        #expect(try store.read { try $0.fetch(ranked).map(\.id) } == ["a"])
        #expect(try store.read { try $0.explain(ranked) }.description.contains("index"))
        let b = try store.read { try $0.find(VersionRich.Leaf.ID("b")) }
        #expect(b == VersionRich.Leaf(id: "b", title: "B2", rank: 2, parent: "a"))
        #expect(store.catalog == before)
        let twice = failure {
            try store.write { _ = try $0.save(VersionRich.Leaf(id: "c", title: "A")) }
        }
        #expect(twice?.code == .notUnique)
        try await store.expectConsistent()
    }

    @Test func `a newer version that opens and closes leaves a running older one as it was`()
        async throws
    {
        let old = try plain()
        try await old.write { _ = try $0.save(VersionPlain.Leaf(id: "a", title: "A")) }
        await #expect(processExitsWith: .success) { [path = folder.store as String] in
            let new = try Store(
                at: path, schema: StoreSchema(VersionRich.Leaf.self, version: 1),
                configuration: .quick)
            try await new.write { _ = try $0.save(VersionRich.Leaf(id: "b", title: "B", rank: 1)) }
            try await new.prepareIndexes()
            new.close()
        }
        let inOrder = Query<VersionPlain.Leaf>().sorted(by: \.title, order: .reverse)
        #expect(try old.read { try $0.fetch(inOrder).map(\.id) } == ["b", "a"])
        let twice = failure {
            try old.write { _ = try $0.save(VersionPlain.Leaf(id: "c", title: "B")) }
        }
        #expect(twice?.code == .notUnique)
        try await old.expectConsistent()
    }

    @Test func `only a greater version takes away, and a smaller one brings nothing back`()
        async throws
    {
        let first = try rich(1)
        try fill(first)
        try await first.prepareIndexes()
        first.close()
        let same = try plain(1)
        let areDeclared = same.catalog.entities[0].attributes.allSatisfy { $0.isDeclared }
        #expect(areDeclared)
        #expect(same.catalog.entities[0].indexes?.count == 1)
        same.close()
        let greater = try plain(2)
        #expect(greater.catalog.entities[0].attributes.map(\.isDeclared) == [true, false, false])
        #expect(greater.catalog.entities[0].indexes == nil)
        try await greater.write { _ = try $0.save(VersionPlain.Leaf(id: "c", title: "A")) }
        try await greater.write { _ = try $0.delete(VersionPlain.Leaf.ID("a")) }
        try await greater.prepareIndexes()
        try await greater.expectConsistent()
        let dropped = greater.catalog
        greater.close()
        let smaller = try rich(1)
        #expect(smaller.catalog == dropped)
        #expect(try smaller.read { try $0.count(ranked) } == 0)
        try await smaller.write { _ = try $0.save(VersionRich.Leaf(id: "d", title: "A", rank: 1)) }
        #expect(try smaller.read { try $0.fetch(ranked).map(\.id) } == ["d"])
        #expect(try smaller.read { try $0.uniqueViolations() }.isEmpty)
        try await smaller.expectConsistent()
        smaller.close()
        let last = try rich(3)
        #expect(try last.read { try $0.uniqueViolations() }["Leaf.title"]?.map(\.count) == [2])
        try await last.prepareIndexes()
        try await last.expectConsistent()
    }

    @Test func `a record that one version can't read is left out there, and not elsewhere`()
        async throws
    {
        let schema = StoreSchema(VersionStrict.Leaf.self)
        let first = try folder.open(schema)
        try await first.write { _ = try $0.save(VersionStrict.Leaf(id: "a", title: "A", level: 1)) }
        first.close()
        for _ in 0..<2 {
            let old = try plain()
            try await old.write { transaction in
                try transaction.save(VersionPlain.Leaf(id: "b", title: "B"))
                try transaction.save(VersionPlain.Leaf(id: "a", title: "A2"))
            }
            #expect(try old.read { try $0.fetch(VersionPlain.Leaf.self).map(\.id) } == ["a", "b"])
            #expect(try old.read { try $0.count(VersionPlain.Leaf.self) } == 2)
            #expect(try old.unreadableRecords() == [:])
            #expect(try old.read { try $0.record("b", of: "Leaf") }?.state != .unreadable)
            try await old.expectConsistent()
            old.close()
            let strict = try folder.open(schema)
            #expect(
                try strict.read { try $0.fetch(VersionStrict.Leaf.self) }
                    == [VersionStrict.Leaf(id: "a", title: "A2", level: 1)])
            #expect(try strict.read { try $0.count(VersionStrict.Leaf.self) } == 1)
            #expect(try strict.unreadableRecords() == ["Leaf": 1])
            let error = failure { _ = try strict.read { try $0.find(VersionStrict.Leaf.ID("b")) } }
            #expect(error?.code == .unreadable)
            try await strict.expectConsistent()
            strict.close()
        }
        let strict = try folder.open(schema)
        let whole = VersionStrict.Leaf(id: "b", title: "B", level: 2)
        try await strict.write { _ = try $0.save(whole) }
        #expect(try strict.unreadableRecords() == [:])
    }

    @Test func `a version whose values a newer one can't read is refused`() throws {
        let old = try plain()
        try old.write { _ = try $0.save(VersionPlain.Leaf(id: "a", title: "1")) }
        old.close()
        let upcaster = StoreSchema.Upcaster(\VersionNumbered.Leaf.title) { value in
            if case .string(let text) = value { Int64(text).map { .int64($0) } } else { nil }
        }
        let schema = StoreSchema(VersionNumbered.Leaf.self, version: 2, upcasters: [upcaster])
        let new = try folder.open(schema)
        #expect(try new.read { try $0.fetch(VersionNumbered.Leaf.self).map(\.title) } == [1])
        new.close()
        let refused = failure { _ = try plain(1) }
        #expect(refused?.code == .invalidSchema)
        #expect(refused?.message.contains("Leaf.title is int64 since version 2") == true)
        #expect(failure { _ = try plain(-1) }?.message.contains("version -1") == true)
        #expect(try folder.open(schema).read { try $0.count(VersionNumbered.Leaf.self) } == 1)
    }
}
