import Backstitch
import BackstitchCore
import BackstitchSync
import Foundation
import Threading
import TestBudget
import Testing

@testable import BackstitchStore

/// How large a write may be, and what to do instead of one that is larger.
@Suite(.budgeted) struct WriteSizeTests {
    private func store(operations: Int = 100_000, bytes: Int = 256 << 20) throws -> Store {
        try Store.inMemory(
            schema: .all,
            configuration: StoreConfiguration(
                durability: .relaxed, operationsPerWriteMax: operations, bytesPerWriteMax: bytes))
    }

    private func fill(_ store: Store, _ count: Int) throws {
        for number in 0..<count {
            try store.write {
                _ = try $0.save(Project(id: .init(Self.name(number)), title: "t\(number % 2)"))
            }
        }
    }

    private static func name(_ number: Int) -> String { "p" + String(1_000 + number) }

    @Test func `a write with too many operations is refused as a whole`() async throws {
        let store = try store(operations: 10)
        try await store.write { transaction in
            for number in 0..<10 {
                try transaction.save(Project(id: .init("p\(number)"), title: "t"))
            }
        }
        let error = await #expect(throws: StoreError.self) {
            try await store.write { transaction in
                for number in 0..<11 {
                    _ = try? transaction.save(Project(id: .init("q\(number)"), title: "t"))
                }
            }
        }
        #expect(error?.code == .tooLarge)
        #expect(error?.message.contains("inPartsOf") == true)
        #expect(error?.message.contains("operationsPerWriteMax") == true)
        #expect(try store.read { try $0.count(Project.self) } == 10)
        #expect(try store.verify().problems == [])
    }

    @Test func `a write with too many bytes is refused, one large operation is not`() throws {
        let store = try store(bytes: 5_000)
        let large = String(repeating: "x", count: 10_000)
        try store.write { _ = try $0.save(Project(id: "large", title: large)) }
        let error = #expect(throws: StoreError.self) {
            try store.write { transaction in
                for number in 0..<2 {
                    try transaction.save(Project(id: .init("q\(number)"), title: large))
                }
            }
        }
        #expect(error?.code == .tooLarge)
        #expect(try store.read { try $0.count(Project.self) } == 1)
    }

    @Test func `the others of a commit are kept`() async throws {
        let store = try store(operations: 3)
        let failures = Locked(0)
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<40 {
                group.addTask {
                    do {
                        try await store.write { transaction in
                            for part in 0..<(number % 2 == 0 ? 3 : 4) {
                                try transaction.save(
                                    Project(id: .init("p\(number)-\(part)"), title: "t"))
                            }
                        }
                    } catch {
                        failures.withLock { $0 += 1 }
                    }
                }
            }
        }
        #expect(failures.withLock { $0 } == 20)
        #expect(try store.read { try $0.count(Project.self) } == 60)
        #expect(try store.verify().problems == [])
    }

    @Test func `sync is not bounded`() async throws {
        let store = try store(operations: 3)
        try fill(store, 10)
        try await store.withLogWriter { context in
            for change in try OutboxFolder(context.reader).fold(recordsMax: .max).changes {
                try context.marks.settle(change.entity, change.key, through: change.through)
            }
        }
        #expect(try store.read { try StoreInfo.Outbox($0.reader) }.pendingRecords == 0)
    }

    // MARK: Parts

    @Test func `an update in parts does the same as one in a write`() async throws {
        let store = try store(operations: 7)
        try fill(store, 50)
        let query = Query<Project>().where(#Predicate { $0.title == "t1" })
        let told = Locked<[(done: Int, total: Int)]>([])
        let commits = try store.head
        let count = try await store.update(
            query, inPartsOf: 7, author: "me", context: "all",
            progress: { done, total in told.withLock { $0.append((done, total)) } },
            set: { $0.title = "u" })
        #expect(count == 25)
        #expect(told.withLock { $0.map(\.done) } == [7, 14, 21, 25])
        #expect(told.withLock { $0.allSatisfy { $0.total == 25 } })
        let rows = try store.read { try $0.fetch(Project.self) }
        #expect(rows.count { $0.title == "u" } == 25 && rows.count { $0.title == "t0" } == 25)
        let transactions = try store.read { try $0.transactions(limit: 10) }
        #expect(transactions.prefix(4).allSatisfy { $0.context == "all" && $0.author == "me" })
        #expect(try store.head == commits + 25)
    }

    @Test func `others write between parts, and what does not fit any more is left out`()
        async throws
    {
        let store = try store()
        try fill(store, 20)
        let query = Query<Project>().where(#Predicate { $0.title == "t0" || $0.title == "t1" })
        let parts = Locked(0)
        let count = try await store.update(
            query, inPartsOf: 5,
            progress: { _, _ in
                guard
                    parts.withLock({
                        $0 += 1; return $0
                    }) == 1
                else { return }
                try? store.write { transaction in
                    _ = try transaction.delete(Project.ID(Self.name(19)))
                    _ = try transaction.save(Project(id: .init(Self.name(18)), title: "other"))
                    _ = try transaction.save(Project(id: .init("p9999"), title: "t0"))
                }
            }, set: { $0.title += "!" })
        #expect(count == 18)
        let titles = try store.read { try $0.fetch(Project.self) }.map(\.title)
        #expect(titles.count { $0.hasSuffix("!") } == 18)
        #expect(titles.contains("other") && titles.contains("t0"))
    }

    @Test func `an update in parts that ended early is gone on with`() async throws {
        struct Failure: Error {}
        let store = try store()
        try fill(store, 20)
        let query = Query<Project>().where(#Predicate { $0.title != "u" })
        let calls = Locked(0)
        await #expect(throws: Failure.self) {
            try await store.update(query, inPartsOf: 4) { project in
                if calls.withLock({
                    $0 += 1; return $0
                }) == 11 {
                    throw Failure()
                }
                project.title = "u"
            }
        }
        #expect(try store.read { try $0.count(query) } == 12)
        #expect(try await store.update(query, inPartsOf: 4) { $0.title = "u" } == 12)
        #expect(try store.read { try $0.count(query) } == 0)
        let cancelled = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await store.update(Query<Project>(), inPartsOf: 4) { $0.title = "v" }
        }
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        #expect(try store.read { try $0.fetch(Project.self) }.allSatisfy { $0.title == "u" })
        await #expect(throws: StoreError.self) {
            try await store.update(query, inPartsOf: 0) { $0.title = "v" }
        }
    }

    @Test func `a delete in parts follows the rules`() async throws {
        let store = try store(operations: 12)
        try await store.write { transaction in
            for number in 0..<6 { try transaction.save(Node(id: .init("n\(number)"))) }
        }
        try await store.write { transaction in
            for number in 6..<12 {
                try transaction.save(Node(id: .init("n\(number)"), parent: .init("n\(number - 6)")))
            }
        }
        let count = try await store.delete(Query<Node>(), inPartsOf: 2)
        #expect(count >= 6 && count <= 12)
        #expect(try store.read { try $0.count(Node.self) } == 0)
        #expect(try store.verify().problems == [])
    }
}
