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
@Suite("The hub follows the protocol")
struct HubConformanceTests {
    @Test(arguments: ConformanceCheck.records)
    func `records and their types`(check: ConformanceCheck) async throws {
        try await check.run(ConformanceWorld())
    }

    @Test(arguments: ConformanceCheck.references)
    func `references`(check: ConformanceCheck) async throws {
        try await check.run(ConformanceWorld())
    }

    @Test(arguments: ConformanceCheck.feeds)
    func `queries, feeds and zones`(check: ConformanceCheck) async throws {
        try await check.run(ConformanceWorld())
    }

    @Test(arguments: ConformanceCheck.notifications)
    func `subscriptions and notifications`(check: ConformanceCheck) async throws {
        try await check.run(ConformanceWorld())
    }

    @Test(arguments: ConformanceCheck.assets)
    func `files`(check: ConformanceCheck) async throws {
        try await check.run(ConformanceWorld())
    }

    @Test(arguments: ConformanceCheck.http)
    func `credentials and HTTP`(check: ConformanceCheck) async throws {
        try await check.run(ConformanceWorld())
    }
}
