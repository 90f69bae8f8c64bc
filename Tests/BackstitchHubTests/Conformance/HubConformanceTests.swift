import TestBudget
import Testing

@testable import BackstitchHubCore

/// One thing that the protocol says of a service, with the section of the reference that it is of.
struct ConformanceCheck: Sendable, CustomTestStringConvertible {
    var name: String
    var run: @Sendable (ConformanceWorld) async throws -> Void

    init(_ name: String, _ run: @escaping @Sendable (ConformanceWorld) async throws -> Void) {
        self.name = name
        self.run = run
    }

    var testDescription: String { name }
}

/// What the protocol says, checked on JSON alone.
@Suite("The hub follows the protocol", .budgeted)
struct HubConformanceTests {
    private static let engines = StorageEngine.available.filter {
        [.lmdb, .postgreSQL].contains($0)
    }

    @Test(arguments: ConformanceCheck.records, engines)
    func `records and their types`(check: ConformanceCheck, engine: StorageEngine) async throws {
        try await check.run(ConformanceWorld(engine))
    }

    @Test(arguments: ConformanceCheck.references, engines)
    func `references`(check: ConformanceCheck, engine: StorageEngine) async throws {
        try await check.run(ConformanceWorld(engine))
    }

    @Test(arguments: ConformanceCheck.feeds, engines)
    func `queries, feeds and zones`(check: ConformanceCheck, engine: StorageEngine) async throws {
        try await check.run(ConformanceWorld(engine))
    }

    @Test(arguments: ConformanceCheck.notifications, engines)
    func `subscriptions and notifications`(check: ConformanceCheck, engine: StorageEngine)
        async throws
    {
        try await check.run(ConformanceWorld(engine))
    }

    @Test(arguments: ConformanceCheck.assets, engines)
    func `files`(check: ConformanceCheck, engine: StorageEngine) async throws {
        try await check.run(ConformanceWorld(engine))
    }

    @Test(arguments: ConformanceCheck.http, engines)
    func `credentials and HTTP`(check: ConformanceCheck, engine: StorageEngine) async throws {
        try await check.run(ConformanceWorld(engine))
    }
}
