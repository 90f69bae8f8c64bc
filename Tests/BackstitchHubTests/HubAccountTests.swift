import CloudKitWire
import Foundation
import TestBudget
import Testing

@testable import BackstitchHub
@testable import BackstitchHubCore

/// What whoever runs a hub does with containers, users and credentials.
@Suite(.budgeted) struct HubAccountTests {
    private let storage: MemoryHubStorage?
    private let fixture: HubFixture
    private var accounts: HubAccounts { fixture.hub.accounts }
    private let realm = HubAccounts.Realm(HubFixture.container, environment: "development")

    init() async throws {
        // A storage that is far away shows what was not told.
        let far = MemoryHubStorage(isFar: true)
        storage = far
        fixture = try await HubFixture(storage: far)
    }

    private func message(_ body: () async throws -> Void) async -> String {
        do {
            try await body()
            return ""
        } catch {
            return "\(error)"
        }
    }

    private static let publicPEM = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEaxfR8uEsQkf4vOblY6RA8ncDfYEt
        6zOg9KE5RdiYwpZP40Li/hp/m47n60p8D54WK84zV2sxXs7LtkBoN79R9Q==
        -----END PUBLIC KEY-----
        """

    @Test func `what administration reads is told to the storage before`() async throws {
        var change = HubAccounts.UserChange()
        change.emailAddress = "cy@example.com"
        let container = HubFixture.container
        _ = storage?.takeMeter()
        try await accounts.makeContainer("iCloud.new", environment: "production")
        _ = try await accounts.makeAPIToken(container, environment: "development", label: "a")
        _ = try await accounts.signIn("Ada", container: container, environment: "development")
        _ = try await accounts.addUser("Cy", container: container, environment: "development")
        _ = try await accounts.changeUser(
            "Cy", container: container, environment: "development", change)
        let id = try await accounts.addServerKey(
            Self.publicPEM, container: container, environment: "development")
        for kind in HubAccounts.Credential.Kind.allCases {
            _ = try await accounts.credentials(kind)
        }
        _ = try await accounts.relabel(id: id, of: .serverKey, "b")
        #expect(try await accounts.revoke(id: id, of: [.serverKey]) != nil)
        _ = try await accounts.users(container, environment: "development")
        _ = try await accounts.revoke("none")
        _ = try await accounts.removeUser(
            "Cy", container: container, environment: "development")
        try await accounts.renameContainer(
            HubAccounts.Realm("iCloud.new", environment: "production"), to: "iCloud.newer")
        _ = try await accounts.containers()
        #expect(storage?.takeMeter().misses == [])
    }

    @Test func `a user is made, changed, renamed and found by the address`() async throws {
        let container = HubFixture.container
        var change = HubAccounts.UserChange()
        (change.emailAddress, change.isDiscoverable) = ("cy@example.com", true)
        let made = try await accounts.addUser(
            "Cy", container: container, environment: "development", change)
        let lookup = LookupUsersRequest(infos: [.init(emailAddress: "CY@example.com")])
        let found: UsersResponse<WireUser> = try await fixture.call(
            .lookupUsersByEmail, in: .public, lookup)
        #expect(found.users.first?.value?.userRecordName == made.userRecordName)
        #expect(found.users.first?.value?.firstName == "Cy")
        change = HubAccounts.UserChange()
        (change.name, change.isDiscoverable) = ("Cyd", false)
        let renamed = try await accounts.changeUser(
            "Cy", container: container, environment: "development", change)
        #expect(renamed.userRecordName == made.userRecordName && renamed.name == "Cyd")
        #expect(renamed.emailAddress == "cy@example.com")
        let hidden: UsersResponse<WireUser> = try await fixture.call(
            .lookupUsersByEmail, in: .public, lookup)
        #expect(hidden.users.isEmpty)
        let names = try await accounts.users(container, environment: "development").map(\.name)
        #expect(names == ["Ada", "Bob", "Cyd"])
        let taken = await message {
            change.name = "Bob"
            _ = try await accounts.changeUser(
                "Cyd", container: container, environment: "development", change)
        }
        #expect(taken.contains("a user 'Bob' already"))
        let missing = await message {
            _ = try await accounts.changeUser(
                "Dee", container: container, environment: "development", change)
        }
        #expect(missing.contains("no user 'Dee'"))
        let twice = await message {
            _ = try await accounts.addUser(
                "Bob", container: container, environment: "development")
        }
        #expect(twice.contains("a user 'Bob' already"))
    }

    @Test func `credentials are listed without a secret, and revoked by their id`() async throws {
        let sessions = try await accounts.credentials(.session)
        #expect(sessions.map(\.userName) == ["Ada", "Bob"])
        #expect(sessions.allSatisfy { $0.id.count == 16 && $0.realm == realm })
        let bob = try #require(sessions.last)
        #expect(try await accounts.revoke(id: bob.id, of: [.apiToken]) == nil)
        #expect(
            try await accounts.revoke(id: bob.id.uppercased(), of: [.session])?.userName == "Bob")
        #expect(await fixture.send(.listZones, as: fixture.bob, body: []).status == 401)
        #expect(await fixture.send(.listZones, as: fixture.ada, body: []).status == 200)
        let token = try #require(try await accounts.credentials(.apiToken).first)
        let labelled = try await accounts.relabel(id: token.id, of: .apiToken, "the app")
        #expect(labelled?.label == "the app")
        #expect(try await accounts.credentials(.apiToken).map(\.label) == ["the app"])
        #expect(try await accounts.revoke(id: token.id, of: [.apiToken]) != nil)
        #expect(await fixture.send(.listZones, as: fixture.ada, body: []).status == 401)
    }

    private func partition(of user: HubAccounts.SignedInUser) async throws -> Partition {
        try await fixture.hub.storage.read { [realm] transaction in
            let name = DatabaseName(
                realm: try transaction.realm(realm).number, scope: .private,
                user: user.userRecordName)
            return try #require(try transaction.partition(of: name))
        }
    }

    /// A user with records, a file, a device and a subscription in both databases.
    private func fill() async throws {
        try await fixture.makeZones("z")
        _ = try await fixture.modify(.init(.create, HubFixture.record("a")))
        let subscriptions = ModifySubscriptionsRequest(operations: [
            .create(WireSubscription(subscriptionID: "s", kind: .zone, zoneID: WireZoneID("z")))
        ])
        let _: SubscriptionsResponse = try await fixture.call(.modifySubscriptions, subscriptions)
        let _: PushTokenResponse = try await fixture.call(
            .createToken, PushTokenRequest(apnsEnvironment: "development"))
        let partition = try await partition(of: fixture.ada)
        let file = try #require(HubFile(partition, String(repeating: "a", count: 64)))
        let path = fixture.hub.assets.incomingPath([1])
        try fixture.hub.assets.write([1, 2, 3], to: path)
        try fixture.hub.assets.keep(path, as: file)
    }

    /// The tables in which something names a partition or a user.
    private func entries(naming text: String, or partition: Partition) throws -> [HubKey.Table?] {
        var found: [HubKey.Table?] = []
        for (bytes, value) in storage?.entries ?? [:] {
            let key = bytes.withUnsafeBytes { HubKey(bytes: $0) }
            let isNamed = String(decoding: bytes + value, as: UTF8.self).contains(text)
            if isNamed || key.partition == partition { found.append(key.table) }
        }
        return found
    }

    @Test func `nothing of a user who is removed is left, and all of the others`() async throws {
        try await fill()
        try await fixture.setUpBob()
        let (ada, bob) = try await (
            partition(of: fixture.ada), partition(of: fixture.bob)
        )
        let bobs = try entries(naming: fixture.bob.userRecordName, or: bob).count
        let folder = fixture.folder.appendingPathComponent(ada.text).path
        #expect(FileManager.default.fileExists(atPath: folder))
        let erasure = try await accounts.removeUser(
            "Ada", container: HubFixture.container, environment: "development")
        #expect(erasure.sessions == 1 && erasure.databases == 1 && erasure.entries > 5)
        #expect(erasure.userRecordName == fixture.ada.userRecordName)
        #expect(try entries(naming: fixture.ada.userRecordName, or: ada) == [])
        #expect(!FileManager.default.fileExists(atPath: folder))
        #expect(try entries(naming: fixture.bob.userRecordName, or: bob).count == bobs)
        #expect(await fixture.send(.listZones, as: fixture.ada, body: []).status == 401)
        #expect(await fixture.send(.listZones, as: fixture.bob, body: []).status == 200)
        // A user of the same name is another one.
        let again = try await accounts.signIn(
            "Ada", container: HubFixture.container, environment: "development")
        #expect(again.userRecordName != fixture.ada.userRecordName)
        let zones: ZonesResponse = try await fixture.call(
            .listZones, LookupZonesRequest(zones: []), as: again)
        #expect(zones.zones.count == 1)
    }

    @Test func `a request that was under way leaves nothing of a user who was removed`()
        async throws
    {
        // Its head came before, and the database is not made yet.
        var request = HubRequest(
            method: "POST", target: fixture.target(.modifyZones, as: fixture.ada))
        let admission = await fixture.hub.admissions.admission(of: &request, length: 100)
        guard case .take = admission else {
            Issue.record("The head was refused.")
            return
        }
        _ = try await accounts.removeUser(
            "Ada", container: HubFixture.container, environment: "development")
        request.body = .bytes(
            ModifyZonesRequest(operations: [.init(.create, WireZoneID("late"))]).body())
        #expect(await fixture.hub.respond(to: request).status == 401)
        let found = try entries(
            naming: fixture.ada.userRecordName, or: Partition(number: .max))
        #expect(found == [])
    }

    @Test func `an erasure that was cut goes on with writes of others`() async throws {
        try await fill()
        let ada = try await partition(of: fixture.ada)
        let name = DatabaseName(
            realm: try await fixture.hub.storage.read { [realm] in try $0.realm(realm).number },
            scope: .private, user: fixture.ada.userRecordName)
        // As if the process ended after it took the name away.
        try await fixture.hub.storage.write(to: [.global]) { [fixture] transaction in
            try transaction.delete(name.key)
            try transaction.put(
                DeletionRow.key(ada), DeletionRow(since: fixture.hub.configuration.now))
        }
        _ = try await accounts.revoke(fixture.ada.webAuthToken)
        func write(_ number: Int) async throws {
            let operation = WireRecordOperation(.create, HubFixture.record("r\(number)"))
            let request = ModifyRecordsRequest(operations: [operation], zoneID: nil)
            let _: RecordsResponse = try await fixture.call(
                .modifyRecords, request, as: fixture.bob)
        }
        for number in 0..<40 { try await write(number) }
        #expect(try entries(naming: "\u{0}nobody", or: ada) == [])
        let isDoomed = storage?.entries.keys.contains(DeletionRow.key(ada).bytes)
        #expect(isDoomed == true)
        fixture.advance(milliseconds: Deleter.graceMilliseconds)
        for number in 40..<80 { try await write(number) }
        #expect(storage?.entries.keys.contains(DeletionRow.key(ada).bytes) == false)
    }

    @Test func `a container is renamed with all that it has, and removed with it`() async throws {
        try await fill()
        try await accounts.renameContainer(realm, to: "iCloud.renamed")
        #expect(await fixture.send(.listZones, as: fixture.ada, body: []).status == 401)
        let target = fixture.target(.listZones, as: fixture.ada)
            .replacing(HubFixture.container, with: "iCloud.renamed")
        let reply = await fixture.hub.respond(to: HubRequest(method: "GET", target: target))
        #expect(reply.status == 200)
        guard case .bytes(let bytes) = reply.body else { return }
        #expect(String(decoding: bytes, as: UTF8.self).contains("\"z\""))
        let new = HubAccounts.Realm("iCloud.renamed", environment: "development")
        let erasure = try await accounts.removeContainer(new)
        #expect(erasure.sessions == 2 && erasure.databases >= 1)
        let left = Set((storage?.entries.keys).map { Array($0) } ?? []).compactMap { bytes in
            bytes.withUnsafeBytes { HubKey(bytes: $0).table }
        }
        #expect(Set(left).isSubset(of: [.state, .doomed, .expiry]))
        #expect(try await accounts.containers() == [])
    }
}

extension HubFixture {
    /// Has Bob make his database.
    fileprivate func setUpBob() async throws {
        let _: ZonesResponse = try await call(
            .modifyZones, ModifyZonesRequest(operations: [.init(.create, WireZoneID("b"))]), as: bob
        )
    }
}
