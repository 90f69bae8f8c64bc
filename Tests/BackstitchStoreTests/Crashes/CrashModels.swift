import Backstitch
import BackstitchCore
import BackstitchSync

@testable import BackstitchStore

/// One entity in two versions of an app: the second has an index, a default and another name for an
/// attribute.
enum FirstVersion {
    @Entity("Item") struct Item: Equatable {
        var id = ID()
        var name: String
        var value: Int
        @Attribute(.indexed) var group: String
    }

    static let schema = StoreSchema(Item.self)
}

enum SecondVersion {
    @Entity("Item") struct Item: Equatable {
        var id = ID()
        @Attribute(.indexed) var name: String
        @Attribute(.indexed, originalName: "value") var count: Int
        var group: String
        var added = "default"
    }

    static let schema = StoreSchema(Item.self)
}

/// The records of a store in either version: a value by name.
enum CrashRecords {
    static func save(
        _ name: String, _ value: Int, _ isMigrated: Bool, _ tx: borrowing WriteTransaction
    ) throws {
        if isMigrated {
            try tx.save(
                SecondVersion.Item(id: .init(name), name: name, count: value, group: "\(value % 7)")
            )
        } else {
            try tx.save(
                FirstVersion.Item(id: .init(name), name: name, value: value, group: "\(value % 7)"))
        }
    }

    static func delete(
        _ name: String, _ isMigrated: Bool, _ tx: borrowing WriteTransaction
    ) throws {
        if isMigrated {
            _ = try tx.delete(SecondVersion.Item.ID(name))
        } else {
            _ = try tx.delete(FirstVersion.Item.ID(name))
        }
    }

    /// Acknowledges all that waits, as the sync engine does it.
    static func acknowledge(in store: Store, tag: Int) async throws {
        let pending = try store.read { try OutboxFolder($0.reader).fold(recordsMax: .max).changes }
        let version = ServerVersion(changeTag: "t\(tag)", modifiedMilliseconds: Int64(tag))
        try await store.withLogWriter { context in
            for change in pending {
                try context.marks.acknowledge(
                    change.entity, change.key, through: change.through,
                    version: change.push == .delete ? nil : version)
            }
        }
    }

    /// The values by name, of a store in its second version.
    static func values(of store: Store) throws -> [String: Int] {
        let items = try store.read { try $0.fetch(SecondVersion.Item.self) }
        return Dictionary(uniqueKeysWithValues: items.map { ("\($0.id)", $0.count) })
    }
}
