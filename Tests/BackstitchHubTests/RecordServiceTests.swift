import Backstitch
import BackstitchCore
import BackstitchSync
import BackstitchTesting
import CloudKitWire
import Foundation
import Threading
import TestBudget
import Testing
import WireCrypto

@testable import BackstitchHub
@testable import BackstitchHubCore
@testable import CloudKitRecordService

@Suite("The client of CloudKit Web Services", .budgeted)
struct RecordServiceTests {
    private static func conformance(
        _ service: CloudKitRecordService
    ) -> RecordServiceConformance {
        let count = Locked(0)
        return RecordServiceConformance(service) {
            ZoneID(
                "zone\(count.withLock { count in count += 1; return count })")
        }
    }

    @Test(
        "a hub in the same process keeps the rules that an engine relies on",
        arguments: RecordServiceConformance.Check.allCases)
    func conformanceInProcess(check: RecordServiceConformance.Check) async throws {
        let fixture = try await HubFixture()
        let service = try CloudKitRecordService(
            fixture.configuration(), client: DirectClient(fixture.hub))
        #expect(await Self.conformance(service).run(check) == [])
    }

    @Test(
        "a hub over HTTP keeps the rules that an engine relies on",
        arguments: RecordServiceConformance.Check.allCases)
    func conformanceOverHTTP(check: RecordServiceConformance.Check) async throws {
        let fixture = try await HubFixture()
        let server = try HubServer(fixture.hub)
        let service = try CloudKitRecordService(
            fixture.configuration(at: server.url), client: CheckedClient(try CurlClient()))
        #expect(await Self.conformance(service).run(check) == [])
        await server.stop()
    }

    @Test("a request whose reply got lost is sent again and takes effect once")
    func lostReplies() async throws {
        let fixture = try await HubFixture()
        let client = DirectClient(fixture.hub)
        let service = try CloudKitRecordService(fixture.configuration(), client: client)
        let zone = ZoneID("z")
        try await service.createZone(zone)
        client.lostReplies.withLock { $0 = 2 }
        let create = RecordModification.create(recordName: "a", recordType: "T", fields: [:])
        let results = try await service.modifyRecords([create], in: zone, atomic: false)
        guard case .saved(let tag, _)? = results.first else {
            Issue.record("The record was not saved: \(results)")
            return
        }
        #expect(
            try await service.lookUpRecords(["a"], in: zone).first.map {
                if case .found(let record) = $0 { record.changeTag } else { "" }
            } == tag)
        client.lostReplies.withLock { $0 = 3 }
        let other = RecordModification.create(recordName: "b", recordType: "T", fields: [:])
        await #expect(throws: ServiceError.self) {
            try await service.modifyRecords([other], in: zone, atomic: false)
        }
    }

    @Test("a record that is too large is told from a user without space")
    func tooLarge() async throws {
        var limits = HubLimits()
        limits.privateDatabaseBytes = 1_000_300
        let fixture = try await HubFixture(limits: limits)
        let service = try CloudKitRecordService(
            fixture.configuration(), client: DirectClient(fixture.hub))
        let zone = ZoneID("z")
        try await service.createZone(zone)
        let create = RecordModification.create(
            recordName: "a", recordType: "T",
            fields: ["t": .string(String(repeating: "x", count: 999_900))])
        let created = try await service.modifyRecords([create], in: zone, atomic: false)
        guard case .saved(let tag, _)? = created.first else {
            Issue.record("\(created)")
            return
        }
        func update(_ count: Int) async throws -> ServiceError.Code? {
            let update = RecordModification.update(
                recordName: "a", recordType: "T", changeTag: tag,
                fields: ["u": .string(String(repeating: "x", count: count))])
            let results = try await service.modifyRecords([update], in: zone, atomic: false)
            guard case .failed(let error)? = results.first else { return nil }
            return error.code
        }
        #expect(try await update(500) == .limitExceeded)
        let other = RecordModification.create(
            recordName: "b", recordType: "T",
            fields: ["t": .string(String(repeating: "x", count: 600))])
        let second = try await service.modifyRecords([other], in: zone, atomic: false)
        guard case .failed(let error)? = second.first else {
            Issue.record("\(second)")
            return
        }
        #expect(error.code == .quotaExceeded)
        #expect(try await update(10) == nil)
    }

    @Test("two stores come to hold the same through a hub over HTTP")
    func engines() async throws {
        let fixture = try await HubFixture()
        let server = try HubServer(fixture.hub)
        func device() async throws -> (Store, SyncEngine) {
            let store = try Store.inMemory(schema: StoreSchema(Note.self))
            let service = try CloudKitRecordService(fixture.configuration(at: server.url))
            let engine = SyncEngine(
                store: store, service: service,
                configuration: SyncConfiguration(zoneName: "Notes", syncOnSave: false))
            return (store, engine)
        }
        let (first, firstEngine) = try await device()
        let (second, secondEngine) = try await device()
        let notes = (0..<450).map { Note(text: "note \($0)", number: $0) }
        try await first.write { transaction in
            for note in notes { try transaction.save(note) }
        }
        try await firstEngine.sync()
        try await secondEngine.sync()
        var edited = notes[7]
        edited.text = "edited"
        try await second.write { [edited] in try $0.save(edited) }
        try await second.write { try $0.delete(notes[8]) }
        try await secondEngine.sync()
        try await firstEngine.sync()
        let all = Query<Note>().sorted(by: \.number)
        let found = try first.read { try $0.fetch(all) }
        #expect(found.count == 449 && found[7].text == "edited")
        #expect(try second.read { try $0.fetch(all) } == found)
        await firstEngine.stop()
        await secondEngine.stop()
        await server.stop()
    }

    @Test("a change is told to another device that follows, over HTTP")
    func following() async throws {
        let fixture = try await HubFixture()
        let server = try HubServer(fixture.hub)
        let service = try CloudKitRecordService(fixture.configuration(at: server.url))
        let zone = ZoneID("z")
        try await service.createZone(zone)
        try await service.createSubscription("s", to: zone)
        let (told, teller) = AsyncStream.makeStream(of: ZoneID?.self)
        let follower = Task {
            try await service.followChanges(sleep: { _ in throw CancellationError() }) {
                teller.yield($0)
            }
        }
        var changes = told.makeAsyncIterator()
        #expect(await changes.next() == .some(nil))
        let other = try CloudKitRecordService(fixture.configuration(at: server.url))
        let create = RecordModification.create(recordName: "a", recordType: "T", fields: [:])
        _ = try await other.modifyRecords([create], in: zone, atomic: false)
        #expect(await changes.next() == .some(zone))
        follower.cancel()
        _ = await follower.result
        await server.stop()
    }

    @Test("a server key reads and writes the public database")
    func serverKey() async throws {
        let fixture = try await HubFixture()
        var configuration = HubConfiguration()
        configuration.clock = HubClock.system
        let folder = NSTemporaryDirectory() + "hub-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let hub = try await Hub.temporary(assetFolder: folder, configuration: configuration)
        try await hub.accounts.makeContainer(HubFixture.container, environment: "development")
        let key = SigningKey.generate()
        let keyID = try await hub.accounts.addServerKey(
            key.publicPEM, container: HubFixture.container, environment: "development")
        let service = try CloudKitRecordService(
            CloudKitConfiguration(
                url: URL(address: "http://127.0.0.1"), container: HubFixture.container,
                scope: .public,
                credentials: .serverKey(id: keyID, privateKeyPEM: key.pem)),
            client: DirectClient(hub))
        let create = RecordModification.create(recordName: "a", recordType: "T", fields: [:])
        let zone = ZoneID(WireZoneID.defaultZoneName)
        let results = try await service.modifyRecords([create], in: zone, atomic: false)
        guard case .saved? = results.first else {
            Issue.record("Not saved: \(results)")
            return
        }
        #expect(throws: ServiceError.self) {
            try CloudKitRecordService(
                CloudKitConfiguration(
                    container: "c", credentials: .serverKey(id: "1", privateKeyPEM: "none")),
                client: DirectClient(fixture.hub))
        }
        hub.close()
    }

    @Test("without a service there is an error of the network, and no wait")
    func nobodyThere() async throws {
        let service = try CloudKitRecordService(
            CloudKitConfiguration(
                url: URL(address: "http://127.0.0.1:1"), container: "c", credentials: .apiToken("t")
            ))
        await #expect(throws: ServiceError.self) { try await service.currentUser() }
    }
}

@Entity struct Note: Equatable {
    var id = ID()
    var text: String
    var number: Int
}
