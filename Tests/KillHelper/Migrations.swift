import Backstitch
import Foundation
import Synchronization

/// Data migrations that show if they are made twice, or in part.
///
/// Each item that is migrated is printed as `1 0`, and their end as `0 0`.
enum Migrations {
    /// How many more items may be migrated.
    private static let left = Atomic(0)

    /// Makes every item one revision newer.
    private static let revisions = DataMigration(
        "1: newer revisions", each: Item.self, inPartsOf: 4
    ) { transaction, item in
        Migrations.tell()
        var item = item
        item.revision += 1
        try transaction.save(item)
    }

    /// Makes an item, or makes it newer.
    private static let single = DataMigration("2: one item") { transaction in
        var item =
            try transaction.find(Item.self, "1-0-a")
            ?? Item(id: "1-0-a", writer: 1, transaction: 0, revision: 0)
        item.revision += 1
        Migrations.tell()
        try transaction.save(item)
    }

    /// Tells of an item, and stays within its transaction if it is the last one that may be migrated.
    private static func tell() {
        KillHelper.acknowledge("1 0\n")
        if left.subtract(1, ordering: .relaxed).newValue == 0 { KillHelper.idle() }
    }

    /// Opens a store, says when that was done, and waits to be killed.
    ///
    /// - Parameter most: The number of the item in whose transaction it waits instead, if there are as many.
    static func make(in path: String, most: Int) async throws {
        left.store(most, ordering: .relaxed)
        let store = try Store(
            at: URL(filePath: path), schema: StoreSchema(Item.self),
            configuration: StoreConfiguration(dataMigrations: [revisions, single]))
        KillHelper.acknowledge("0 0\n")
        withExtendedLifetime(store) { KillHelper.idle() }
    }
}
