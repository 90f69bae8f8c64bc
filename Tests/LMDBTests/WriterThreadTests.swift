import Foundation
import TestBudget
import Testing
import Threading

@testable import LMDB

@Suite(.budgeted) struct WriterThreadTests {
    @Test func `jobs run in order, on one thread`() throws {
        let environment = try Environment.temporary(options: Fixture.options())
        let order = Box<[Int]>([])
        for index in 0..<1000 { environment.writer.submit { order.value.append(index) } }
        #expect(!environment.writer.isCurrent)
        #expect(try environment.writer.submitAndWait { environment.writer.isCurrent })
        #expect(order.value == Array(0..<1000))
    }

    @Test func `waiting on the writer thread itself runs at once`() throws {
        let environment = try Environment.temporary(options: Fixture.options())
        let value = try environment.writer.submitAndWait {
            try environment.writer.submitAndWait { 7 }
        }
        #expect(value == 7)
    }

    @Test func `closing runs the jobs that were submitted before`() throws {
        let environment = try Environment.temporary(options: Fixture.options())
        let database = try environment.database("one")
        let started = DispatchSemaphore(value: 0)
        let results = Box<[LMDBError.Code?]>([])
        environment.writer.submit {
            started.wait()
            results.value.append(
                code { try environment.write { try $0.access.put("a", "1", in: database) } })
        }
        environment.writer.submit {
            results.value.append(code { try environment.write { _ in } })
        }
        started.signal()
        environment.close()
        #expect(results.value.count == 2)
    }

    @Test func `a job after the end runs too, and is told that the environment is closed`() async {
        let outcome = await outcome {
            let environment = try Environment.temporary(options: Fixture.options())
            environment.close()
            try await environment.perform {
                if environment.writer.isCurrent { throw CancellationError() }
                try environment.write { _ in }
            }
        }
        #expect(outcome == .closed)
    }

    @Test func `the last handle may be released by a job`() async throws {
        let closed: SerialThread
        do {
            let environment = try Environment.temporary(options: Fixture.options())
            closed = environment.writer
            environment.writer.submit { withExtendedLifetime(environment) {} }
        }
        await withCheckedContinuation { continuation in closed.submit { continuation.resume() } }
    }

    /// Runs a job on the calling thread, as soon as the writer thread has nothing to do.
    private func runHere(_ writer: SerialThread, _ job: () -> Void) throws {
        try writer.submitAndWait {}
        while !writer.runIfIdle(job) { sched_yield() }
    }

    @Test func `a caller runs its job itself while the thread has nothing to do`() throws {
        let environment = try Environment.temporary(options: Fixture.options())
        let database = try environment.database("one")
        let writer = environment.writer
        let order = Box<[String]>([])
        try runHere(writer) {
            #expect(writer.isCurrent)
            #expect(!writer.runIfIdle { order.value.append("inside") })
            writer.submit { order.value.append("behind") }
            order.value.append("here")
            #expect(
                code {
                    try environment.write { try $0.access.put("a", "1", in: database) }
                } == nil)
        }
        #expect(!writer.isCurrent)
        try writer.submitAndWait {}
        #expect(order.value == ["here", "behind"])
        #expect(try environment.entries() == ["a": "1"])
    }

    @Test func `nobody runs a job by itself that others were before`() throws {
        let environment = try Environment.temporary(options: Fixture.options())
        let writer = environment.writer
        #expect(!writer.runIfIdle {}, "The thread has not started.")
        let started = DispatchSemaphore(value: 0)
        let go = DispatchSemaphore(value: 0)
        writer.submit {
            started.signal()
            go.wait()
        }
        started.wait()
        #expect(!writer.isCurrent)
        #expect(!writer.runIfIdle {})
        go.signal()
        environment.close()
        #expect(!writer.runIfIdle {}, "The thread has ended.")
    }

    @Test func `jobs of the thread and those that callers run never meet`() throws {
        let environment = try Environment.temporary(options: Fixture.options())
        let writer = environment.writer
        let (count, inside) = (Box(0), Box(0))
        let here = Locked(0)
        let job: @Sendable () -> Void = {
            inside.value += 1
            #expect(inside.value == 1 && writer.isCurrent)
            count.value += 1
            inside.value -= 1
        }
        DispatchQueue.concurrentPerform(iterations: 4) { _ in
            for _ in 0..<2_000 {
                if writer.runIfIdle(job) {
                    here.withLock { $0 += 1 }
                } else {
                    writer.submit(job)
                }
            }
        }
        try writer.submitAndWait {}
        #expect(count.value == 8_000)
        #expect(here.withLock { $0 } < 8_000)
    }

    @Test func `closing inside a job that a caller runs comes after it`() throws {
        let environment = try Environment.temporary(options: Fixture.options())
        let database = try environment.database("one")
        let results = Box<[LMDBError.Code?]>([])
        try runHere(environment.writer) {
            results.value.append(
                code {
                    try environment.write { transaction throws in
                        environment.close()
                        try transaction.access.put("a", "1", in: database)
                    }
                })
        }
        #expect(results.value == [nil])
        #expect(code { try environment.read { _ in } } == .closed)
    }

    @Test func `closing waits for a job that a caller runs`() throws {
        let environment = try Environment.temporary(options: Fixture.options())
        let writer = environment.writer
        let started = DispatchSemaphore(value: 0)
        let order = Box<[String]>([])
        let other = SystemThread {
            started.wait()
            writer.stop { order.value.append("end") }
        }
        try runHere(writer) {
            started.signal()
            // Others are let in; only a stop that doesn't wait would come first.
            for _ in 0..<1_000 { sched_yield() }
            order.value.append("job")
        }
        other.join()
        #expect(order.value == ["job", "end"])
    }

    @Test func `many tasks write without losing anything`() async throws {
        let environment = try Environment.temporary(options: Fixture.options())
        let database = try environment.database("one")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<200 {
                group.addTask {
                    try await environment.perform {
                        try environment.write { transaction throws in
                            let count = try transaction.access.count(of: database)
                            try transaction.access.put("\(index)", "\(count)", in: database)
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        let values = try environment.entries().values.compactMap(Int.init).sorted()
        #expect(values == Array(0..<200))
    }
}
