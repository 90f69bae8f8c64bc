import CloudKitWire
import Foundation
import TestBudget
import Testing
import WireCrypto

@testable import BackstitchHub
@testable import BackstitchHubCore

/// How users are found by name and address.
@Suite(.budgeted) struct UserIndexTests {
    private let fixture: HubFixture
    private let container = HubFixture.container
    private var accounts: HubAccounts { fixture.hub.accounts }
    private var storage: any HubStorage { fixture.hub.storage }

    init() async throws { fixture = try await HubFixture() }

    /// The names in records of the users whom a text finds.
    private func found(_ text: UserIndex.Text) async throws -> [String] {
        try await storage.read { try $0.users(text, realm: 1).map(\.userRecordName) }
    }

    private func entries() async throws -> Int {
        try await storage.read { transaction in
            var count = 0
            try transaction.scan(HubKey(.global, .userIndex), from: nil) { _, _ in
                count += 1
                return true
            }
            return count
        }
    }

    private func diagnosis() throws -> HubDiagnosis {
        try HubDiagnosis(of: #require(storage as? any SnapshotStorage), fixture.hub.assets)
    }

    /// Takes the index away.
    private func forgetIndex() async throws {
        try await storage.write(to: [.global]) { transaction in
            var keys: [HubKey] = []
            try transaction.scan(HubKey(.global, .userIndex), from: nil) { key, _ in
                keys.append(HubKey(bytes: key))
                return true
            }
            for key in keys { try transaction.delete(key) }
        }
    }

    @Test func `a user is found by what the row says now, and by nothing else`() async throws {
        #expect(try await found(.name("Ada")) == [fixture.ada.userRecordName])
        #expect(try await found(.address("ADA@example.com")) == [fixture.ada.userRecordName])
        #expect(try await found(.name("ada")) == [])
        #expect(try await found(.name("ada@example.com")) == [])
        #expect(try await found(.address("Ada")) == [])
        var change = HubAccounts.UserChange()
        (change.name, change.emailAddress) = ("Ann", "")
        _ = try await accounts.changeUser(
            "Ada", container: container, environment: "development", change)
        #expect(try await found(.name("Ada")) == [])
        #expect(try await found(.address("ada@example.com")) == [])
        #expect(try await found(.name("Ann")) == [fixture.ada.userRecordName])
        // Ann and Bob.
        #expect(try await entries() == 2)
        _ = try await accounts.removeUser("Ann", container: container, environment: "development")
        #expect(try await entries() == 1)
        // The name is free again.
        let new = try await accounts.addUser(
            "Ada", container: container, environment: "development")
        #expect(new.userRecordName != fixture.ada.userRecordName)
        #expect(try await found(.name("Ada")) == [new.userRecordName])
        #expect(try diagnosis().isHealthy)
    }

    @Test func `several users may have one address, and entries of others are passed by`()
        async throws
    {
        for name in ["Cy", "Dee", "Eve"] {
            var change = HubAccounts.UserChange()
            change.emailAddress = "ada@Example.com"
            change.isDiscoverable = name == "Dee"
            _ = try await accounts.addUser(
                name, container: container, environment: "development", change)
        }
        #expect(try await found(.address("ada@example.com")).count == 4)
        // As if a hash were that of two names, and of a user who is gone.
        let prefix = UserIndex.prefix(realm: 1, .name("Cy"))
        let bob = fixture.bob.userRecordName
        try await storage.write(to: [.global]) { transaction in
            for name in [bob, "_gone"] { try transaction.put(prefix.adding(name), []) }
        }
        let cy = try await found(.name("Cy"))
        #expect(cy.count == 1 && cy != [bob])
        let lookup = LookupUsersRequest(infos: [.init(emailAddress: "ada@example.com")])
        let own: UsersResponse<WireUser> = try await fixture.call(
            .lookupUsersByEmail, in: .public, lookup)
        #expect(own.users.count == 1)
    }

    @Test func `a user without entries is named by the doctor, and gets them by a change`()
        async throws
    {
        try await forgetIndex()
        let findings = try diagnosis().findings
        #expect(findings.count == 3 && findings.allSatisfy { $0.contains("users rename") })
        for name in ["Ada", "Bob"] {
            var change = HubAccounts.UserChange()
            change.name = name
            _ = try await accounts.changeUser(
                name, container: container, environment: "development", change)
        }
        #expect(try diagnosis().isHealthy)
        #expect(try await found(.name("Ada")) == [fixture.ada.userRecordName])
        await #expect(throws: HubError.self) {
            _ = try await accounts.endSessions(
                of: "Nobody", container: container, environment: "development")
        }
    }

    @Test func `guessing a name, and looking one up, costs the same however many users there are`()
        async throws
    {
        _ = try await fixture.hub.signIns.setPages(
            ofToken: HubAccounts.id(ofAPIToken: fixture.apiToken),
            origins: ["https://app.example.com"], callback: nil)
        func cost() async -> [Int] {
            let signIn = HubRequest(
                method: "POST", target: "/signin/" + Digest.sha256(fixture.apiToken).hexadecimal,
                headers: [
                    HubRequest.Header("Host", "hub.example.com"),
                    HubRequest.Header("Origin", "https://hub.example.com"),
                    HubRequest.Header("Content-Type", "application/x-www-form-urlencoded"),
                ], body: Array("by=password&name=Nobody&password=12345678".utf8),
                remoteAddress: "192.0.2.1")
            let lookup = HubRequest(
                method: "POST",
                target: fixture.target(.lookupUsersByEmail, in: .public, as: fixture.ada),
                headers: [],
                body: Array(#"{"users":[{"emailAddress":"nobody@example.com"}]}"#.utf8))
            var costs: [Int] = []
            for request in [signIn, lookup] {
                let work = fixture.hub.makeWork(for: request)
                _ = await fixture.hub.respond(to: request, work)
                costs.append(work.meter.keysRead)
            }
            return costs
        }
        _ = await cost()
        let few = await cost()
        for number in 0..<500 {
            _ = try await accounts.addUser(
                "user \(number)", container: container, environment: "development")
        }
        let many = await cost()
        #expect(few.allSatisfy { $0 > 0 } && many == few)
    }
}
