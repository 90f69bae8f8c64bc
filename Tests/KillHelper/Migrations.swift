import Backstitch
import Foundation

/// Data migrations that show if they are made twice, or in part.
enum Migrations {
    /// Makes every item one revision newer.
    private static let revisions = DataMigration(
        "1: newer revisions", each: Item.self, inPartsOf: 4
    ) { transaction, item in
        // Long enough to be killed in.
        usleep(300)
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
        usleep(3_000)
        try transaction.save(item)
    }

    /// Opens a store, says when that was done, and waits to be killed.
    static func make(in path: String) async throws {
        let store = try Store(
            at: URL(filePath: path), schema: StoreSchema(Item.self),
            configuration: StoreConfiguration(dataMigrations: [revisions, single]))
        KillHelper.acknowledge("0 0\n")
        try await Task.sleep(for: .seconds(600))
        store.close()
    }
}
