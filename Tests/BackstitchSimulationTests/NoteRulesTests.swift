import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchTesting
import TestBudget
import Testing

@testable import BackstitchSimulation

@Entity("Jotting") struct Jotting: Equatable {
    var id = ID()
    var text: String
}

/// Notes in `meta` that no later step would take away, or that speak of what is over.
@Suite(.budgeted) struct NoteRulesTests {
    /// A store whose record `a` the service took.
    private func store() async throws -> Store {
        let store = try Store.inMemory(schema: StoreSchema(Jotting.self))
        try await store.write { _ = try $0.save(Jotting(id: "a", text: "one")) }
        let engine = SyncEngine(
            store: store, service: SimulatedRecordService(),
            configuration: SyncConfiguration(
                zoneName: "jottings", syncOnSave: false, clock: ManualClock()))
        try await engine.sync()
        await engine.stop()
        return store
    }

    private func rules<Result>(
        _ store: Store, _ body: (NoteRules) throws -> Result
    ) throws -> Result {
        try store.read { transaction in
            let account = try LogAccount(transaction.reader, mayGoBack: true) { _ in nil }
            return try body(NoteRules(transaction.reader, account))
        }
    }

    private func problems(_ store: Store) throws -> [String] {
        try rules(store) { try $0.problems() }
    }

    @Test func `a store that has exchanged everything has no notes`() async throws {
        let store = try await store()
        #expect(try problems(store) == [])
        #expect(try rules(store) { try $0.leftovers(mayGoBack: false) } == [])
    }

    @Test func `a mark of a full fetch that is over is found`() async throws {
        let store = try await store()
        try await store.withLogWriter { try FullFetch($0, in: 0).markSeen("a") }
        #expect(try problems(store) == ["the note seen.a is left of a full fetch"])
        #expect(try rules(store) { try $0.leftovers(mayGoBack: false) } == ["seen.a"])
    }

    @Test func `a missed version is over once the service took a push`() async throws {
        let store = try await store()
        try await store.withLogWriter { try $0.note(.missed, RecordKey("a")) }
        #expect(try problems(store) == ["the note missed.a is older than a push"])
        // What is edited since may have met another version.
        try await store.write { _ = try $0.save(Jotting(id: "a", text: "two")) }
        #expect(try problems(store) == [])
    }

    @Test func `a missed version of a device that has settled was looked up`() async throws {
        let store = try await store()
        try await store.withLogWriter {
            try $0.noteUnmergedVersion(of: RecordKey(RecordName("b")), modifiedMilliseconds: 1)
        }
        #expect(try problems(store) == [])
        #expect(try rules(store) { try $0.leftovers(mayGoBack: false) } == ["missed.b"])
        // A service that went back may not have that version any more.
        #expect(try rules(store) { try $0.leftovers(mayGoBack: true) } == [])
    }

    @Test func `a create that was sent is noted while the record waits`() async throws {
        let store = try await store()
        try await store.write { _ = try $0.save(Jotting(id: "new", text: "one")) }
        try await store.withLogWriter { log in
            for name in ["a", "new", "other"] { try log.note(.sent, RecordKey(name)) }
        }
        let reason = "is of a record that does not wait to be made"
        #expect(
            try problems(store) == ["the note sent.a \(reason)", "the note sent.other \(reason)"])
        #expect(
            try rules(store) { try $0.leftovers(mayGoBack: true) }
                == ["sent.a", "sent.new", "sent.other"])
        try await store.write { _ = try $0.delete(Jotting.ID("new")) }
        #expect(try problems(store).count == 2)
    }

    @Test func `a record that was made anew and sent is noted while it waits`() async throws {
        let store = try await store()
        try await store.write { _ = try $0.save(Jotting(id: "a", text: "two")) }
        try await store.withLogWriter { try $0.note(.sent, RecordKey("a")) }
        #expect(
            try problems(store) == [
                "the note sent.a is of a record that does not wait to be made"
            ])
        try await store.write { _ = try $0.delete(Jotting.ID("a")) }
        #expect(try problems(store) == [])
        try await store.write { _ = try $0.save(Jotting(id: "a", text: "three")) }
        try await store.withLogWriter { try $0.note(.sent, RecordKey("a")) }
        #expect(try problems(store) == [])
        #expect(try rules(store) { try $0.leftovers(mayGoBack: true) } == ["sent.a"])
    }

    @Test func `an unheard delete is over once the service has the record`() async throws {
        let store = try await store()
        let table = try #require(store.catalogSnapshot.table(named: "Jotting"))
        let value = table.number.rawValue.bigEndianBytes + UInt64(1).bigEndianBytes
        try await store.withLogWriter { log in
            for name in ["a", "other"] { try log.note(.unheard, RecordKey(name), value) }
        }
        #expect(try problems(store) == ["the note unheard.a is of a record that the service has"])
    }

    @Test(arguments: [false, true])
    func `a record that may be a duplicate is noted while a pull is to come`(
        needsPull: Bool
    ) async throws {
        let store = try await store()
        try await store.withLogWriter { log in
            var state = try log.reader.zoneState("jottings")
            state.needsPull = needsPull
            try log.setZoneState(state, "jottings")
            try log.note(.duplicate, RecordKey("a"))
            try log.note(.duplicate, RecordKey("b"), Array("a".utf8))
        }
        let reason = "is left though no pull is to come"
        #expect(
            try problems(store)
                == (needsPull
                    ? [] : ["the note duplicate.a \(reason)", "the note duplicate.b \(reason)"]))
        #expect(
            try rules(store) { try $0.leftovers(mayGoBack: true) }
                == ["duplicate.a", "duplicate.b"])
        // No record has such a name.
        try await store.withLogWriter { try $0.note(.duplicate, RecordKey("b"), Array("_".utf8)) }
        #expect(try problems(store).contains("the note duplicate.b can't be read"))
    }

    @Test(arguments: ["missed", "unheard", "sent", "incomplete", "undelivered"])
    func `a note that can't be read is found`(kind: String) async throws {
        let store = try await store()
        let kinds: [String: SyncNotes] = [
            "missed": .missed, "unheard": .unheard, "sent": .sent,
            "incomplete": .incomplete, "undelivered": .undelivered,
        ]
        let note = try #require(kinds[kind])
        try await store.withLogWriter { try $0.note(note, RecordKey("b"), [1]) }
        #expect(try problems(store) == ["the note \(kind).b can't be read"])
    }
}
