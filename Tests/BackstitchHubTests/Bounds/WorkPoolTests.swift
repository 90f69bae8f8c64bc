import Glibc
import TestBudget
import Testing
import Threading

@testable import BackstitchHub
@testable import BackstitchHubCore

@Suite("Threads that read", .budgeted)
struct WorkPoolTests {
    /// Notes how nice the threads are that wake its tasks, and so might start a thread for them.
    private final class Wakers: TaskExecutor {
        let found = Locked<[Int32]>([])

        static var niceness: Int32 { getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0) }

        func enqueue(_ job: consuming ExecutorJob) {
            found.withLock { $0.append(Self.niceness) }
            globalConcurrentExecutor.enqueue(job)
        }
    }

    @Test func `they are nicer than others, and nothing is woken by them`() async throws {
        let ordinary = getpriority(__priority_which_t(PRIO_PROCESS.rawValue), id_t(getpid()))
        var limits = HubLimits()
        limits.readThreads = 2
        let pool = WorkPool(limits, .system)
        let wakers = Wakers()
        let work = RequestWork(client: "a") { 0 }
        let reading = try await withTaskExecutorPreference(wakers) {
            var found: Set<Int32> = []
            // Who is answered before it waits is not woken.
            while wakers.found.withLock({ $0.count }) < 20 {
                try await found.insert(pool.run(.page, work) { Wakers.niceness })
            }
            return found
        }
        pool.stop()
        #expect(reading == [min(19, ordinary + WorkPool.niceness)])
        #expect(wakers.found.withLock { Set($0) } == [ordinary])
    }
}
