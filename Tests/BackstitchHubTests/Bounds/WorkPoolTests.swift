import Glibc
import TestBudget
import Testing
import Threading
import Waiting

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

    @Test(arguments: StorageEngine.served)
    func `a read whose turn does not come is refused by a clock, and not by a thread`(
        engine: StorageEngine
    ) async throws {
        let (limits, time) = (HubLimits(), Locked<Int64>(0))
        let clock = HubClock(
            milliseconds: { 0 }, secret: { [UInt8](repeating: 1, count: $0) },
            steadyMilliseconds: { time.withLock { $0 } })
        let storage = try engine.storage(limits, clock: clock)
        let (isFree, begun, ended) = (Locked(false), Locked(0), Locked(0))
        for _ in 0..<limits.readThreads {
            storage.submitRead(.page, RequestWork()) { _ in
                begun.withLock { $0 += 1 }
                blockUntil { isFree.withLock { $0 } }
            } answer: { _ in
                return { ended.withLock { $0 += 1 } }
            }
        }
        try await eventually { begun.withLock { $0 } == limits.readThreads }
        let refusals = Locked(0)
        for lane in [WorkPool.Lane.page, .scan] {
            storage.submitRead(lane, RequestWork(client: "late")) { _ in
            } answer: { result in
                return {
                    if case .failure(let error) = result, error is WorkCancelled {
                        refusals.withLock { $0 += 1 }
                    }
                }
            }
        }
        time.withLock { $0 = Int64(limits.waitMilliseconds) }
        storage.refuseLate()
        #expect(refusals.withLock { $0 } == 0)
        time.withLock { $0 += 1 }
        storage.refuseLate()
        #expect(refusals.withLock { $0 } == 2)
        isFree.withLock { $0 = true }
        try await eventually { ended.withLock { $0 } == limits.readThreads }
        storage.close()
    }

    @Test func `a read is charged with its answer, and then the answer is handed over`() async {
        let storage = MemoryHubStorage()
        defer { storage.close() }
        // Of two that read nothing the answer to the second one costs something.
        for bytes in [0, 1_024] {
            let work = RequestWork(client: "client")
            let uncounted: Int = await withCheckedContinuation { continuation in
                storage.submitRead(.page, work) { _ in
                } answer: { _ in
                    work.countMade(bytes: bytes)
                    return { continuation.resume(returning: storage.readers.uncountedCount) }
                }
            }
            #expect(uncounted == 1)
        }
    }

    @Test(arguments: StorageEngine.served)
    func `a write whose turn does not come is refused by a clock too`(
        engine: StorageEngine
    ) async throws {
        let storage = try engine.storage()
        let (time, isFree, hasBegun) = (Locked<Int64>(0), Locked(false), Locked(false))
        let late = RequestWork(client: "late") { time.withLock { $0 } }
        late.limit(milliseconds: 100)
        let first = Task {
            try await storage.write(to: [.global]) { _ in
                hasBegun.withLock { $0 = true }
                blockUntil { isFree.withLock { $0 } }
            }
        }
        try await eventually { hasBegun.withLock { $0 } }
        let isRefused = Locked(false)
        let second = Task {
            do {
                try await storage.write(late, to: [.global], expecting: { [] }) { _ in }
            } catch is WorkCancelled {
                isRefused.withLock { $0 = true }
            }
        }
        time.withLock { $0 = 100 }
        try await eventually {
            storage.refuseLate()
            return isRefused.withLock { $0 }
        }
        isFree.withLock { $0 = true }
        try await first.value
        try await second.value
        storage.close()
    }

    @Test func `a user's scan does not wait for all pages of strangers`() async throws {
        let (pool, isFree) = (WorkPool(HubLimits(), threads: 1), Locked(false))
        let order = Locked<[String]>([])
        func submit(_ lane: WorkPool.Lane, _ client: String, isAnonymous: Bool) {
            pool.submit(lane, RequestWork(client: client, isAnonymous: isAnonymous)) {
                blockUntil { isFree.withLock { $0 } }
                order.withLock { $0.append(client) }
                return {}
            } refuse: {
            }
        }
        submit(.page, "first", isAnonymous: false)
        for number in 0..<10 { submit(.page, "stranger \(number)", isAnonymous: true) }
        submit(.scan, "user", isAnonymous: false)
        isFree.withLock { $0 = true }
        try await eventually { order.withLock { $0.count } == 12 }
        pool.stop()
        #expect(order.withLock { Array($0.prefix(3)) } == ["first", "stranger 0", "user"])
    }

    @Test func `strangers leave places where to wait to who is signed in`() {
        let (pool, refusals) = (WorkPool(HubLimits(), threads: 0, waiting: 8), Locked(0))
        func submit(_ client: String, isAnonymous: Bool) {
            let work = RequestWork(client: client, isAnonymous: isAnonymous)
            pool.submit(.page, work) {
                return {}
            } refuse: {
                refusals.withLock { $0 += 1 }
            }
        }
        for number in 0..<10 { submit("stranger \(number)", isAnonymous: true) }
        #expect(pool.waitingCount == 8 && refusals.withLock { $0 } == 2)
        for _ in 0..<3 { submit("user", isAnonymous: false) }
        #expect(pool.waitingCount == 10 && refusals.withLock { $0 } == 3)
        pool.stop()
        #expect(refusals.withLock { $0 } == 13)
    }

    @Test func `many places are not held by few clients`() {
        let (pool, refused) = (WorkPool(HubLimits(), threads: 0, waiting: 8), Locked<[String]>([]))
        func submit(_ lane: WorkPool.Lane, _ client: String) {
            pool.submit(lane, RequestWork(client: client, isAnonymous: true)) {
                return {}
            } refuse: {
                refused.withLock { $0.append(client) }
            }
        }
        for client in ["a", "b", "c"] { for _ in 0..<2 { submit(.page, client) } }
        for _ in 0..<2 { submit(.scan, "d") }
        for number in 0..<4 { submit(.page, "new \(number)") }
        #expect(refused.withLock { $0.sorted() } == ["a", "b", "c", "d"])
        submit(.page, "late")
        submit(.page, "a")
        #expect(refused.withLock { $0.suffix(2) } == ["late", "a"])
        #expect(pool.waitingCount == 8)
        pool.stop()
    }

    @Test func `who has pages and scans gives up as many places as who has as many pages`() {
        let (pool, refused) = (WorkPool(HubLimits(), threads: 0, waiting: 64), Locked<[String]>([]))
        func submit(_ lane: WorkPool.Lane, _ client: String) {
            pool.submit(lane, RequestWork(client: client, isAnonymous: true)) {
                return {}
            } refuse: {
                refused.withLock { $0.append(client) }
            }
        }
        for number in 0..<16 {
            submit(.page, "pages")
            submit(number < 8 ? .page : .scan, "both")
            for other in 0..<2 { submit(.page, "other \(number) \(other)") }
        }
        for number in 0..<20 { submit(.page, "new \(number)") }
        #expect(refused.withLock { $0 }.filter { $0 == "pages" }.count == 10)
        #expect(refused.withLock { $0 }.filter { $0 == "both" }.count == 10)
        pool.stop()
    }
}
