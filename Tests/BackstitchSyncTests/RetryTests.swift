import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchTesting
import Foundation
import Threading
import TestBudget
import Testing

/// Whatever fails, the outbox drains without another write, and no restart shortens a wait.
@Suite(.budgeted) struct RetryTests {
    let cloud = SimulatedCloud()
    let clock = ManualClock()

    private func device(_ store: Store? = nil) throws -> Device {
        let clock = clock
        return try Device(cloud, store: store) {
            $0.clock = clock
            $0.syncOnSave = true
        }
    }

    private func untilAsleep() async {
        while clock.sleeperCount == 0, !Task.isCancelled { await Task.yield() }
    }

    /// Moves the clock from wake to wake until nothing is pending.
    ///
    /// - Returns: how far the clock was moved, in milliseconds.
    private func drain(_ phone: Device, _ events: RoundEnds) async throws -> Int64 {
        let start = clock.milliseconds
        while try phone.engine.pending().pendingRecords > 0, !Task.isCancelled {
            await untilAsleep()
            clock.advanceToNextWake()
            _ = await events.next()
        }
        return clock.milliseconds - start
    }

    @Test(
        arguments: [
            RequestKind.currentUser, .createZone, .createSubscription, .databaseChanges,
            .zoneChanges, .modify,
        ],
        [
            FaultKind.lostRequest, .lostReply, .error(.serviceUnavailable),
            .error(.notAuthenticated), .error(.quotaExceeded),
        ])
    func `a failure at any request drains with no other write`(
        kind: RequestKind, fault: FaultKind
    ) async throws {
        let phone = try device()
        let events = RoundEnds(phone.engine)
        phone.service.failNext(kind, with: fault)
        try await phone.note("a", "one")
        try await phone.engine.start()
        _ = await events.next()
        let waited = try await drain(phone, events)
        #expect(waited <= phone.engine.configuration.blockedRetryMilliseconds)
        #expect(remote(cloud) == ["Note a {title: one}"])
        try await phone.expectSettled()
        await phone.engine.stop()
    }

    @Test(arguments: 1...12) func `a commit that fails drains with no other write`(
        commit: Int
    ) async throws {
        let phone = try device()
        let events = RoundEnds(phone.engine)
        try await phone.note("a", "one")
        let count = Locked(0)
        phone.store.setCommitFault {
            let isTurn = count.withLock { count in
                count += 1
                return count == commit
            }
            if isTurn { throw StoreError(.io, "injected") }
        }
        do {
            try await phone.engine.start()
        } catch let error as SyncError {
            #expect(error.code == .store)
        }
        _ = await events.next()
        _ = try await drain(phone, events)
        #expect(remote(cloud) == ["Note a {title: one}"])
        phone.store.setCommitFault(nil)
        try await phone.expectSettled()
        await phone.engine.stop()
    }

    @Test func `a restart does not shorten the wait that the service asked for`() async throws {
        let phone = try device()
        try await phone.note("a", "one")
        phone.service.failNext(with: .rateLimited, retryAfterSeconds: 90)
        try await phone.engine.start()
        let due = clock.milliseconds + 90_000
        await phone.engine.stop()
        clock.advance(milliseconds: 30_000)
        cloud.clearRequests()
        let next = await phone.restarted()
        let events = RoundEnds(next.engine)
        try await next.engine.start()
        #expect(next.engine.status == .backingOff(until: Date(milliseconds: due)))
        #expect(cloud.requestCounts == [:])
        await untilAsleep()
        #expect(clock.nextWakeMilliseconds == due)
        clock.advanceToNextWake()
        #expect(await events.next() == "finished start")
        #expect(remote(cloud).count == 1)
        await next.engine.stop()
        let last = await phone.restarted()
        try await last.engine.start()
        #expect(last.engine.status == .idle)
        await last.engine.stop()
    }

    @Test func `waits go on growing over restarts`() async throws {
        var phone = try device()
        try await phone.note("a", "one")
        phone.service.inject(ScriptedFault(.lostRequest, for: .untilCleared))
        var waits: [Int64] = []
        for _ in 0..<4 {
            let events = RoundEnds(phone.engine)
            try await phone.engine.start()
            if phone.engine.status != .idle, clock.sleeperCount == 0 { await untilAsleep() }
            if !waits.isEmpty {
                clock.advanceToNextWake()
            }
            #expect(await events.next() == "failed unreachable")
            guard case .backingOff(let due) = phone.engine.status else {
                Issue.record("\(phone.engine.status)")
                return
            }
            waits.append((due.wholeMilliseconds ?? 0) - clock.milliseconds)
            await phone.engine.stop()
            while clock.sleeperCount > 0, !Task.isCancelled { await Task.yield() }
            phone = await phone.restarted()
        }
        #expect(waits == [750, 1_500, 3_000, 6_000])
    }

    @Test func `a call by hand does not wait for the time of an earlier run`() async throws {
        let phone = try device()
        try await phone.note("a", "one")
        phone.service.failNext(with: .rateLimited, retryAfterSeconds: 90)
        _ = await syncError { try await phone.sync() }
        let next = await phone.restarted()
        try await next.sync()
        #expect(remote(cloud).count == 1)
        await next.engine.stop()
        await phone.engine.stop()
    }
}
