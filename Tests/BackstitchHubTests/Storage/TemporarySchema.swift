import BackstitchHub
import Foundation
import PostgreSQLCluster

@testable import BackstitchHubCore
@testable import BackstitchHubPostgreSQL

/// A schema with the tables of one hub, in the cluster of the tests.
struct TemporarySchema {
    let address: PostgreSQLAddress
    /// By which the server knows its sessions.
    let name: String

    /// - Parameter cluster: Where it is; the one that tests share unless given.
    init(in cluster: PostgreSQLCluster? = nil, migrated: Bool = true) throws {
        let cluster = try cluster ?? PostgreSQLCluster.shared.get()
        name = "s" + UUID().uuidString.replacing("-", with: "").lowercased()
        _ = try Connection(PostgreSQLAddress(cluster.address), .plain)
            .roundTrip([BoundStatement(Statement("schema", sql: "CREATE SCHEMA \(name)"))])
        address = try PostgreSQLAddress(
            cluster.address + " application_name=\(name) options='-c search_path=\(name)'")
        if migrated { _ = try PostgreSQLHubStorage.migrate(address, clock: .system) }
    }

    /// A storage of one of the hubs that share the schema.
    func storage(
        _ limits: HubLimits = HubLimits(), clock: HubClock = .system
    ) throws -> PostgreSQLHubStorage {
        try PostgreSQLHubStorage(address, clock: clock, limits: limits)
    }

    /// Ends all sessions that work with it, as an operator does.
    func endSessions() throws {
        let sql = """
            SELECT pg_terminate_backend(pid)::int::int8 FROM pg_stat_activity
            WHERE application_name = '\(name)' AND pid <> pg_backend_pid()
            """
        _ = try connection().roundTrip([BoundStatement(Statement("endSessions", sql: sql))])
    }

    /// A connection as an operator has it.
    func connection() throws -> Connection { try Connection(address, .standard) }
}
