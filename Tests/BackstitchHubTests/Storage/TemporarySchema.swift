import BackstitchHub
import Foundation
import PostgreSQLCluster

@testable import BackstitchHubCore
@testable import BackstitchHubPostgreSQL

/// A schema with the tables of one hub, in the cluster of the tests.
struct TemporarySchema {
    let address: PostgreSQLAddress

    /// - Parameter cluster: Where it is; the one that tests share unless given.
    init(in cluster: PostgreSQLCluster? = nil, migrated: Bool = true) throws {
        let cluster = try cluster ?? PostgreSQLCluster.shared.get()
        let name = "s" + UUID().uuidString.replacing("-", with: "").lowercased()
        _ = try Connection(PostgreSQLAddress(cluster.address), .plain)
            .roundTrip([Call(Statement("schema", sql: "CREATE SCHEMA \(name)"))])
        address = try PostgreSQLAddress(
            cluster.address + " options='-c search_path=\(name)'")
        if migrated { _ = try PostgreSQLHubStorage.migrate(address, clock: .system) }
    }

    /// A storage of one of the hubs that share the schema.
    func storage(_ limits: HubLimits = HubLimits()) throws -> PostgreSQLHubStorage {
        try PostgreSQLHubStorage(address, clock: .system, limits: limits)
    }

    /// A connection as an operator has it.
    func connection() throws -> Connection { try Connection(address, .standard) }
}
