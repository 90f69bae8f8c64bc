import BackstitchCore
import BackstitchLog
import LMDB
import Threading

/// A temporary place in which views are built again.
enum VerificationPlace {
    /// Runs a closure with empty tables in a temporary place, which is gone afterwards.
    ///
    /// - Parameter body: Runs on another thread, and again if there was too little room.
    /// - Throws: What the closure throws; ``LMDBError`` if there is no room.
    static func withTables(
        _ configuration: StoreConfiguration, _ catalog: CatalogSnapshot,
        _ body: @Sendable (TableReader) throws -> Void
    ) throws {
        let environment = try Environment.temporary(
            options: EnvironmentOptions(of: configuration, durability: .relaxed))
        defer { environment.close() }
        // On its writer thread, because it is written there.
        try environment.writer.submitAndWait {
            try environment.write { transaction in
                try body(
                    TableReader(
                        access: transaction.access, databases: try Databases(environment),
                        catalog: catalog))
            }
        }
    }
}
