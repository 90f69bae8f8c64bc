import Backstitch
import BackstitchCore
import TestBudget
import Testing

@testable import BackstitchStore

@Suite(.budgeted) struct ChangeStreamTests {
    let store: Store

    init() throws { store = try Store.inMemory(schema: .all) }

    @Test func `every commit comes in order, and nothing is lost in between`() async throws {
        var changes = store.changes().makeAsyncIterator()
        for index in 0..<20 {
            try await store.write(author: "w\(index)") { try $0.save(Node(id: .init("n\(index)"))) }
        }
        for index in 0..<20 {
            let change = try #require(await changes.next())
            #expect(change.author == "w\(index)")
            #expect(change.inserted(Node.self) == [.init("n\(index)")])
            #expect(change.sequences == UInt64(index + 1)..<UInt64(index + 2))
            #expect(change.origins == [.local])
        }
    }

    @Test func `a change set tells inserted, updated and deleted`() async throws {
        try await store.write { transaction in
            for id in ["old", "gone", "replaced", "same"] {
                try transaction.save(Department(id: .init(id), name: id))
            }
        }
        var changes = store.changes().makeAsyncIterator()
        try await store.write { transaction in
            try transaction.save(Department(id: "new", name: ""))
            try transaction.save(Department(id: "new", name: "edited"))
            try transaction.save(Department(id: "old", name: "edited"))
            try transaction.delete(Department.ID("gone"))
            try transaction.delete(Department.ID("replaced"))
            try transaction.save(Department(id: "replaced", name: "anew"))
            try transaction.save(Department(id: "passing", name: ""))
            try transaction.delete(Department.ID("passing"))
            try transaction.save(Department(id: "same", name: "same"))
        }
        let change = try #require(await changes.next())
        #expect(change.inserted(Department.self) == ["new"])
        #expect(change.updated(Department.self) == ["old", "replaced"])
        #expect(change.deleted(Department.self) == ["gone"])
        #expect(change.isComplete)
    }

    @Test func `a write that changes nothing is no change, one that comes to nothing is empty`()
        async throws
    {
        var changes = store.changes().makeAsyncIterator()
        try await store.write { _ in }
        try await store.write { transaction in
            try transaction.save(Node(id: "n"))
            try transaction.delete(Node.ID("n"))
        }
        let change = try #require(await changes.next())
        #expect(change.isEmpty)
        #expect(change.sequences == 1..<3)
    }

    @Test func `a slow reader gets the later commits joined, in bounded space`() async throws {
        let count = ChangeSet.Stream.pendingMax * 3
        var changes = store.changes().makeAsyncIterator()
        for index in 0..<count {
            try await store.write { try $0.save(Node(id: .init("n\(index)"))) }
        }
        try await store.write { try $0.delete(Node.ID("n\(count - 1)")) }
        try await store.write { try $0.delete(Node.ID("n0")) }
        var seen = ChangeSet()
        var elements = 0
        for _ in 0..<ChangeSet.Stream.pendingMax {
            seen.add(try #require(await changes.next()))
            elements += 1
        }
        #expect(elements == ChangeSet.Stream.pendingMax)
        #expect(seen.sequences == 1..<UInt64(count + 3))
        #expect(seen.inserted(Node.self).count == count - 2)
        #expect(seen.deleted(Node.self) == [])
    }

    @Test func `every reader gets everything`() async throws {
        let streams = (0..<5).map { _ in store.changes() }
        try await store.write { try $0.save(Node(id: "n")) }
        store.close()
        for stream in streams {
            var all: [ChangeSet] = []
            for await change in stream { all.append(change) }
            #expect(all.map { $0.inserted(Node.self) } == [["n"]])
        }
    }

    @Test func `closing ends a reader that waits`() async throws {
        let stream = store.changes()
        async let rest = stream.reduce(into: 0) { count, _ in count += 1 }
        try await store.write { try $0.save(Node(id: "n")) }
        store.close()
        #expect(await rest == 1)
    }

    @Test func `cancelling ends a reader that waits`() async throws {
        let stream = store.changes()
        let task = Task { await stream.reduce(into: 0) { count, _ in count += 1 } }
        task.cancel()
        #expect(await task.value == 0)
        try await store.write { try $0.save(Node(id: "n")) }
    }

    @Test func `a failed write is no change`() async throws {
        var changes = store.changes().makeAsyncIterator()
        await #expect(throws: Planned()) {
            try await store.write { transaction in
                try transaction.save(Node(id: "failed"))
                throw Planned()
            }
        }
        try await store.write { try $0.save(Node(id: "kept")) }
        #expect(await changes.next()?.inserted(Node.self) == ["kept"])
    }

    @Test func `a change set names a bounded number of records`() {
        var changes = ChangeSet()
        for index in 0...UInt64(ChangeSet.recordsMax) {
            changes.note(
                .insert, origin: .local, entity: EntityNumber(1),
                key: RecordKey(.text("\(index)")), sequence: index + 1)
        }
        #expect(!changes.isComplete)
        #expect(!changes.isEmpty)
    }

    @Test func `hundreds of readers hear of each commit`() async throws {
        var readers = (0..<400).map { _ in store.changes().makeAsyncIterator() }
        for name in ["a", "b"] {
            try await store.write { try $0.save(Node(id: .init(name))) }
            for number in readers.indices {
                let change = await readers[number].next()
                let isTold = change?.inserted(Node.self).contains(Node.ID(name)) == true
                #expect(isTold, "reader \(number)")
            }
        }
    }

    @Test func `a commit is told though the task of its write is cancelled`() async throws {
        var changes = store.changes().makeAsyncIterator()
        let store = store
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await store.write { try $0.save(Node(id: "n")) }
            #expect(Task.isCancelled)
        }
        try await task.value
        let change = await changes.next()
        #expect(change?.inserted(Node.self).contains(Node.ID("n")) == true)
    }
}
