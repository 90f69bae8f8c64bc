import CloudKitWire
import Foundation
import LMDB
import TestBudget
import Testing
import Waiting

@testable import BackstitchHub
@testable import BackstitchHubCore

@Suite("Whether a hub runs, and whether it can write", .budgeted)
struct HubReadinessTests {
    private static func get(_ hub: Hub, _ path: String) async -> HubResponse {
        let request = HubRequest(method: "GET", target: path)
        let response = await hub.respond(to: request)
        response.check(against: request, mayBeWrong: false)
        return response
    }

    private static func reason(_ response: HubResponse) throws -> String {
        try WireError(body: response.body.content).reason
    }

    @Test func `a writer that is blocked is told after two seconds, and health goes on`()
        async throws
    {
        let fixture = try await HubFixture()
        let hub = fixture.hub
        #expect(await Self.get(hub, "/ready").status == 200)
        // For a moment that counts; then the hub writes again.
        fixture.advance(milliseconds: Readiness.keptMilliseconds)
        let (isBlocking, isOver) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        async let blocked: Void = hub.storage.write(to: [Readiness.partition]) { _ in
            isBlocking.signal()
            isOver.wait()
        }
        await Self.wait(for: isBlocking)
        async let first = Self.get(hub, "/ready")
        while !hub.readiness.isProbing { await Task.yield() }
        fixture.advance(milliseconds: Readiness.patienceMilliseconds)
        hub.tick()
        #expect(await first.status == 503)
        // Who asks from now on need not wait.
        let second = await Self.get(hub, "/ready")
        #expect(second.status == 503)
        #expect(try Self.reason(second) == "A write has waited for more than two seconds.")
        #expect(await Self.get(hub, "/healthz").status == 200)
        isOver.signal()
        try await blocked
        while hub.readiness.isProbing { await Task.yield() }
        #expect(await Self.get(hub, "/ready").status == 200)
    }

    private static func wait(for semaphore: DispatchSemaphore) async {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                semaphore.wait()
                continuation.resume()
            }
        }
    }

    @Test func `a full disk is told for half a minute, and until a write is kept again`()
        async throws
    {
        let fixture = try await HubFixture()
        let hub = fixture.hub
        #expect(await Self.get(hub, "/ready").status == 200)
        hub.readiness.noteFullDisk(now: hub.configuration.steadyNow)
        fixture.advance(milliseconds: 12_000)
        let full = await Self.get(hub, "/ready")
        #expect(full.status == 503 && !hub.readiness.isProbing)
        #expect(
            try Self.reason(full) == "The disk is full. Writes found no space for 12 seconds.")
        fixture.advance(milliseconds: Readiness.fullMilliseconds - 12_000)
        #expect(await Self.get(hub, "/ready").status == 200)
    }

    @Test func `a probe that is kept does not hide a write that found no space meanwhile`()
        async throws
    {
        let fixture = try await HubFixture()
        let hub = fixture.hub
        let (isBlocking, isOver) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        async let blocked: Void = hub.storage.write(to: [Readiness.partition]) { _ in
            isBlocking.signal()
            isOver.wait()
        }
        await Self.wait(for: isBlocking)
        async let probed = Self.get(hub, "/ready")
        while !hub.readiness.isProbing { await Task.yield() }
        hub.readiness.noteFullDisk(now: hub.configuration.steadyNow)
        isOver.signal()
        try await blocked
        #expect(await probed.status == 200)
        #expect(await Self.get(hub, "/ready").status == 503)
        fixture.advance(milliseconds: Readiness.fullMilliseconds)
        #expect(await Self.get(hub, "/ready").status == 200)
    }

    @Test func `a probe needs space, as writes of users do, and leaves nothing`() async throws {
        let fixture = try await HubFixture()
        let readiness = Readiness()
        for now in [0, Readiness.fullMilliseconds] {
            let answer = await readiness.answer(of: FullStorage(), fixture.hub.assets, now: now)
            #expect(answer == .diskFull)
        }
        #expect(await Self.get(fixture.hub, "/ready").status == 200)
        #expect(try fixture.hub.storage.readHere { try $0.count(.probe) } == 0)
        let incoming = fixture.folder.path + "/incoming"
        #expect(try FileManager.default.contentsOfDirectory(atPath: incoming) == [])
    }

    @Test func `storage that is away is told, and a folder of files that can't be written`()
        async throws
    {
        let fixture = try await HubFixture()
        let away = fixture.folder.path + "/away"
        let files = try FolderFiles(folder: away)
        let storage = fixture.hub.storage
        #expect(await Readiness().answer(of: storage, files, now: 0) == .ready)
        try FileManager.default.removeItem(atPath: away + "/incoming")
        #expect(await Readiness().answer(of: storage, files, now: 0) == .storageAway)
        try FileManager.default.removeItem(atPath: away)
        #expect(await Readiness().answer(of: storage, files, now: 0) == .storageAway)
    }

    @Test(arguments: StorageEngine.available)
    func `a hub that goes on removes what another one left of uploads a day ago`(
        engine: StorageEngine
    ) async throws {
        let fixture = try await HubFixture()
        let folder = fixture.folder.path + "/shared"
        let files = try FolderFiles(folder: folder, isShared: true)
        let hub = try await Hub(
            storage: engine.storage(.patient), files: files,
            configuration: fixture.hub.configuration, platform: .system)
        defer { hub.close() }
        hub.tick()
        let (cut, fresh) = (files.incomingPath([1]), files.incomingPath([2]))
        for path in [cut, fresh] { try files.write([1], to: path) }
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: 1)], ofItemAtPath: cut)
        fixture.advance(milliseconds: SweepRound.hourMilliseconds)
        hub.tick()
        try await eventually { !FileManager.default.fileExists(atPath: cut) }
        #expect(FileManager.default.fileExists(atPath: fresh))
    }

    /// A storage on a disk without space: nothing is added.
    private struct FullStorage: HubStorage {
        private struct Full: StorageFailure {
            var isAboutSpace: Bool { true }
        }

        private struct Transaction: HubWriting {
            let work: RequestWork
            var run: UInt64 { 1 }

            func withValue<R>(
                _ key: HubKey, _ body: (UnsafeRawBufferPointer) throws -> R
            ) throws -> R? {
                try StateRow(epoch: 1, tokenKey: []).body().withUnsafeBytes(body)
            }

            func scan(
                _ prefix: HubKey, from start: HubKey?,
                _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool
            ) throws {}

            func scanBackwards(
                _ prefix: HubKey, before end: HubKey?,
                _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool
            ) throws {}

            func put(_ key: HubKey, _ value: [UInt8]) throws { throw Full() }
            func delete(_ key: HubKey) throws { throw Full() }
        }

        func readAtHand<R>(
            _ work: RequestWork, _ body: (any HubReading) throws -> R
        ) throws -> R? { try body(Transaction(work: work)) }

        func read<R: Sendable>(
            _ lane: WorkPool.Lane, _ work: RequestWork,
            _ body: @escaping @Sendable (any HubReading) throws -> R
        ) async throws -> R { try body(Transaction(work: work)) }

        func submitRead<R: Sendable>(
            _ lane: WorkPool.Lane, _ work: RequestWork,
            _ body: @escaping @Sendable (any HubReading) throws -> R,
            answer: @escaping @Sendable (Result<R, any Error>) -> WorkPool.Answer
        ) { answer(Result { try body(Transaction(work: work)) })() }

        func write<R: Sendable>(
            _ work: RequestWork, to partitions: Partitions,
            expecting queries: @escaping @Sendable () -> [KeyQuery],
            _ body: @escaping @Sendable (any HubWriting) throws -> R
        ) async throws -> R { try body(Transaction(work: work)) }

        func wakeUp(
            watching: @escaping @Sendable () -> [Partition],
            _ wake: @escaping @Sendable (ChangedPartitions) -> Void
        ) {}
        func refuseWork() {}
        func close() {}
    }

    @Test func `a folder is served by one hub at a time, and by the next without what was cut`()
        async throws
    {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("serving-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        #expect(!Hub.isHub(at: folder))
        let first = try await Hub(at: folder)
        let server = try HubServer(first)
        let cut = folder + "/assets/incoming/cut"
        try Data("part".utf8).write(to: URL(fileURLWithPath: cut))
        let second = try await Hub(at: folder)
        let failure = #expect(throws: HubError.self) { try HubServer(second) }
        #expect(failure?.message.contains("Another hub serves") == true)
        // Whoever can't serve removes nothing of the one that does.
        #expect(FileManager.default.fileExists(atPath: cut))
        await server.stop()
        first.close()
        let next = try HubServer(second)
        #expect(!FileManager.default.fileExists(atPath: cut))
        await next.stop()
        second.close()
        #expect(Hub.isHub(at: folder))
    }

    @Test func `a look at a hub's folder finds what is wrong`() async throws {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("look-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let hub = try await Hub(at: folder)
        try await hub.accounts.makeContainer(HubFixture.container, environment: "development")
        hub.close()
        #expect(try Hub.diagnose(at: folder).isHealthy)
        let damaged = try await Hub(at: folder)
        let place = ZonePlace(partition: Partition(number: 9), number: 1)
        try await damaged.storage.write(to: [place.partition]) { transaction in
            try transaction.put(StoredRecord.key(place, "a"), [1, 2, 3])
        }
        damaged.close()
        let diagnosis = try Hub.diagnose(at: folder)
        #expect(!diagnosis.isHealthy && diagnosis.records == 1)
    }
}
