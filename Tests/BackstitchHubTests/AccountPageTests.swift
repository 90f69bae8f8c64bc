import Foundation
import TestBudget
import Testing

@testable import BackstitchHub
@testable import BackstitchHubCore

/// Lists of a hub that come in pages.
@Suite(.budgeted) struct AccountPageTests {
    private let fixture: HubFixture
    private let realm = HubAccounts.Realm(HubFixture.container, environment: "development")
    private var accounts: HubAccounts { fixture.hub.accounts }
    private var lists: HubLists { fixture.hub.accounts.lists }

    init() async throws { fixture = try await HubFixture() }

    private func all<Row>(
        _ page: (String?) async throws -> HubLists.Page<Row>
    ) async throws -> (rows: [Row], pages: Int) {
        var rows: [Row] = []
        var (pages, next) = (0, String?.none)
        repeat {
            let part = try await page(next)
            rows += part.rows
            (pages, next) = (pages + 1, part.next)
        } while next != nil
        return (rows, pages)
    }

    @Test func `every user is on one page, with what the database takes up`() async throws {
        for number in 0..<7 {
            _ = try await accounts.addUser(
                "user \(number)", container: realm.container, environment: realm.environment)
        }
        let expected = try await accounts.users(
            realm.container, environment: realm.environment)
        for count in [1, 2, 4, expected.count, 100] {
            let found = try await all { after in
                try await lists.users(of: realm, after: after, count: count)
            }
            #expect(Set(found.rows.map(\.user)) == Set(expected))
            #expect(found.rows.count == expected.count)
            #expect(found.pages == (expected.count + count - 1) / count)
        }
        let one = try await lists.users(of: realm, named: "user 3", count: 5)
        #expect(one.rows.map(\.user.name) == ["user 3"] && one.next == nil)
        await #expect(throws: HubError.self) {
            try await lists.users(of: realm, after: "no Base64", count: 5)
        }
        await #expect(throws: HubError.self) {
            try await lists.users(
                of: HubAccounts.Realm("None", environment: "development"), count: 5)
        }
    }

    @Test func `credentials come with their users, and a session that ended does not come`()
        async throws
    {
        for number in 0..<5 {
            _ = try await accounts.signIn(
                "user \(number)", container: realm.container, environment: realm.environment)
        }
        for kind in HubAccounts.Credential.Kind.allCases {
            let expected = try await accounts.credentials(kind)
            let found = try await all { after in
                try await lists.credentials(kind, after: after, count: 2)
            }
            #expect(Set(found.rows) == Set(expected))
            #expect(found.rows.count == expected.count)
        }
        let before = try await lists.credentials(.session, count: 100).rows.count
        #expect(before >= 5)
        _ = try await accounts.endSessions(
            of: "user 1", container: realm.container, environment: realm.environment)
        #expect(try await lists.credentials(.session, count: 100).rows.count == before - 1)
    }
}
