import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchTesting
import Foundation
import TestBudget
import Testing

@Entity("Item") struct OldItem: Equatable {
    var id = ID()
    var title: String
}

@Entity("Item") struct NewItem: Equatable {
    var id = ID()
    var title: String
    var color: String? = nil
    @Attribute(.indexed) var rank: Int = 7
}

/// The item with a value that it can't do without.
@Entity("Item") struct StrictItem: Equatable {
    var id = ID()
    var title: String
    var level: Int16
}

@Entity("Tag") struct NewTag: Equatable {
    var id = ID()
    var name: String
    @Relationship(onDelete: .nullify) var item: NewItem.ID?
}

/// An item that needs another one, and keeps something to itself.
@Entity("Item") struct NeedingItem: Equatable {
    var id = ID()
    var title: String
    @Relationship(onDelete: .deny) var needed: NeedingItem.ID?
    @Attribute(.localOnly) var secret: String?
}

/// A folder that is gone at the end of a test.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        path =
            FileManager.default.temporaryDirectory
            .appendingPathComponent("scenario-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false)
    }

    deinit {
        do {
            try FileManager.default.removeItem(atPath: path)
        } catch {
            Issue.record(error)
        }
    }

    func store(_ name: String, _ schema: StoreSchema) throws -> Store {
        try Store(
            at: path + "/" + name, schema: schema,
            configuration: StoreConfiguration(durability: .relaxed))
    }
}

/// Devices of different versions of an application, with different schemas.
@Suite(.budgeted) struct SchemaSkewTests {
    let cloud = SimulatedCloud()
    let folder: TemporaryFolder
    let oldSchema = StoreSchema(OldItem.self)
    let newSchema = StoreSchema(NewItem.self, NewTag.self)

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test func `the old one edits what the new one made`() async throws {
        let new = try Device(cloud, "new", schema: newSchema)
        let old = try Device(cloud, "old", schema: oldSchema)
        try await new.save(NewItem(id: "i", title: "new", color: "red", rank: 3))
        try await new.sync()
        try await old.sync()
        #expect(try old.all(OldItem.self) == [OldItem(id: "i", title: "new")])
        try await old.save(OldItem(id: "i", title: "old"))
        try await old.sync()
        #expect(remote(cloud) == ["Item i {color: red, rank: 3, title: old}"])
        try await new.sync()
        #expect(
            try new.all(NewItem.self) == [NewItem(id: "i", title: "old", color: "red", rank: 3)])
        for device in [old, new] { try await device.expectSettled() }
    }

    @Test func `the new one edits what the old one made`() async throws {
        let new = try Device(cloud, "new", schema: newSchema)
        let old = try Device(cloud, "old", schema: oldSchema)
        try await old.save(OldItem(id: "i", title: "old"))
        try await old.sync()
        try await new.sync()
        #expect(try new.all(NewItem.self) == [NewItem(id: "i", title: "old", color: nil, rank: 7)])
        try await new.save(NewItem(id: "i", title: "old", color: "blue", rank: 7))
        try await new.sync()
        try await old.sync()
        #expect(try old.all(OldItem.self) == [OldItem(id: "i", title: "old")])
        try await old.save(OldItem(id: "i", title: "again"))
        try await old.sync()
        try await new.sync()
        #expect(try new.find(NewItem.ID("i"))?.color == "blue")
        for device in [old, new] { try await device.expectSettled() }
    }

    // The service got the record without its reference, which closes a circle.
    @Test func `a create that came through is recognised by an older version too`() async throws {
        let schema = StoreSchema(NeedingItem.self)
        let (new, service) = (try folder.store("a", schema), cloud.connection(device: "a"))
        let phone = Device(store: new, service: service)
        try await phone.save(NeedingItem(id: "i", title: "t", needed: "i"))
        service.failNext(.modify, with: .lostReply)
        await #expect(throws: SyncError.self) { try await phone.sync() }
        new.close()
        let old = Device(store: try folder.store("a", oldSchema), service: service)
        #expect(try await old.sync().conflicts == 0)
        try await old.sync()
        #expect(remote(cloud) == ["Item i {needed: ->i, title: t}"])
        try await old.expectSettled()
    }

    @Test func `an older version does not tell the service what was to stay here`() async throws {
        let schema = StoreSchema(NeedingItem.self)
        let (new, service) = (try folder.store("a", schema), cloud.connection(device: "a"))
        try await Device(store: new, service: service)
            .save(NeedingItem(id: "i", title: "t", secret: "mine"))
        new.close()
        let store = try folder.store("a", oldSchema)
        let old = Device(store: store, service: service)
        try await old.sync()
        #expect(remote(cloud) == ["Item i {title: t}"])
        store.close()
        let again = Device(store: try folder.store("a", schema), service: service)
        #expect(try again.find(NeedingItem.ID("i"))?.secret == "mine")
    }

    @Test(arguments: [ConflictPolicy.serverWins, .clientWins])
    func `fields that are unknown here keep the server's values in a conflict`(
        policy: ConflictPolicy
    ) async throws {
        let new = try Device(cloud, "new", schema: newSchema)
        let old = try Device(cloud, "old", schema: oldSchema) { $0.conflictPolicy = policy }
        try await new.save(NewItem(id: "i", title: "base", color: "red", rank: 1))
        try await new.sync()
        try await old.sync()
        try await new.save(NewItem(id: "i", title: "new", color: "green", rank: 2))
        try await new.sync()
        try await old.save(OldItem(id: "i", title: "old"))
        #expect(try await old.sync().conflicts == 1)
        let title = policy == .serverWins ? "new" : "old"
        #expect(remote(cloud) == ["Item i {color: green, rank: 2, title: \(title)}"])
        try await new.sync()
        #expect(try new.find(NewItem.ID("i"))?.color == "green")
        for device in [old, new] { try await device.expectSettled() }
    }

    @Test func `an upgrade shows what arrived before it, without fetching again`() async throws {
        let new = try Device(cloud, "new", schema: newSchema)
        try await new.save(NewItem(id: "i", title: "new", color: "red", rank: 3))
        try await new.save(NewTag(id: "t", name: "tag", item: "i"))
        try await new.sync()
        let service = cloud.connection(device: "old")
        do {
            let old = Device(store: try folder.store("s", oldSchema), service: service)
            try await old.sync()
            try await old.save(OldItem(id: "i", title: "old"))
            try await old.sync()
            old.store.close()
        }
        let upgraded = Device(store: try folder.store("s", newSchema), service: service)
        #expect(
            try upgraded.all(NewItem.self) == [
                NewItem(id: "i", title: "old", color: "red", rank: 3)
            ])
        #expect(try upgraded.all(NewTag.self) == [NewTag(id: "t", name: "tag", item: "i")])
        let ranked = try upgraded.store.read {
            try $0.fetch(Query<NewItem>().where(#Predicate { $0.rank == 3 }))
        }
        #expect(ranked.count == 1)
        #expect(try await upgraded.sync().pulledRecords <= 1)
        try await upgraded.save(NewTag(id: "t", name: "edited", item: "i"))
        try await upgraded.sync()
        #expect(
            remote(cloud) == [
                "Item i {color: red, rank: 3, title: old}", "Tag t {item: ->i, name: edited}",
            ])
        try await upgraded.expectSettled()
    }

    @Test func `an edit made before an upgrade is pushed after it`() async throws {
        let service = cloud.connection(device: "old")
        do {
            let old = Device(store: try folder.store("s", oldSchema), service: service)
            try await old.save(OldItem(id: "i", title: "offline"))
            old.store.close()
        }
        let upgraded = Device(store: try folder.store("s", newSchema), service: service)
        try await upgraded.save(NewItem(id: "i", title: "offline", color: "red", rank: 7))
        try await upgraded.sync()
        #expect(remote(cloud) == ["Item i {color: red, rank: 7, title: offline}"])
        try await upgraded.expectSettled()
    }

    @Test func `a null that the old one does not know stays a null`() async throws {
        let new = try Device(cloud, "new", schema: newSchema)
        let old = try Device(cloud, "old", schema: oldSchema)
        try await new.save(NewItem(id: "i", title: "new", color: "red", rank: 3))
        try await new.sync()
        try await old.sync()
        try await new.save(NewItem(id: "i", title: "new", color: nil, rank: 3))
        try await new.sync()
        try await old.sync()
        try await old.save(OldItem(id: "i", title: "old"))
        try await old.sync()
        try await new.sync()
        #expect(
            try new.find(NewItem.ID("i")) == NewItem(id: "i", title: "old", color: nil, rank: 3))
        #expect(remote(cloud) == ["Item i {rank: 3, title: old}"])
    }

    @Test func `a removed attribute keeps its values on the service`() async throws {
        let service = cloud.connection(device: "phone")
        do {
            let new = Device(store: try folder.store("s", newSchema), service: service)
            try await new.save(NewItem(id: "i", title: "new", color: "red", rank: 3))
            try await new.sync()
            new.store.close()
        }
        let old = Device(store: try folder.store("s", oldSchema), service: service)
        try await old.save(OldItem(id: "i", title: "old"))
        try await old.sync()
        #expect(remote(cloud) == ["Item i {color: red, rank: 3, title: old}"])
        try await old.expectSettled()
    }

    @Test func `records of a type that was removed from the schema are still pushed`() async throws
    {
        let service = cloud.connection(device: "phone")
        do {
            let new = Device(store: try folder.store("s", newSchema), service: service)
            try await new.save(NewTag(id: "t", name: "tag", item: nil))
            new.store.close()
        }
        let old = Device(store: try folder.store("s", oldSchema), service: service)
        try await old.sync()
        #expect(remote(cloud) == ["Tag t {name: tag}"])
        try await old.expectSettled()
    }

    @Test func `records that don't fit the type are kept and the others are read`() async throws {
        // As a hub does, which takes values of any type.
        cloud.options.keepsFieldTypes = false
        let strict = try Device(cloud, "strict", schema: StoreSchema(StrictItem.self))
        try await strict.sync()
        let title = ServiceValue.string("t")
        try cloud.write("missing", type: "Item", fields: ["title": title], in: scenarioZone)
        try cloud.write(
            "range", type: "Item", fields: ["title": title, "level": .int64(100_000)],
            in: scenarioZone)
        try cloud.write(
            "kind", type: "Item", fields: ["title": title, "level": .string("high")],
            in: scenarioZone)
        try cloud.write(
            "fits", type: "Item", fields: ["title": title, "level": .int64(5)], in: scenarioZone)
        #expect(try await strict.sync().pulledRecords == 4)
        #expect(try strict.all(StrictItem.self).map(\.id) == ["fits"])
        for name in ["missing", "range", "kind"] {
            #expect(throws: StoreError.self) { try strict.find(StrictItem.ID(name)) }
        }
        let before = remote(cloud)
        try await strict.save(StrictItem(id: "own", title: "own", level: 1))
        try await strict.sync()
        #expect(
            remote(cloud)
                == (before + ["Item own {level: 1, title: own}"]).sorted {
                    $0.split(separator: " ")[1] < $1.split(separator: " ")[1]
                })
        try cloud.write("range", type: "Item", fields: ["level": .int64(9)], in: scenarioZone)
        try await strict.sync()
        #expect(try strict.find(StrictItem.ID("range"))?.level == 9)
        try await strict.save(StrictItem(id: "missing", title: "mended", level: 2))
        try await strict.sync()
        #expect(remote(cloud).contains("Item missing {level: 2, title: mended}"))
        try await strict.expectSettled()
    }
}
