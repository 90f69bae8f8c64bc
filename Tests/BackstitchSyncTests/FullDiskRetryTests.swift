import Backstitch
import BackstitchStore
import BackstitchSync
import BackstitchTesting
import LMDB
import TestBudget
import Testing
import Threading

/// An engine whose store's disk is full for a while.
@Suite(.budgeted) struct FullDiskRetryTests {
    let cloud = SimulatedCloud()
    let clock = ManualClock()

    private func untilAsleep() async {
        while clock.sleeperCount == 0, !Task.isCancelled { await Task.yield() }
    }

    @Test(arguments: [CommitFault.noSpace, .shortWrite], 0..<6)
    func `a started engine goes on by itself when there is space again`(
        fault: CommitFault, after commits: Int
    ) async throws {
        let other = try Device(cloud, "tablet")
        try await other.note("b", "two")
        try await other.sync()

        let phone = try Device(cloud) {
            $0.clock = clock
            $0.syncOnSave = true
        }
        try await phone.note("a", "one")
        let (left, failures) = (Locked(commits), Locked(0))
        phone.store.environment.setCommitFault {
            let isFull = left.withLock { left in
                left -= 1
                return left < 0
            }
            guard isFull else { return nil }
            failures.withLock { $0 += 1 }
            return fault
        }
        let events = RoundEnds(phone.engine)
        // A full disk is no error of the start.
        try await phone.engine.start()
        _ = await events.next()
        for _ in 0..<3 {
            guard case .backingOff = phone.engine.status else { break }
            #expect(try phone.titles()["a"] == "one")
            await untilAsleep()
            clock.advanceToNextWake()
            #expect(await events.next().hasPrefix("failed"))
        }
        #expect(failures.withLock { $0 } > 0 || phone.engine.status == .idle)
        phone.store.environment.setCommitFault(nil)
        for _ in 0..<3 where phone.engine.status != .idle {
            await untilAsleep()
            clock.advanceToNextWake()
            _ = await events.next()
        }
        #expect(phone.engine.status == .idle)
        #expect(try phone.titles() == ["a": "one", "b": "two"])
        #expect(remote(cloud).count == 2)
        try await phone.expectSettled()
        await phone.engine.stop()
    }

    @Test func `a round on a full disk says so`() async throws {
        let phone = try Device(cloud)
        try await phone.note("a", "one")
        phone.store.environment.setCommitFault { .shortWrite }
        let error = await syncError { try await phone.sync() }
        #expect(error?.code == .storeFull)
        #expect(error?.message.contains("Free some space") == true)
        phone.store.environment.setCommitFault(nil)
        try await phone.sync()
        try await phone.expectSettled()
    }
}
