import BackstitchCore
import CloudKitWire
import Foundation
import TestBudget
import Testing
import Threading

@testable import BackstitchHub
@testable import BackstitchHubCore

/// A hub tells of its own writes once, whenever it hears of their commits.
@Suite(.budgeted) struct OwnWriteTests {
    /// A storage whose writes are heard of before their callers go on.
    private struct OverheardStorage: HubStorage {
        let base = MemoryHubStorage()
        struct Hook: Sendable {
            var afterCommit: @Sendable () -> Void = {}
        }
        let hook = Locked(Hook())
        /// How many reads that somebody submitted were not answered yet.
        let reading = Locked(0)

        func readAtHand<R>(
            _ work: RequestWork, _ body: (any HubReading) throws -> R
        ) throws -> R? { try base.readAtHand(work, body) }

        func read<R: Sendable>(
            _ lane: WorkPool.Lane, _ work: RequestWork,
            _ body: @escaping @Sendable (any HubReading) throws -> R
        ) async throws -> R { try await base.read(lane, work, body) }

        func submitRead<R: Sendable>(
            _ lane: WorkPool.Lane, _ work: RequestWork,
            _ body: @escaping @Sendable (any HubReading) throws -> R,
            answer: @escaping @Sendable (Result<R, any Error>) -> WorkPool.Answer
        ) {
            reading.withLock { $0 += 1 }
            base.submitRead(lane, work, body) { result in
                let handOver = answer(result)
                return {
                    handOver()
                    reading.withLock { $0 -= 1 }
                }
            }
        }

        func write<R: Sendable>(
            _ work: RequestWork, to partitions: Partitions,
            expecting queries: @escaping @Sendable () -> [KeyQuery],
            _ body: @escaping @Sendable (any HubWriting) throws -> R
        ) async throws -> R {
            let result = try await base.write(work, to: partitions, expecting: queries, body)
            hook.withLock { $0 }.afterCommit()
            while reading.withLock({ $0 }) > 0 { await Task.yield() }
            return result
        }

        func wakeUp(
            watching: @escaping @Sendable () -> [Partition],
            _ wake: @escaping @Sendable (ChangedPartitions) -> Void
        ) { base.wakeUp(watching: watching, wake) }
        func refuseWork() { base.refuseWork() }
        func close() { base.close() }
    }

    @Test func `a write that its hub hears of before it goes on is not told once more`()
        async throws
    {
        let storage = OverheardStorage()
        let fixture = try await HubFixture(storage: storage)
        try await fixture.makeZones("z")
        let subscription = WireSubscription(subscriptionID: "s", kind: .database)
        let _: SubscriptionsResponse = try await fixture.call(
            .modifySubscriptions,
            ModifySubscriptionsRequest(operations: [.create(subscription)]))
        let device: PushTokenResponse = try await fixture.call(
            .createToken, PushTokenRequest(apnsEnvironment: "development"))
        let courier = String(device.webcourierURL.dropFirst("http://127.0.0.1".count))
        func poll() async -> HubResponse {
            await fixture.hub.respond(to: HubRequest(method: "GET", target: courier))
        }
        // From now on it is told what others change.
        async let first = poll()
        try await fixture.waitForListeners()
        fixture.hub.mailboxes.releaseAll()
        #expect(await first.byteCount == 0)
        storage.hook.withLock { [notifier = fixture.hub.notifier] hook in
            hook.afterCommit = { notifier.wake(.all) }
        }
        let record =
            #"{"zoneID":{"zoneName":"z"},"operations":[{"operationType":"create","record":"#
            + MeteredHub.record("a") + "}]}"
        let zone = ModifyZonesRequest(operations: [.init(.create, WireZoneID("y"))]).body()
        for (endpoint, body) in [
            (Endpoint.modifyRecords, Array(record.utf8)), (.modifyZones, zone),
        ] {
            // The device that made a change is not told of it.
            let request = HubRequest(
                method: "POST", target: fixture.target(endpoint, as: fixture.ada),
                headers: [HubRequest.Header(WireHeader.pushToken, device.apnsToken)],
                body: body)
            #expect(await fixture.hub.respond(to: request).status == 200)
        }
        await fixture.tellAll()
        async let quiet = poll()
        try await fixture.waitForListeners()
        fixture.hub.mailboxes.releaseAll()
        #expect(await quiet.byteCount == 0)
    }

    @Test func `a write that failed leaves its place to whoever has it then`() async throws {
        struct Failed: Error {}
        let feeds = WatchedFeeds()
        let partition = Partition(number: 7)
        let access = DatabaseAccess(
            realm: RealmRow(number: 1, container: "c", environment: "e"), scope: .everybodys,
            principal: .anonymous, partition: partition)
        let start = WatchedFeeds.Position(database: 4, zones: ["z": 2])
        let listener = CourierListener(realm: 1, userRecordName: "u")
        feeds.add([(access, start)], of: listener) { _ in true }
        func step(_ number: UInt64) -> FeedStep {
            FeedStep(database: number..<number + 1, zones: ["z": number - 2..<number - 1])
        }
        try await feeds.write(to: partition) { write in
            write.begin(step(4))
            #expect(feeds.position(of: partition)?.database == 5)
            // Run again, after others.
            write.begin(step(5))
            #expect(feeds.position(of: partition) == start)
            write.begin(step(4))
        }
        #expect(feeds.position(of: partition)?.zones == ["z": 3])
        await #expect(throws: Failed.self) {
            try await feeds.write(to: partition) { write in
                write.begin(step(5))
                throw Failed()
            }
        }
        #expect(feeds.position(of: partition)?.database == 5)
        #expect(feeds.position(of: partition)?.zones == ["z": 3])
    }
}
