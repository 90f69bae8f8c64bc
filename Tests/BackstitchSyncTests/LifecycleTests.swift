import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchTesting
import Foundation
import Threading
import TestBudget
import Testing

/// Triggers, retries, and the life of the engine. Time is a clock that the tests move on.
@Suite(.budgeted) struct LifecycleTests {
    let cloud = SimulatedCloud()
    let clock = ManualClock()

    private func device(syncOnSave: Bool = true) throws -> Device {
        let clock = clock
        return try Device(cloud) {
            $0.clock = clock
            $0.syncOnSave = syncOnSave
        }
    }

    /// Waits until somebody sleeps until the clock is moved on.
    private func untilAsleep() async {
        while clock.sleeperCount == 0, !Task.isCancelled { await Task.yield() }
    }

    @Test func `start sets up and runs a round`() async throws {
        let phone = try device()
        try await phone.note("a", "one")
        #expect(phone.engine.status == .idle)
        try await phone.engine.start()
        #expect(remote(cloud) == ["Note a {title: one}"])
        #expect(phone.engine.status == .idle)
        await phone.engine.stop()
    }

    @Test func `a write made before the start is pushed by it`() async throws {
        let phone = try device()
        try await phone.note("a", "one")
        try await phone.note("a", "two")
        try await phone.delete(Note.ID("a"))
        try await phone.note("b", "one")
        try await phone.engine.start()
        #expect(remote(cloud) == ["Note b {title: one}"])
        await phone.engine.stop()
    }

    @Test func `an edit while the engine is stopped is pushed by the next one`() async throws {
        let phone = try device()
        try await phone.note("a", "one")
        try await phone.engine.start()
        await phone.engine.stop()
        try await phone.note("a", "two")
        let next = await phone.restarted()
        try await next.engine.start()
        #expect(remote(cloud) == ["Note a {title: two}"])
        await next.engine.stop()
    }

    @Test func `a delete while the engine is stopped is pushed by the next one`() async throws {
        let phone = try device()
        try await phone.note("a", "one")
        try await phone.engine.start()
        await phone.engine.stop()
        try await phone.delete(Note.ID("a"))
        let next = await phone.restarted()
        try await next.engine.start()
        #expect(remote(cloud) == [])
        try await next.expectSettled()
        await next.engine.stop()
    }

    @Test func `a save leads to a round when others had time to join it`() async throws {
        let phone = try device()
        let events = RoundEnds(phone.engine)
        try await phone.engine.start()
        #expect(await events.next() == "finished start")
        try await phone.note("a", "one")
        await untilAsleep()
        try await phone.note("b", "one")
        clock.advance(milliseconds: 499)
        #expect(remote(cloud) == [])
        #expect(clock.sleeperCount == 1)
        clock.advance(milliseconds: 1)
        #expect(await events.next() == "finished save")
        #expect(remote(cloud).count == 2)
        await phone.engine.stop()
    }

    @Test func `without a round on save a write waits for a call`() async throws {
        let phone = try device(syncOnSave: false)
        try await phone.engine.start()
        try await phone.note("a", "one")
        for _ in 0..<100 { await Task.yield() }
        #expect(clock.sleeperCount == 0)
        try await phone.sync()
        #expect(remote(cloud).count == 1)
        await phone.engine.stop()
    }

    @Test(arguments: [false, true])
    func `a failed round is tried again by itself until it works`(syncOnSave: Bool) async throws {
        let phone = try device(syncOnSave: syncOnSave)
        let events = RoundEnds(phone.engine)
        try await phone.note("a", "one")
        phone.service.inject(ScriptedFault(.lostRequest, for: .untilCleared))
        try await phone.engine.start()
        #expect(await events.next() == "failed unreachable")
        var waits: [Int64] = []
        for _ in 0..<4 {
            await untilAsleep()
            let now = clock.milliseconds
            #expect(
                phone.engine.status
                    == .backingOff(until: Date(milliseconds: clock.nextWakeMilliseconds ?? 0)))
            clock.advanceToNextWake()
            waits.append(clock.milliseconds - now)
            #expect(await events.next() == "failed unreachable")
        }
        #expect(waits == [750, 1_500, 3_000, 6_000])
        phone.service.endFaults()
        await untilAsleep()
        clock.advanceToNextWake()
        #expect(await events.next() == "finished retry")
        #expect(remote(cloud) == ["Note a {title: one}"])
        #expect(phone.engine.status == .idle)
        await phone.engine.stop()
    }

    @Test func `a service that asks for time gets it, whatever is saved`() async throws {
        let phone = try device()
        let events = RoundEnds(phone.engine)
        try await phone.engine.start()
        _ = await events.next()
        phone.service.failNext(with: .rateLimited, retryAfterSeconds: 90)
        try await phone.note("a", "one")
        await untilAsleep()
        clock.advance(milliseconds: 500)
        #expect(await events.next() == "failed unreachable")
        await untilAsleep()
        let due = clock.milliseconds + 90_000
        #expect(clock.nextWakeMilliseconds == due)
        try await phone.note("b", "one")
        for _ in 0..<100 { await Task.yield() }
        #expect(clock.nextWakeMilliseconds == due && clock.sleeperCount == 1)
        clock.advance(milliseconds: 90_000)
        #expect(await events.next() == "finished retry")
        #expect(remote(cloud).count == 2)
        await phone.engine.stop()
    }

    @Test func `a store that fails is tried again too`() async throws {
        let phone = try device()
        let events = RoundEnds(phone.engine)
        try await phone.note("a", "one")
        phone.store.setCommitFault { throw StoreError(.io, "injected") }
        #expect(await syncError { try await phone.engine.start() }?.code == .store)
        #expect(await events.next() == "failed store")
        phone.store.setCommitFault(nil)
        await untilAsleep()
        clock.advanceToNextWake()
        #expect(await events.next() == "finished retry")
        #expect(remote(cloud).count == 1)
        await phone.engine.stop()
    }

    @Test func `a call by hand while backing off tries at once and ends the wait`() async throws {
        let phone = try device()
        phone.service.failNext(with: .lostRequest)
        try await phone.engine.start()
        await untilAsleep()
        try await phone.sync()
        #expect(phone.engine.status == .idle)
        while clock.sleeperCount > 0, !Task.isCancelled { await Task.yield() }
        await phone.engine.stop()
    }

    @Test func `a call during a round gets a round of its own`() async throws {
        let phone = try device(syncOnSave: false)
        let engine = phone.engine
        let joined = Locked<Task<SyncReport, any Error>?>(nil)
        let first = OneTime()
        phone.service.beforeReply = { info throws(ServiceError) in
            guard info.kind == .modify, first.take() else { return }
            do {
                try await phone.note("b", "later")
            } catch {
                Issue.record(error)
            }
            joined.withLock { $0 = Task { try await engine.sync() } }
            for _ in 0..<50 { await Task.yield() }
        }
        try await phone.note("a", "one")
        let events = EventRecorder(engine)
        #expect(try await phone.sync().pushedRecords == 2)
        let second = try #require(joined.withLock { $0 })
        #expect(try await second.value.pushedRecords == 0)
        await engine.stop()
        #expect(
            await events.kinds() == ["started manual", "finished", "started manual", "finished"])
        #expect(remote(cloud).count == 2)
    }

    @Test func `a save during a round leads to another round`() async throws {
        let phone = try device()
        let events = RoundEnds(phone.engine)
        let first = OneTime()
        phone.service.beforeReply = { info throws(ServiceError) in
            // The last request of the round: nothing folds the outbox after it.
            guard info.kind == .databaseChanges, first.take() else { return }
            do {
                try await phone.note("a", "one")
            } catch {
                Issue.record(error)
            }
        }
        try await phone.engine.start()
        #expect(await events.next() == "finished start")
        await untilAsleep()
        clock.advanceToNextWake()
        #expect(await events.next() == "finished save")
        #expect(remote(cloud).count == 1)
        await phone.engine.stop()
    }

    @Test func `events tell what a round did, by ids`() async throws {
        let phone = try device()
        try await phone.note("mine", "one")
        try await phone.sync()
        try cloud.write("new", type: "Note", fields: ["title": .string("n")], in: scenarioZone)
        try cloud.remove("mine", in: scenarioZone)
        var events = phone.engine.events.makeAsyncIterator()
        try await phone.sync()
        guard case .started(.manual)? = await events.next(),
            case .progress(pulledRecords: 2, pushedRecords: 0, pushTotal: nil)? =
                await events.next(),
            case .finished(let report)? = await events.next()
        else {
            Issue.record("started, progress, finished")
            return
        }
        #expect(report.changes.inserted(Note.self) == ["new"])
        #expect(report.changes.deleted(Note.self) == ["mine"])
        await phone.engine.stop()
        #expect(await events.next() == nil)
    }

    @Test func `a stopped engine stays stopped`() async throws {
        let phone = try device()
        try await phone.engine.start()
        await phone.engine.stop()
        #expect(phone.engine.status == .stopped)
        #expect(await syncError { try await phone.sync() }?.code == .stopped)
        #expect(await syncError { try await phone.engine.start() }?.code == .stopped)
        var events = phone.engine.events.makeAsyncIterator()
        #expect(await events.next() == nil)
        try await phone.note("a", "one")
        #expect(clock.sleeperCount == 0)
    }

    @Test(
        arguments: [RequestKind.databaseChanges, .zoneChanges, .modify, .createZone], [false, true])
    func `an engine that is stopped during a request leaves everything to the next`(
        kind: RequestKind, isApplied: Bool
    ) async throws {
        let phone = try device()
        let engine = phone.engine
        try await phone.note("a", "one")
        let hook: SimulatedRecordService.Hook = { info throws(ServiceError) in
            if info.kind == kind { await engine.stop() }
        }
        if isApplied {
            phone.service.beforeReply = hook
        } else {
            phone.service.beforeRequest = hook
        }
        #expect(await syncError { try await phone.sync() }?.code == .stopped)
        #expect(engine.status == .stopped)
        phone.service.beforeReply = nil
        phone.service.beforeRequest = nil
        let next = await phone.restarted()
        try await next.sync()
        #expect(remote(cloud) == ["Note a {title: one}"])
        try await next.expectSettled()
    }

    @Test func `an engine that nobody holds goes away, and its events end`() async throws {
        var phone: Device? = try device()
        let store = try #require(phone?.store)
        try await phone?.engine.start()
        weak let engine = phone?.engine
        let events = try #require(phone?.engine.events)
        phone = nil
        while engine != nil, !Task.isCancelled { await Task.yield() }
        for await _ in events {}
        _ = try await store.write { try $0.save(Note(id: "a", title: "one")) }
        #expect(clock.sleeperCount == 0)
    }

    @Test func `many saves in a row are few rounds`() async throws {
        let phone = try device()
        let events = RoundEnds(phone.engine)
        try await phone.engine.start()
        _ = await events.next()
        cloud.clearRequests()
        for number in 0..<300 { try await phone.note("n\(number)", "one") }
        await untilAsleep()
        clock.advanceToNextWake()
        #expect(await events.next() == "finished save")
        #expect(remote(cloud).count == 300)
        #expect(cloud.requestCounts[.modify] == 2)
        await phone.engine.stop()
    }
}
