import Backstitch
import BackstitchCore
import Foundation
import Threading
import TestBudget
import Testing

@testable import BackstitchStore

/// Everything at once; run it with the thread sanitizer.
@Suite(.budgeted) struct StoreConcurrencyTests {
    @Test func `readers, writers and change streams at once`() async throws {
        let store = try Store.inMemory(schema: .all)
        let stream = store.changes()
        let seen = Locked(0)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for await change in stream {
                    let count = change.inserted(Node.self).count
                    if seen.withLock({
                        $0 += count; return $0
                    }) == 200 {
                        return
                    }
                }
            }
            for writer in 0..<4 {
                group.addTask {
                    for index in 0..<50 {
                        let id = Node.ID("w\(writer)-\(index)")
                        if index.isMultiple(of: 2) {
                            try await store.write { try $0.save(Node(id: id)) }
                        } else {
                            try Self.blocking(store) { try $0.save(Node(id: id)) }
                        }
                    }
                }
            }
            for _ in 0..<4 {
                group.addTask {
                    var last: UInt64 = 0
                    for _ in 0..<100 {
                        let (count, head) = try store.read { transaction in
                            (try transaction.count(Node.self), try transaction.lastSequence)
                        }
                        #expect(UInt64(count) == head)
                        #expect(head >= last)
                        last = head
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(seen.withLock { $0 } == 200)
        try await store.expectConsistent()
    }

    private static func blocking(
        _ store: Store,
        _ body: @Sendable (borrowing BackstitchStore.WriteTransaction) throws -> Void
    ) throws {
        try store.write(body)
    }

    @Test func `closing in the middle of use`() async throws {
        for round in 0..<10 {
            let folder = try TemporaryFolder()
            let store = try folder.open()
            let saved = Locked<Set<Node.ID>>([])
            await withTaskGroup(of: Void.self) { group in
                for writer in 0..<3 {
                    group.addTask {
                        for index in 0..<200 {
                            let id = Node.ID("w\(writer)-\(index)")
                            do {
                                try await store.write { try $0.save(Node(id: id)) }
                                saved.withLock { _ = $0.insert(id) }
                            } catch {
                                #expect((error as? StoreError)?.code == .closed)
                                return
                            }
                        }
                    }
                }
                group.addTask {
                    while failure({ try store.read { _ = try $0.count(Node.self) } }) == nil {
                        await Task.yield()
                    }
                }
                group.addTask {
                    for await _ in store.changes() {}
                }
                group.addTask {
                    for _ in 0..<(round * 3) { await Task.yield() }
                    store.close()
                }
            }
            let again = try folder.open()
            let found = Set(try again.read { try $0.fetch(Node.self).map(\.id) })
            #expect(saved.withLock { $0 }.isSubset(of: found))
            #expect(try again.verify().problems == [])
        }
    }

    @Test func `several stores on one path, opened and closed at once`() async throws {
        let folder = try TemporaryFolder()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for opener in 0..<6 {
                group.addTask {
                    for index in 0..<10 {
                        let store = try folder.open()
                        let record = ServiceRecord(
                            recordName: "r\(opener)-\(index)", recordType: "T\(opener)",
                            changeTag: "1", modifiedMilliseconds: 1,
                            fields: ["f\(index)": .int64(1)])
                        try await store.withLogWriter { context in
                            _ = try context.merge(record, policy: .serverWins)
                        }
                        store.close()
                    }
                }
            }
            try await group.waitForAll()
        }
        let store = try folder.open()
        #expect(try store.head == 60)
        #expect(store.catalog.entities.count { $0.attributes.count == 10 } == 6)
        try await store.expectConsistent()
    }

    @Test func `streams come and go while commits go on`() async throws {
        let store = try Store.inMemory(schema: .all)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<4 {
                group.addTask {
                    for round in 0..<50 {
                        try await store.write { try $0.save(Node(id: .init("\(index)-\(round)"))) }
                    }
                }
                group.addTask {
                    for _ in 0..<50 {
                        let stream = store.changes()
                        let reader = Task { await stream.first { _ in true } }
                        await Task.yield()
                        reader.cancel()
                        _ = await reader.value
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try store.head == 200)
    }

    @Test func `verify and rebuild while others write`() async throws {
        let store = try Store.inMemory(schema: .all)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<3 {
                group.addTask {
                    for round in 0..<40 {
                        try await store.write { try $0.save(Node(id: .init("\(index)-\(round)"))) }
                    }
                }
            }
            group.addTask {
                for _ in 0..<5 {
                    let problems = try store.verify().problems
                    #expect(problems == [])
                    let report = try await store.rebuild()
                    #expect(report.isIdentical)
                }
            }
            try await group.waitForAll()
        }
        try await store.expectConsistent()
    }
}
