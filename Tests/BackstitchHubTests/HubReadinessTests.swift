import CloudKitWire
import Foundation
import LMDB
import TestBudget
import Testing

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
        let (isBlocking, isOver) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        async let blocked: Void = hub.storage.write(to: [.global]) { _ in
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

    @Test func `a full disk is told until a write is kept again`() async throws {
        let fixture = try await HubFixture()
        fixture.hub.readiness.noteFullDisk()
        // The probe is kept, so that there is space again.
        #expect(await Self.get(fixture.hub, "/ready").status == 200)
        let answer = await Readiness().answer(of: FullStorage(), fixture.hub.assets, now: 0)
        #expect(answer == .ready)
        let full = Readiness()
        full.noteFullDisk()
        for _ in 0..<2 {
            let answer = await full.answer(of: FullStorage(), fixture.hub.assets, now: 0)
            #expect(answer == .diskFull)
        }
    }

    @Test func `storage that is away is told`() async throws {
        let fixture = try await HubFixture()
        let away = fixture.folder.path + "/away"
        let files = try FolderFiles(folder: away)
        try FileManager.default.removeItem(atPath: away)
        let answer = await fixture.hub.readiness.answer(of: fixture.hub.storage, files, now: 0)
        #expect(answer == .storageAway)
    }

    /// A storage on a disk without space: what changes nothing succeeds.
    private struct FullStorage: HubStorage {
        private struct Full: StorageFailure {
            var isAboutSpace: Bool { true }
        }

        private struct Transaction: HubWriting {
            let work: RequestWork

            func withValue<R>(
                _ key: HubKey, _ body: (UnsafeRawBufferPointer) throws -> R
            ) throws -> R? {
                var state = StateRow(epoch: 1, tokenKey: [])
                state.lastZone = 1
                return try state.body().withUnsafeBytes(body)
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
            answer: @escaping @Sendable (Result<R, any Error>) -> Void
        ) { answer(Result { try body(Transaction(work: work)) }) }

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
