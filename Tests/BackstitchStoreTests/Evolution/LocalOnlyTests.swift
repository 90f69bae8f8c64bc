import Backstitch
import BackstitchCore
import TestBudget
import Testing

@testable import BackstitchStore

@Entity("Note") struct LocalNote: Equatable {
    var id = ID()
    var text: String
    @Attribute(.localOnly) var scroll = 0
    @Attribute(.localOnly) var draft: String?
}

@Suite(.budgeted) struct LocalOnlyTests {
    private let store: Store

    init() throws { store = try Store.inMemory(schema: StoreSchema(LocalNote.self)) }

    private func note(_ id: LocalNote.ID = "n") throws -> LocalNote? {
        try store.read { try $0.find(LocalNote.self, id) }
    }

    @Test func `it is never part of a push`() throws {
        try store.write { try $0.save(LocalNote(id: "n", text: "a", scroll: 5, draft: "d")) }
        guard case .create(let fields) = try store.pushesByName()["n"] else {
            Issue.record("A new record is to be created.")
            return
        }
        #expect(fields.map(\.value) == [.string("a")])
    }

    @Test func `it is never exported for the service`() async throws {
        try await store.write { try $0.save(LocalNote(id: "n", text: "a", scroll: 5, draft: "d")) }
        try await store.pull("Note", "m", ["text": .string("b")])
        try await store.pull("Note", "o", ["text": .string("c")])
        try await store.write { try $0.save(LocalNote(id: "m", text: "edited", draft: "d")) }
        try await store.write { try $0.save(LocalNote(id: "o", text: "c", draft: "d")) }
        var lines: [UInt8] = []
        #expect(try store.exportOutbox { lines += $0 } == 2)
        let text = String(decoding: lines, as: UTF8.self)
        #expect(text.contains("edited"))
        #expect(!text.contains("draft") && !text.contains("scroll"))
    }

    @Test func `an edit of nothing else has nothing to push`() async throws {
        try await store.pull("Note", "n", ["text": .string("a")])
        try await store.write { try $0.save(LocalNote(id: "n", text: "a", scroll: 7)) }
        #expect(try store.pushesByName() == ["n": .nothing])
        #expect(try note()?.scroll == 7)
    }

    @Test(arguments: [ConflictPolicy.serverWins, .clientWins])
    func `a pull neither clears nor sets it`(policy: ConflictPolicy) async throws {
        try await store.pull("Note", "n", ["text": .string("a"), "scroll": .int64(99)])
        #expect(try note()?.scroll == 0)
        try await store.write {
            try $0.save(LocalNote(id: "n", text: "mine", scroll: 7, draft: "d"))
        }
        try await store.pull(
            "Note", "n", tag: "2", at: 2, policy: policy,
            ["text": .string("theirs"), "draft": .string("x")])
        let text = policy == .serverWins ? "theirs" : "mine"
        #expect(try note() == LocalNote(id: "n", text: text, scroll: 7, draft: "d"))
        try await store.expectConsistent()
    }

    @Test func `an edit of nothing else is no conflict`() async throws {
        try await store.pull("Note", "n", ["text": .string("a")])
        try await store.write { try $0.save(LocalNote(id: "n", text: "a", scroll: 7)) }
        let result = try await store.pull("Note", "n", tag: "2", at: 2, ["text": .string("b")])
        #expect(result == .applied)
        #expect(try note() == LocalNote(id: "n", text: "b", scroll: 7))
        #expect(try store.pushesByName() == [:])
    }

    @Test func `it survives where the record is made again`() async throws {
        try await store.pull("Note", "n", ["text": .string("a")])
        try await store.write { try $0.save(LocalNote(id: "n", text: "mine", draft: "d")) }
        try await store.withLogWriter { context in
            _ = try context.mergeAbsent(
                RecordKey(RecordName("n")), recordType: "Note", policy: .clientWins)
        }
        #expect(try note() == LocalNote(id: "n", text: "mine", draft: "d"))
        try await store.expectConsistent()
    }
}
