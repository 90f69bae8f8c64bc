import BackstitchCore
import BackstitchLog
import LMDB
import Threading

/// Temporary places in which logs are applied to empty tables, one after the other; they are empty again
/// after each.
package final class VerificationPlace: Sendable {
    private let options: EnvironmentOptions
    private let environments: Locked<[Environment]>

    /// A place for stores of a configuration.
    ///
    /// - Throws: `io` if there is no room.
    package init(_ configuration: StoreConfiguration) throws {
        options = EnvironmentOptions(of: configuration, durability: .relaxed)
        do {
            environments = Locked([try Environment.temporary(options: options)])
        } catch {
            throw StoreError(error)
        }
    }

    deinit { for environment in environments.withLock({ $0 }) { environment.close() } }

    /// Runs a closure with empty tables, each in a transaction of its own.
    ///
    /// - Parameter body: Has to throw, so that nothing stays. It runs on another thread, and again if there
    ///   was too little room.
    /// - Throws: What the closure throws; ``LMDBError`` if there is no room.
    func withTables(
        _ count: Int, _ others: [EmptyTables] = [], _ body: @Sendable ([EmptyTables]) throws -> Void
    ) throws {
        if others.count == count { return try body(others) }
        let environment = try environment(others.count)
        // On its writer thread, because it is written there.
        try environment.writer.submitAndWait {
            try environment.write { transaction in
                let tables = EmptyTables(
                    access: transaction.access, databases: try Databases(environment))
                try self.withTables(count, others + [tables], body)
            }
        }
    }

    private func environment(_ number: Int) throws -> Environment {
        let known = environments.withLock { number < $0.count ? $0[number] : nil }
        if let known { return known }
        let environment = try Environment.temporary(options: options)
        environments.withLock { $0.append(environment) }
        return environment
    }
}

/// Tables to which a log is to be applied.
struct EmptyTables: @unchecked Sendable {  // One thread at a time has them; the others wait for it.
    let access: Access
    let databases: Databases

    func reader(_ catalog: CatalogSnapshot) -> TableReader {
        TableReader(access: access, databases: databases, catalog: catalog)
    }
}
