import Backstitch
import Foundation
import Glibc
import LMDB
import TestBudget
import Testing
import Threading

@testable import BackstitchStore

/// Reads that suspend, and end with their task.
@Suite(.budgeted) struct AsyncReadTests {
    private func store(_ count: Int) async throws -> Store {
        let store = try Store.inMemory(schema: .all)
        try await store.write { tx in
            for number in 0..<count {
                try tx.save(
                    Department(id: Department.ID("\(number + 100_000)"), name: "n", budget: number))
            }
        }
        return store
    }

    @Test func `it reads what the other read does, in the caller's task, on another thread`()
        async throws
    {
        let store = try await store(10)
        let caller = pthread_self()
        let found = try await Self.$label.withValue("here") {
            try await store.asyncRead { tx in
                #expect(pthread_equal(pthread_self(), caller) == 0)
                #expect(Self.label == "here")
                return try tx.fetch(Department.self)
            }
        }
        #expect(found == (try store.read { try $0.fetch(Department.self) }))
        let sequence = try store.head
        try await store.save(Department(id: "100000", name: "later"))
        let before = try await store.asyncRead(at: sequence) {
            try $0.find(Department.ID("100000"))
        }
        #expect(before?.name == "n")
        let now = try await store.asyncRead(at: Date.distantFuture) {
            try $0.find(Department.ID("100000"))
        }
        #expect(now?.name == "later")
    }

    @TaskLocal private static var label = ""

    @Test func `errors come through, and a closed store is one`() async throws {
        let store = try await store(1)
        await #expect(throws: Planned(number: 3)) {
            try await store.asyncRead { _ in throw Planned(number: 3) }
        }
        store.close()
        let error = await #expect(throws: StoreError.self) {
            try await store.asyncRead { try $0.count(Department.self) }
        }
        #expect(error?.code == .closed)
    }

    @Test func `a task that is cancelled before does not begin`() async throws {
        let store = try await store(1)
        let hasBegun = Locked(false)
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            try await store.asyncRead { _ in hasBegun.withLock { $0 = true } }
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(!hasBegun.withLock { $0 })
    }

    /// What reads look at: each is cancelled in the middle and ends soon after, whatever it walks.
    private static let reads:
        [(name: String, steps: Int, read: @Sendable (borrowing ReadTransaction) throws -> Void)] = [
            (
                "scan", 2000,
                { _ = try $0.count(Query<Department>().where(\.budget, lessThan: 1 << 40)) }
            ),
            ("fetch", 2000, { _ = try $0.fetch(Department.self) }),
            (
                "reversed", 2000,
                { _ = try $0.fetch(Query<Department>().sorted(by: \.id, order: .reverse)) }
            ),
            (
                "sorted in memory", 2000,
                { _ = try $0.fetch(Query<Department>().sorted(by: \.budget)) }
            ),
            ("sum", 2000, { _ = try $0.aggregate(Query<Department>(), .sum(\.budget)) }),
            (
                "groups", 2000,
                { _ = try $0.groups(Query<Department>(), by: GroupKeys(\.name), .count()) }
            ),
            ("records", 2000, { _ = try $0.records(of: "Department", limit: .max) }),
            ("log", 2000, { _ = try $0.operations(limit: .max) }),
            ("last operations", 2000, { _ = try $0.lastOperations(limit: .max) }),
            (
                "finds", 2000,
                { for number in 0..<2000 { _ = try $0.find(Department.ID("\(number + 100_000)")) } }
            ),
        ]

    @Test(arguments: 0..<10)
    func `a read whose task is cancelled looks at few rows more`(index: Int) async throws {
        let store = try await store(2000)
        let (name, steps, read) = Self.reads[index]
        // In full it takes as many steps as there are rows, so the cancelled one can end early.
        let full = ReadInterruption()
        try store.read(interruption: full, read)
        #expect(full.count >= steps, "\(name)")
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            let interruption = ReadInterruption()
            #expect(throws: CancellationError.self, "\(name)") {
                try store.read(interruption: interruption, read)
            }
            return interruption.count
        }
        task.cancel()
        #expect(await task.value == ReadInterruption.interval, "\(name)")
    }

    @Test func `past states end with their task too`() async throws {
        let store = try await store(2000)
        let sequence = try store.head
        let ids = (0..<2000).map { Department.ID("\($0 + 100_000)") }
        try await store.write { tx in
            for id in ids { try tx.save(Department(id: id, name: "later")) }
        }
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            let interruption = ReadInterruption()
            #expect(throws: CancellationError.self) {
                try PastMoment.operation(sequence).read(store, interruption: interruption) {
                    try $0.fetch(Department.self)
                }
            }
            return interruption.count
        }
        task.cancel()
        #expect(await task.value == ReadInterruption.interval)
    }

    @Test func `a plain read of a cancelled task goes on, and so does a write`() async throws {
        let store = try await store(2000)
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            try await store.save(Department(id: "late", name: "late"))
            return try store.read { try $0.fetch(Department.self).count }
        }
        task.cancel()
        #expect(try await task.value == 2001)
    }

    @Test func `pages end with their task, and the same page can be asked for again`() async throws
    {
        let store = try await store(100)
        var pages = store.pages(Query<Department>(), size: 40).makeAsyncIterator()
        #expect(try await pages.next()?.count == 40)
        let cursor = pages.cursor
        let task = Task {
            var rest = store.pages(Query<Department>(), after: cursor, size: 40)
                .makeAsyncIterator()
            while !Task.isCancelled { await Task.yield() }
            do {
                _ = try await rest.next()
                return false
            } catch is CancellationError {
                return rest.cursor == cursor
            }
        }
        task.cancel()
        #expect(try await task.value)
        #expect(try await pages.next()?.count == 40)
        #expect(try await pages.next()?.count == 20)
        #expect(try await pages.next() == nil)
    }

    @Test func `more reads than threads take turns`() async throws {
        let store = try await store(50)
        let (running, most) = (Locked(0), Locked(0))
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<64 {
                group.addTask {
                    try await store.asyncRead { tx in
                        let now = running.withLock { count in
                            count += 1
                            return count
                        }
                        most.withLock { $0 = max($0, now) }
                        defer { running.withLock { $0 -= 1 } }
                        return try tx.count(Department.self)
                    }
                }
            }
            for try await count in group { #expect(count == 50) }
        }
        #expect(most.withLock { $0 } <= Store.asyncReadsMax)
    }
}
