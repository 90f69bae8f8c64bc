import Backstitch
import BackstitchCore
import BackstitchSync
import Foundation
import TestBudget
import Testing
import Threading

@testable import BackstitchHub
@testable import BackstitchHubCore
@testable import CloudKitRecordService

/// Hubs whose data was put back to an older state, and nobody said so.
@Suite(.budgeted) struct RollbackTests {
    private static let zone = ZoneID("Wire")

    @Test(arguments: StorageEngine.available.filter { $0 != .farMemory })
    func `nothing is lost, whenever a hub is put back and whoever writes past the place`(
        engine: StorageEngine
    ) async throws {
        let seeds =
            switch engine {
            case .memory, .farMemory: Load.count("ROLLBACK_SEEDS", else: 12)
            case .lmdb: Load.count("ROLLBACK_SEEDS", else: 4)
            case .postgreSQL: Load.count("DATABASE_ROLLBACKS", else: 2)
            }
        var rollbacks = 0
        for seed in 1...UInt64(seeds) {
            let world = try await RollbackWorld(seed: seed, over: Self.data(of: engine))
            do {
                try await world.run(steps: 60)
            } catch {
                Issue.record("Seed \(seed): \(error)")
            }
            rollbacks += world.rollbacks
        }
        #expect(rollbacks > 0)
    }

    private static func data(of engine: StorageEngine) throws -> any RollbackData {
        switch engine {
        case .memory, .farMemory: CopiedEntries()
        case .lmdb: try CopiedFolder()
        case .postgreSQL: try CopiedDatabase()
        }
    }

    /// A device with a store of its own.
    private struct Device {
        let store: Store
        let engine: SyncEngine

        init(_ client: any HTTPClient, _ fixture: HubFixture) throws {
            store = try Store.inMemory(schema: StoreSchema(WireNote.self, WireFolder.self))
            engine = SyncEngine(
                store: store,
                service: try CloudKitRecordService(fixture.configuration(), client: client),
                configuration: SyncConfiguration(
                    zoneName: RollbackTests.zone.zoneName, syncOnSave: false))
        }

        func save(_ name: String, _ count: Int = 0) throws {
            try store.write { transaction in
                try transaction.save(
                    WireNote(id: WireNote.ID(name), title: name, count: count, marks: []))
            }
        }

        func count(of name: String) throws -> Int? {
            try store.read { try $0.find(WireNote.self, WireNote.ID(name))?.count }
        }
    }

    /// - Parameters:
    ///   - rounds: How often the device synchronises before the folder is put back. After the first round it has
    ///     pushed and not pulled since.
    ///   - others: How many records another device writes after that.
    @Test(arguments: [1, 2], [0, 1, 30])
    func `a device sends what a folder lacks that was put back`(
        rounds: Int, others: Int
    ) async throws {
        let (folder, copy) = (StorageEngine.TemporaryFolder(), StorageEngine.TemporaryFolder())
        let storage = try LMDBHubStorage(at: folder.path)
        let fixture = try await HubFixture(storage: storage)
        let client = SwitchedClient(fixture.hub)
        let (first, second) = (try Device(client, fixture), try Device(client, fixture))
        for number in 0..<5 { try first.save("early \(number)") }
        try await first.engine.sync()
        try await first.engine.sync()
        try storage.copy(to: copy.path) { _ in }
        for number in 0..<5 { try first.save("later \(number)") }
        try first.save("early 0", 1)
        for _ in 0..<rounds { try await first.engine.sync() }
        let hub = try await fixture.makeHub(over: LMDBHubStorage(at: copy.path))
        defer { hub.close() }
        client.serve(hub)
        for number in 0..<others { try second.save("other \(number)") }
        try await second.engine.sync()
        // An edit of what the hub lost does not end it.
        try first.save("later 0", 2)
        for _ in 0..<3 {
            try await first.engine.sync()
            try await second.engine.sync()
        }
        for device in [first, second] {
            #expect(try device.count(of: "later 0") == 2)
            #expect(try device.count(of: "early 0") == 1)
            for number in 1..<5 {
                #expect(try device.count(of: "later \(number)") == 0)
                #expect(try device.count(of: "early \(number)") == 0)
            }
            for number in 0..<others { #expect(try device.count(of: "other \(number)") == 0) }
        }
        first.store.close()
        second.store.close()
    }

    /// The figure of tokens whose commits a hub lost.
    private static func losses(_ hub: Hub) throws -> Int {
        let name = "backstitch_hub_tokens_of_lost_history_total"
        let family = try #require(hub.metricFamilies.first { $0.name == name })
        return try #require(family.samples.first.flatMap { Int($0.value) })
    }

    @Test(arguments: StorageEngine.available.filter { $0 != .farMemory })
    func `a hub that was put back counts the tokens that say so, and logs it once an hour`(
        engine: StorageEngine
    ) async throws {
        let data = try Self.data(of: engine)
        let fixture = try await HubFixture(storage: data.storage())
        let client = SwitchedClient(fixture.hub)
        let service = try CloudKitRecordService(fixture.configuration(), client: client)
        try await service.createZone(Self.zone)
        try await data.copy()
        fixture.hub.close()
        // The same state, as another hub serves it.
        try data.putBack(to: 0)
        let next = try await fixture.makeHub(over: data.storage())
        client.serve(next)
        let create = RecordModification.create(recordName: "a", recordType: "T", fields: [:])
        _ = try await service.modifyRecords([create], in: Self.zone, atomic: false)
        func pull(_ token: String?) async throws(ServiceError) -> String {
            try await service.zoneChanges(in: Self.zone, since: token, limit: 10, fields: nil)
                .token
        }
        let token = try await pull(nil)
        #expect(try await pull(token) == token)
        #expect(try Self.losses(next) == 0)
        next.close()

        try data.putBack(to: 0)
        let lines = Locked<[String]>([])
        var configuration = fixture.hub.configuration
        configuration.log = { line in lines.withLock { $0.append(line) } }
        let hub = try await Hub(
            storage: data.storage(), files: FolderFiles(folder: fixture.folder.path),
            configuration: configuration, platform: .system)
        defer { hub.close() }
        client.serve(hub)
        let refusal = await #expect(throws: ServiceError.self) { try await pull(token) }
        #expect(refusal?.code == .zoneNotFound)
        #expect(try Self.losses(hub) == 1)
        let line = try #require(lines.withLock { $0.first })
        #expect(line.contains(#""level":"error","call":"history""#), "\(line)")
        for value in ["Ada", fixture.ada.userRecordName, "Wire", HubFixture.container, token] {
            #expect(!line.contains(value), "\(line)")
        }
        func push() async throws {
            var sent = token
            _ = try await service.modifyRecords(
                [create], in: Self.zone, atomic: false, token: &sent)
        }
        await #expect(throws: ServiceError.self) { try await push() }
        let losses = try Self.losses(hub)
        #expect(losses > 1)
        #expect(lines.withLock { $0.count } == 1)
        fixture.advance(milliseconds: HistoryWatch.quietMilliseconds)
        await #expect(throws: ServiceError.self) { try await pull(token) }
        #expect(try Self.losses(hub) == losses + 1)
        #expect(lines.withLock { $0.count } == 2)
        // Another epoch is what whoever runs the hub wanted, and a token of no commit is no loss.
        try await hub.beginEpoch()
        await #expect(throws: ServiceError.self) { try await pull(token) }
        #expect(try await pull(nil) != token)
        #expect(try Self.losses(hub) == losses + 1)
        #expect(lines.withLock { $0.count } == 2)
    }

    @Test func `a deletion from before a record was made again does not end it`() async throws {
        let storage = MemoryHubStorage()
        let fixture = try await HubFixture(storage: storage)
        let client = SwitchedClient(fixture.hub)
        let device = try Device(client, fixture)
        try device.save("a")
        try await device.engine.sync()
        try await device.store.write { _ = try $0.delete(WireNote.ID("a")) }
        try await device.engine.sync()
        let copy = storage.entries
        try device.save("a", 7)
        try await device.engine.sync()
        let hub = try await fixture.makeHub(over: MemoryHubStorage(copy))
        defer { hub.close() }
        client.serve(hub)
        for resyncs in [true, false] {
            if resyncs { try await device.engine.resync(from: .server) }
            try await device.engine.sync()
            #expect(try device.count(of: "a") == 7)
        }
        let other = try Device(client, fixture)
        try await other.engine.sync()
        #expect(try other.count(of: "a") == 7)
        device.store.close()
        other.store.close()
    }

    @Test func `a hub that is started again knows the tokens and tags of before`() async throws {
        let folder = StorageEngine.TemporaryFolder()
        let fixture = try await HubFixture(storage: LMDBHubStorage(at: folder.path))
        let client = SwitchedClient(fixture.hub)
        let service = try CloudKitRecordService(fixture.configuration(), client: client)
        try await service.createZone(Self.zone)
        var (token, tag) = (nil as String?, "")
        for life in 0..<4 {
            // Another one works with the folder from here on.
            let hub = try await fixture.makeHub(over: LMDBHubStorage(at: folder.path))
            defer {
                client.serve(fixture.hub)
                hub.close()
            }
            client.serve(hub)
            let modification: RecordModification =
                life == 0
                ? .create(recordName: "a", recordType: "T", fields: [:])
                : .update(
                    recordName: "a", recordType: "T", changeTag: tag,
                    fields: ["n": .int64(Int64(life))])
            let results = try await service.modifyRecords(
                [modification], in: Self.zone, atomic: false)
            guard case .saved(let next, _)? = results.first else {
                Issue.record("The record was not saved: \(results)")
                return
            }
            tag = next
            let page = try await service.zoneChanges(
                in: Self.zone, since: token, limit: 10, fields: nil)
            #expect(page.records.map(\.changeTag) == [tag])
            token = page.token
        }
    }

    @Test(arguments: StorageEngine.shareable)
    func `hubs that write in turn know each other's tokens`(engine: StorageEngine) async throws {
        let (storage, other, keeping) = try engine.pair()
        defer { withExtendedLifetime(keeping) {} }
        let fixture = try await HubFixture(storage: storage)
        let hub = try await fixture.makeHub(over: other)
        defer { hub.close() }
        let services = try [fixture.hub, hub].map {
            try CloudKitRecordService(fixture.configuration(), client: DirectClient($0))
        }
        try await services[0].createZone(Self.zone)
        var tokens: [String] = []
        for number in 0..<12 {
            let create = RecordModification.create(
                recordName: "r\(number)", recordType: "T", fields: [:])
            _ = try await services[number % 2].modifyRecords(
                [create], in: Self.zone, atomic: false)
            for (count, token) in tokens.enumerated() {
                let page = try await services[(number + count) % 2].zoneChanges(
                    in: Self.zone, since: token, limit: 100, fields: nil)
                #expect(page.records.count == number - count)
            }
            tokens.append(
                try await services[(number + 1) % 2].zoneChanges(
                    in: Self.zone, since: nil, limit: 100, fields: nil
                ).token)
        }
        let partition = try fixture.partition(of: fixture.ada)
        let history = try storage.readHere { try $0.history(of: partition) }
        #expect(history.entries.count <= 2)
    }

    @Test func `the tag of a version that the hub lost is not that of another one`() async throws {
        let storage = MemoryHubStorage()
        let fixture = try await HubFixture(storage: storage)
        let client = SwitchedClient(fixture.hub)
        let service = try CloudKitRecordService(fixture.configuration(), client: client)
        try await service.createZone(Self.zone)
        func save(_ modification: RecordModification) async throws -> String? {
            let results = try await service.modifyRecords(
                [modification], in: Self.zone, atomic: false)
            if case .saved(let tag, _)? = results.first { return tag }
            return nil
        }
        let create = RecordModification.create(recordName: "a", recordType: "T", fields: [:])
        let first = try #require(try await save(create))
        let copy = storage.entries
        func edit(_ number: Int64, _ tag: String) -> RecordModification {
            .update(
                recordName: "a", recordType: "T", changeTag: tag, fields: ["n": .int64(number)])
        }
        let lost = try #require(try await save(edit(1, first)))
        let hub = try await fixture.makeHub(over: MemoryHubStorage(copy))
        defer { hub.close() }
        client.serve(hub)
        let other = try #require(try await save(edit(2, first)))
        #expect(lost != other)
        #expect(try await save(edit(3, lost)) == nil)
        #expect(try await save(edit(4, other)) != nil)
    }

    @Test func `the token of a modification is one of the same place, and of the state after it`()
        async throws
    {
        let storage = MemoryHubStorage()
        let fixture = try await HubFixture(storage: storage)
        let client = SwitchedClient(fixture.hub)
        let service = try CloudKitRecordService(fixture.configuration(), client: client)
        try await service.createZone(Self.zone)
        let before = try await service.zoneChanges(
            in: Self.zone, since: nil, limit: 10, fields: nil
        ).token
        let copy = storage.entries
        func create(_ name: String, _ token: String) async throws -> String {
            let create = RecordModification.create(recordName: name, recordType: "T", fields: [:])
            var next = token
            _ = try await service.modifyRecords(
                [create], in: Self.zone, atomic: false, token: &next)
            return next
        }
        let token = try await create("a", before)
        #expect(token != before)
        let page = try await service.zoneChanges(
            in: Self.zone, since: token, limit: 10, fields: nil)
        #expect(page.records.map(\.recordName) == ["a"])
        let hub = try await fixture.makeHub(over: MemoryHubStorage(copy))
        defer { hub.close() }
        client.serve(hub)
        let old = try await service.zoneChanges(
            in: Self.zone, since: before, limit: 10, fields: nil)
        #expect(old.records.isEmpty)
        let error = await #expect(throws: ServiceError.self) { try await create("b", token) }
        #expect(error?.code == .zoneNotFound)
        // Nothing was applied.
        let all = try await service.zoneChanges(in: Self.zone, since: nil, limit: 10, fields: nil)
        #expect(all.records.isEmpty)
        // One that is no token at all is the next pull's matter.
        #expect(try await create("c", "no token") == "no token")
    }

    @Test func `a modification leaves its token expired, and one that tells of it`() async throws {
        let storage = MemoryHubStorage()
        let fixture = try await HubFixture(storage: storage)
        let client = SwitchedClient(fixture.hub)
        let service = try CloudKitRecordService(fixture.configuration(), client: client)
        func pull(_ token: String?) async throws(ServiceError) -> String {
            try await service.zoneChanges(in: Self.zone, since: token, limit: 10, fields: nil)
                .token
        }
        func push(_ token: String) async throws -> String {
            let create = RecordModification.create(recordName: "a", recordType: "T", fields: [:])
            var next = token
            _ = try await service.modifyRecords(
                [create], in: Self.zone, atomic: false, token: &next)
            return next
        }
        try await service.createZone(Self.zone)
        let token = try await pull(nil)
        // The token is of the zone before.
        try await service.deleteZone(Self.zone)
        try await service.createZone(Self.zone)
        let copy = storage.entries
        let pushed = try await push(token)
        #expect(pushed != token)
        let expired = await #expect(throws: ServiceError.self) { try await pull(pushed) }
        #expect(expired?.code == .tokenExpired)
        let hub = try await fixture.makeHub(over: MemoryHubStorage(copy))
        defer { hub.close() }
        client.serve(hub)
        let lost = await #expect(throws: ServiceError.self) { try await pull(pushed) }
        #expect(lost?.code == .zoneNotFound)
    }
}
