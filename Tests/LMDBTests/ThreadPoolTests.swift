import Foundation
import TestBudget
import Testing
import Threading

@Suite(.budgeted) struct ThreadPoolTests {
    @Test func `every job runs once, on so many threads at most`() async {
        let pool = ThreadPool(threadsMax: 3)
        let (running, most, runs) = (Locked(0), Locked(0), Locked([Int](repeating: 0, count: 500)))
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<500 {
                group.addTask {
                    await withCheckedContinuation { continuation in
                        pool.submit {
                            let now = running.withLock { count in
                                count += 1
                                return count
                            }
                            most.withLock { $0 = max($0, now) }
                            runs.withLock { $0[number] += 1 }
                            sched_yield()
                            running.withLock { $0 -= 1 }
                            continuation.resume()
                        }
                    }
                }
            }
        }
        #expect(runs.withLock { $0.allSatisfy { $0 == 1 } })
        #expect(most.withLock { $0 } <= 3)
        #expect(pool.threadCount <= 3)
    }

    @Test func `jobs that wait for one another have threads of their own`() {
        let pool = ThreadPool(threadsMax: 2)
        let (first, second) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let done = DispatchSemaphore(value: 0)
        pool.submit {
            first.signal()
            second.wait()
            done.signal()
        }
        pool.submit {
            first.wait()
            second.signal()
        }
        done.wait()
        #expect(pool.threadCount == 2)
    }

    @Test func `a thread without work ends, and a later job starts another`() {
        let pool = ThreadPool(threadsMax: 1, idleMilliseconds: 1)
        for _ in 0..<20 {
            let done = DispatchSemaphore(value: 0)
            pool.submit { done.signal() }
            done.wait()
            while pool.threadCount > 0 { sched_yield() }
        }
    }
}
