import Backstitch
import BackstitchCore
import Foundation
import LMDB
import Threading
import TestBudget
import Testing

@testable import BackstitchStore

@Suite(.budgeted) struct WritingTests {
    let store: Store

    init() throws { store = try Store.inMemory(schema: .all) }

    private func record(_ fields: NamedFields) -> ServiceRecord {
        ServiceRecord(
            recordName: "r", recordType: "Novelty", changeTag: "1", modifiedMilliseconds: 1,
            fields: fields)
    }

    @Test func `a write runs as a whole though its task is cancelled, and can't see that`()
        async throws
    {
        let cancelled = Task { [store] in
            withUnsafeCurrentTask { $0?.cancel() }
            try await store.write { transaction in
                try Task.checkCancellation()
                try transaction.save(Node(id: "n"))
            }
        }
        try await cancelled.value
        #expect(try store.read { try $0.count(Node.self) } == 1)
    }

    @Test func `a failing write leaves no trace`() async throws {
        try await store.write { try $0.save(Department(id: "d", name: "One")) }
        let before = try store.image()
        let catalog = store.catalog
        await #expect(throws: Planned(number: 1)) {
            try await store.write { transaction in
                try transaction.save(Department(id: "d", name: "Two"))
                try transaction.save(Node(id: "n"))
                throw Planned(number: 1)
            }
        }
        let novelty = record(["new": .int64(1)])
        await #expect(throws: Planned(number: 2)) {
            try await store.withLogWriter { context in
                _ = try context.merge(novelty, policy: .serverWins)
                try context.setMeta("anything", [1])
                throw Planned(number: 2)
            }
        }
        #expect(try store.image() == before)
        #expect(store.catalog == catalog)
        try await store.write { try $0.save(Node(id: "n")) }
        #expect(try store.head == 2)
        try await store.expectConsistent()
    }

    @Test func `writes that wait share a commit, and each gets its own result`() async throws {
        let store = store
        let commits = Locked(0)
        let go = DispatchSemaphore(value: 0)
        store.setCommitFault { commits.withLock { $0 += 1 } }
        // It holds the writer thread, and is no write: a write may run again, and would wait again.
        store.environment.writer.submit { go.wait() }
        let results = await withTaskGroup(of: (Int, Result<Int, any Error>).self) { group in
            for index in 0..<64 {
                group.addTask {
                    do {
                        let value = try await store.write { transaction in
                            if index % 8 == 1 { throw Planned(number: index) }
                            try transaction.save(Node(id: .init("n\(index)")))
                            if index % 8 == 2 { throw Planned(number: index) }
                            return index
                        }
                        return (index, .success(value))
                    } catch {
                        return (index, .failure(error))
                    }
                }
            }
            go.signal()
            var results: [Int: Result<Int, any Error>] = [:]
            for await (index, result) in group { results[index] = result }
            return results
        }
        for index in 0..<64 {
            switch results[index] {
            case .success(let value): #expect(value == index)
            case .failure(let error): #expect(error as? Planned == Planned(number: index))
            case nil: Issue.record("A write never ended.")
            }
            let isFailing = index % 8 == 1 || index % 8 == 2
            #expect(
                try store.read { try $0.find(Node.self, .init("n\(index)")) == nil } == isFailing)
        }
        #expect(try store.head == 48)
        #expect(try store.operations { $0.sequence } == Array(1...48))
        #expect(commits.withLock { $0 } < 64)
        store.setCommitFault(nil)
        try await store.expectConsistent()
    }

    @Test func `a write that waits runs on its own thread, and no other write there`() throws {
        let store = store
        let other = Locked<pthread_t?>(nil)
        let begun = Locked(false)
        let ended = DispatchSemaphore(value: 0)
        let own = pthread_self()
        var runsHere = false
        // The writer thread may still be busy with the write before.
        while !runsHere {
            runsHere = try store.write { _ in
                guard pthread_equal(own, pthread_self()) != 0 else { return false }
                // It comes while a commit is under way, whose jobs it would join.
                SystemThread.detach {
                    begun.withLock { $0 = true }
                    try? store.write { _ in other.withLock { $0 = pthread_self() } }
                    ended.signal()
                }
                while !begun.withLock({ $0 }) { sched_yield() }
                for _ in 0..<1_000 { sched_yield() }
                return true
            }
        }
        ended.wait()
        let thread = try #require(other.withLock { $0 })
        #expect(pthread_equal(own, thread) == 0)
    }

    @Test func `a failing commit fails all its writes and changes nothing`() async throws {
        let before = try store.image()
        store.setCommitFault { throw Planned() }
        await #expect(throws: Planned()) { try await store.write { try $0.save(Node(id: "n")) } }
        #expect(throws: Planned()) { try blocking(store) }
        store.setCommitFault(nil)
        #expect(try store.image() == before)
        try await store.write { try $0.save(Node(id: "n")) }
        #expect(try store.head == 1)
    }

    private func blocking(_ store: Store) throws {
        try store.write { try $0.save(Node(id: "n")) }
    }

    @Test func `a write inside a write is refused, and the outer one goes on`() throws {
        let store = store
        try store.write { transaction in
            let error = failure { _ = try store.write { try $0.save(Node(id: "inner")) } }
            #expect(error?.code == .nestedWrite)
            try transaction.save(Node(id: "outer"))
        }
        #expect(try store.read { try $0.fetch(Node.self).map(\.id) } == ["outer"])
    }

    @Test func `a write inside a read is refused`() throws {
        let store = store
        try store.read { transaction in
            let error = failure { _ = try store.write { try $0.save(Node(id: "inner")) } }
            #expect(error?.code == .nestedWrite)
            let count = try transaction.count(Node.self)
            #expect(count == 0)
        }
    }

    @Test func `a read inside a read sees the last commit, and inside a write is refused`() throws {
        let store = store
        let counts = try store.read { outer in
            try [outer.count(Node.self), store.read { try $0.count(Node.self) }]
        }
        #expect(counts == [0, 0])
        try store.write { transaction in
            try transaction.save(Node(id: "n"))
            let error = failure { _ = try store.read { try $0.count(Node.self) } }
            #expect(error?.code == .nestedWrite)
        }
        #expect(try store.read { try $0.count(Node.self) } == 1)
    }

    @Test func `an operation that was applied in part spoils its write`() async throws {
        // A row that does not fit its log makes the projector fail after the log was written.
        try await store.write { try $0.save(Node(id: "n")) }
        let number = try #require(store.catalogSnapshot.table(named: "Node")?.number)
        await #expect(throws: StoreError.self) {
            try await store.withLogWriter { context in
                do {
                    try context.append(
                        .insert, origin: .local, entity: number, key: RecordKey(.text("n")),
                        previous: 0
                    ) { $0.append(little: UInt32(0)) }
                } catch {
                    #expect((error as? StoreError)?.code == .damaged)
                }
            }
        }
        #expect(try store.head == 1)
        try await store.expectConsistent()
    }

    @Test func `a closed store refuses everything`() async throws {
        let changes = store.changes()
        store.close()
        store.close()
        #expect(failure { try blocking(store) }?.code == .closed)
        #expect(failure { try store.read { _ in } }?.code == .closed)
        #expect(failure { _ = try store.verify() }?.code == .closed)
        let error = await #expect(throws: StoreError.self) {
            try await store.write { try $0.save(Node(id: "n")) }
        }
        #expect(error?.code == .closed)
        var iterator = changes.makeAsyncIterator()
        #expect(await iterator.next() == nil)
        var late = store.changes().makeAsyncIterator()
        #expect(await late.next() == nil)
    }

    @Test func `closing inside a read and inside a write does not lock up`() throws {
        try store.read { transaction in
            store.close()
            let last = try transaction.lastSequence
            #expect(last == 0)
        }
        #expect(failure { try store.read { _ in } }?.code == .closed)
        let other = try Store.inMemory(schema: .all)
        try other.write { transaction in
            try transaction.save(Node(id: "n"))
            other.close()
        }
        #expect(failure { try other.read { _ in } }?.code == .closed)
    }

    @Test func `a full store fails what is too large and takes the rest`() async throws {
        let folder = try TemporaryFolder()
        let configuration = StoreConfiguration(durability: .relaxed, bytesMax: 1 << 20)
        let store = try folder.open(configuration: configuration)
        let big = String(repeating: "x", count: 100_000)
        var failed: StoreError?
        for index in 0..<20 where failed == nil {
            failed = failure {
                _ = try store.write { try $0.save(Department(id: .init("d\(index)"), name: big)) }
            }
        }
        #expect(failed?.code == .full)
        #expect(failed?.message.isEmpty == false)
        try await store.write { try $0.save(Node(id: "small")) }
        try await store.write { try $0.delete(Node.ID("small")) }
        #expect(try store.read { try $0.count(Department.self) } > 2)
        #expect(try store.verify().problems == [])
    }
}
