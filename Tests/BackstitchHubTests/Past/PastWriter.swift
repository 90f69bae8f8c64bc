import BackstitchCore
import Backstitch
import BackstitchSync
import BackstitchTesting
import BackstitchViews
import CloudKitWire
import Foundation

@testable import BackstitchHub
@testable import BackstitchHubCore
@testable import CloudKitRecordService

/// Writes a store and the hub that it is synchronised with, through the public interface, with
/// something of everything that they may hold.
struct PastWriter {
    static let milliseconds: Int64 = 1_700_000_000_000

    let folder: String
    let clock = ManualClock(milliseconds: milliseconds)

    /// Leaves both in another folder as a kill does, with their last commits in the journals alone.
    func write(to kept: String) async throws {
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
        let past = try await PastHub(at: folder + "/hub", milliseconds: Self.milliseconds)
        let (container, environment) = (PastHub.container, PastHub.environment)
        try await past.hub.accounts.makeContainer(container, environment: environment)
        let apiToken = try await past.hub.accounts.makeAPIToken(
            container, environment: environment, label: "kept")
        let ada = try await past.hub.accounts.signIn(
            "Ada", container: container, environment: environment, emailAddress: "ada@example.com")
        let bob = try await past.hub.accounts.signIn(
            "Bob", container: container, environment: environment)
        let credentials = PastHub.Credentials(
            apiToken: apiToken, ada: ada.webAuthToken, bob: bob.webAuthToken)
        try JSONEncoder().encode(credentials)
            .write(to: URL(fileURLWithPath: folder + "/credentials.json"))
        try await writeRest(past, credentials)
        try await writeTraffic(past, credentials)
        let store = try await writeStore(past, credentials)
        try await writeLast(past, credentials)
        try keep(in: kept)
        store.close()
        past.hub.close()
        try FileManager.default.removeItem(atPath: folder)
    }

    /// Small commits to the hub, which are not applied yet.
    private func writeLast(_ past: PastHub, _ credentials: PastHub.Credentials) async throws {
        for number in 0..<6 {
            let made: RecordsResponse = try await past.call(
                .modifyRecords,
                ModifyRecordsRequest(
                    operations: [.init(.create, HubFixture.record("late\(number)"))],
                    zoneID: WireZoneID("A")), credentials.apiToken, credentials.ada)
            try Self.expectDone(made.records.compactMap(\.code))
        }
    }

    /// Copies the folder, without what only processes need, and without the zeros at the end of journals, which
    /// are read as if they were there.
    private func keep(in kept: String) throws {
        let files = FileManager.default
        try files.copyItem(atPath: folder, toPath: kept)
        for place in [kept + "/store", kept + "/hub"] {
            let names = ["lock.mdb", "sync.lock", "sync.status", "serving.lock", "requests.status"]
            for name in names { try? files.removeItem(atPath: place + "/" + name) }
            let journal = URL(fileURLWithPath: place + "/journal")
            let bytes = try Data(contentsOf: journal)
            let used = (bytes.lastIndex { $0 != 0 } ?? 0) + 1
            try bytes.prefix((used + 4_095) / 4_096 * 4_096).write(to: journal)
        }
    }

    /// What no client of ours makes: files, couriers, subscriptions, another user's records.
    private func writeRest(_ past: PastHub, _ credentials: PastHub.Credentials) async throws {
        let (api, bob) = (credentials.apiToken, credentials.bob)
        let zones = ModifyZonesRequest(
            operations: ["B", "Gone"].map { .init(.create, WireZoneID($0)) })
        let _: ZonesResponse = try await past.call(.modifyZones, zones, api, bob)
        let place = WireAssetPlace(recordName: "photo", fieldName: "image")
        let uploads: UploadTokensResponse = try await past.call(
            .uploadAssets,
            UploadRequest(places: [place, place], zoneID: WireZoneID("B")), api, bob
        )
        let sent = HubRequest(
            method: "POST", target: HostileWorld.path(uploads.tokens[0].url),
            body: Array("a picture of Bob's".utf8))
        guard case .bytes(let body) = await past.hub.respond(to: sent).body else { return }
        let file = try UploadedFileResponse(body: body).file
        var records: [WireRecordOperation] = [
            .init(.create, HubFixture.record("photo", ["image": .asset(file)]))
        ]
        for number in 0..<5 {
            records.append(
                .init(.create, HubFixture.record("r\(number)", ["n": .int64(Int64(number))])))
        }
        let made: RecordsResponse = try await past.call(
            .modifyRecords,
            ModifyRecordsRequest(operations: records, zoneID: WireZoneID("B")), api, bob)
        try Self.expectDone(made.records.compactMap(\.code))
        let ended: RecordsResponse = try await past.call(
            .modifyRecords,
            ModifyRecordsRequest(
                operations: [.init(.forceDelete, WireRecord(recordName: "r4"))],
                zoneID: WireZoneID("B")), api, bob)
        try Self.expectDone(ended.records.compactMap(\.code))
        let _: ZonesResponse = try await past.call(
            .modifyZones, ModifyZonesRequest(operations: [.init(.delete, WireZoneID("Gone"))]), api,
            bob)
        let shown: RecordsResponse = try await past.call(
            .modifyRecords, in: .public,
            ModifyRecordsRequest(
                operations: [.init(.create, HubFixture.record("shown", ["s": .string("all")]))]),
            api, bob)
        try Self.expectDone(shown.records.compactMap(\.code))
        var query = WireSubscription(subscriptionID: "ones", kind: .query)
        query.query = ServiceQuery(
            recordType: "T", filters: [ServiceFilter(.field("n"), .equals, .int64(1))])
        query.firesOn = ["create", "update"]
        let zone = WireSubscription(
            subscriptionID: "all-of-B", kind: .zone, zoneID: WireZoneID("B"))
        let subscribed: SubscriptionsResponse = try await past.call(
            .modifySubscriptions,
            ModifySubscriptionsRequest(operations: [.create(query), .create(zone)]), api, bob)
        try Self.expectDone(subscribed.subscriptions.compactMap(\.code))
        let courier: PushTokenResponse = try await past.call(
            .createToken, PushTokenRequest(apnsEnvironment: "production"), api, bob)
        try JSONSerialization.data(withJSONObject: ["webcourierURL": courier.webcourierURL])
            .write(to: URL(fileURLWithPath: folder + "/courier.json"))
    }

    static func expectDone(_ codes: [String]) throws {
        guard codes.isEmpty else { throw HubError(.invalid, "The hub refused: \(codes)") }
    }

    // MARK: The store

    private func open(
        _ name: String, _ schema: StoreSchema, _ projections: [any RecordProjection] = []
    ) throws
        -> Store
    {
        try Store(
            at: folder + "/" + name, schema: schema,
            configuration: StoreConfiguration(
                author: name, projections: projections, clock: clock))
    }

    /// - Returns: The store, which is open.
    private func writeStore(
        _ past: PastHub, _ credentials: PastHub.Credentials
    ) async throws -> Store {
        let service = try past.service(credentials.apiToken, credentials.ada)
        let store = try open("store", PastApp.first)
        try await store.write(author: "ada", context: "first") { tx in
            for name in ["f1", "f2"] {
                try tx.save(FirstFolder(id: FirstFolder.ID(name), name: name))
            }
            for number in 1...8 {
                try tx.save(
                    FirstNote(
                        id: FirstNote.ID("n\(number)"), title: "note \(number)",
                        rank: Int16(number), weight: Float(number) / 4, folder: "f1"))
            }
        }
        try await SyncEngine.past(store, service, clock).sync()
        store.close()
        try await editAhead(past, credentials)
        return try await useSecond(service)
    }

    /// What another device of Ada's does, whose application is ahead.
    private func editAhead(_ past: PastHub, _ credentials: PastHub.Credentials) async throws {
        clock.advance(milliseconds: 60_000)
        let laptop = try Store.inMemory(schema: PastApp.ahead)
        let engine = SyncEngine.past(
            laptop, try past.service(credentials.apiToken, credentials.ada), clock)
        try await engine.sync()
        try await laptop.write { tx in
            var moody = try tx.find(AheadNote.self, "n2") ?? AheadNote(headline: "missing")
            moody.mood = "fine"
            moody.moods = [1, 2, 3]
            try tx.save(moody)
            var contested = try tx.find(AheadNote.self, "n3") ?? AheadNote(headline: "missing")
            contested.headline = "laptop's"
            try tx.save(contested)
            _ = try tx.delete(AheadNote.ID("n6"))
            try tx.save(
                AheadSticker(
                    id: "s1", picture: Data([1, 2, 3]),
                    place: GeoLocation(latitude: 48.5, longitude: 9.25)))
        }
        try await engine.sync()
        laptop.close()
    }

    private func useSecond(_ service: CloudKitRecordService) async throws -> Store {
        clock.advance(milliseconds: 60_000)
        let store = try open("store", PastApp.second, PastApp.projections)
        try await store.prepareIndexes()
        try await store.prepareProjections()
        let engine = SyncEngine.past(store, service, clock)
        try await store.write(author: "ada", context: "second") { tx in
            var contested = try tx.find(SecondNote.self, "n3") ?? SecondNote(headline: "missing")
            contested.headline = "phone's"
            try tx.save(contested)
            try tx.save(SecondGate(id: "g1", target: "nowhere"))
        }
        try await engine.sync()
        try await engine.sync()
        try await store.compact(.keepUnsyncedOnly)
        clock.advance(milliseconds: 60_000)
        try await store.write(author: "ada", context: "undone") { tx in
            _ = try tx.update(Query<SecondNote>(), set: \.rank, to: 99)
        }
        let undone = try store.read { try $0.transactions(limit: 1) }[0].id
        _ = try await store.undo(transaction: undone)
        try await engine.sync()
        try await store.write { _ = try $0.evict(SecondNote.ID("n1")) }
        try await store.write(isLocalOnly: true) { tx in
            try tx.save(SecondNote(id: "local", headline: "stays here", secret: "s"))
        }
        try await store.write(author: "ada", context: "pending") { tx in
            var edited = try tx.find(SecondNote.self, "n4") ?? SecondNote(headline: "missing")
            edited.headline = "edited and pending"
            try tx.save(edited)
            _ = try tx.delete(SecondNote.ID("n5"))
            try tx.save(SecondFolder(id: "f3", name: "new", code: "three"))
            try tx.save(PastWriter.full)
        }
        for rank in 1...6 {
            try await store.write(isLocalOnly: true) { tx in
                try tx.save(
                    SecondNote(id: "local", headline: "stays here", rank: rank, secret: "s"))
            }
        }
        try await store.prepareProjections()
        return store
    }

    /// A note with a value in each attribute.
    static let full = SecondNote(
        id: "n9", headline: "naïve “quotes”", rank: -5, weight: 0.1, folder: "f3",
        body: Data([0, 255, 1]), place: GeoLocation(latitude: -33.5, longitude: 151.25),
        tags: ["a", "", "ß"], price: Decimal(string: "12.50"),
        day: Date(timeIntervalSince1970: 1_600_000_000.5),
        link: URL(string: "https://example.org/?q=1"),
        token: UUID(uuidString: "8C2A6F4E-1B0D-4E7A-9C3F-5D6E7F809112"), done: true, secret: "mine")
}
