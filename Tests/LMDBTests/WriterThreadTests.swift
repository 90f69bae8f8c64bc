import Foundation
import Testing
import Threading

@testable import LMDB

@Suite struct WriterThreadTests {
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
