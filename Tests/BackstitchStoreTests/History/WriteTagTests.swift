import Backstitch
import BackstitchCore
import TestBudget
import Testing

@testable import BackstitchStore

/// The context of a write.
@Suite(.budgeted) struct WriteTagTests {
    let store: Store

    init() throws { store = try Store.inMemory(schema: .all) }

    @Test func `the first operation carries the context, and all of the transaction tell it`()
        async throws
    {
        try await store.write(author: "ada", context: "request 7") { transaction in
            for id in ["a", "b", "c"] { try transaction.save(Node(id: .init(id))) }
        }
        try await store.write { _ = try $0.save(Node(id: "d")) }
        #expect(try store.operations { $0.context } == ["request 7", "", "", ""])
        let logged = try store.operations(limit: 9)
        #expect(logged.map(\.context) == ["request 7", "request 7", "request 7", ""])
        try await store.expectConsistent()
    }

    @Test func `change sets carry it, live and read from the log`() async throws {
        var changes = store.changes().makeAsyncIterator()
        try await store.write(context: "why") { _ = try $0.save(Node(id: "a")) }
        #expect(await changes.next()?.context == "why")
        try await store.write(context: "later") { _ = try $0.save(Node(id: "b")) }
        let logged = try store.read { transaction in
            var logged: [ChangeSet] = []
            try LoggedChanges(transaction.reader).visit(from: 1, before: .max) { logged.append($0) }
            return logged
        }
        #expect(logged.map(\.context) == ["why", "later"])
    }

    @Test(arguments: [0, 1, 4096])
    func `a context of up to 4 KiB is kept`(count: Int) throws {
        let text = String(repeating: "x", count: count)
        try store.write(context: text) { _ = try $0.save(Node(id: "a")) }
        #expect(try store.operations(limit: 1).first?.context == text)
    }

    @Test func `a longer one is refused, and nothing is written`() async throws {
        let text = String(repeating: "é", count: 2049)
        let error = failure {
            try store.write(context: text) { _ = try $0.save(Node(id: "a")) }
        }
        #expect(error?.code == .invalidValue)
        #expect(error?.message.contains("4098") == true)
        await #expect(throws: StoreError.self) {
            try await store.write(context: text) { _ = try $0.save(Node(id: "a")) }
        }
        #expect(try store.head == 0)
    }

    @Test func `a write that runs again with others keeps its own`() async throws {
        // The second write fails after it wrote, so that the group runs again without it.
        await withTaskGroup { group in
            for index in 0..<20 {
                group.addTask { [store] in
                    try? await store.write(context: "c\(index)") { transaction in
                        try transaction.save(Node(id: .init("n\(index)")))
                        if index % 3 == 0 { throw Planned() }
                    }
                }
            }
        }
        for operation in try store.operations(limit: 99) {
            #expect("n" + operation.context.dropFirst() == operation.record.name)
        }
    }
}
