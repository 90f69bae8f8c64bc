import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchTesting
import Foundation
import TestBudget
import Testing
import Threading

/// Engines that exchange a part of their store.
@Suite(.budgeted) struct SelectionTests {
    let cloud = SimulatedCloud()

    private func phone(
        _ selection: SyncConfiguration.Selection, store: Store? = nil
    ) throws -> Device {
        try Device(cloud, store: store) { $0.selection = selection }
    }

    private func shared() throws -> SyncConfiguration.Selection {
        try SyncConfiguration.Selection.all.pushing(
            #Predicate<Note> { !$0.title.starts(with: "draft") })
    }

    @Test func `records of other entities are neither pushed nor pulled`() async throws {
        let phone = try phone(SyncConfiguration.Selection(Note.self))
        try await phone.note("a", "note")
        try await phone.save(TaskList(id: "l", title: "list"))
        try await phone.sync()
        try cloud.write(
            "m", type: "TaskList", fields: ["title": .string("theirs")], in: scenarioZone)
        try cloud.write("r", type: "Robot", fields: ["model": .string("x")], in: scenarioZone)
        try await phone.sync()
        #expect(
            Set(remote(cloud)) == [
                "Note a {title: note}", "TaskList m {title: theirs}", "Robot r {model: x}",
            ])
        #expect(try phone.all(TaskList.self).map(\.title) == ["list"])
        #expect(try phone.store.info().entities.contains { $0.name == "Robot" })
        let counts = try phone.engine.pending()
        #expect(counts.pendingRecords == 0)
        #expect(counts.heldBackRecords == 1)
        try await phone.expectSettled()
    }

    @Test func `a closed selection asks for its types only, and wider ones bring the others`()
        async throws
    {
        let phone = try phone(.only(Note.self))
        let asked = Locked<[Set<String>?]>([])
        phone.service.beforeRequest = { info throws(ServiceError) in
            if info.kind == .zoneChanges { asked.withLock { $0.append(info.types) } }
        }
        try await phone.note("a", "note")
        try await phone.sync()
        try cloud.write("r", type: "Robot", fields: ["model": .string("x")], in: scenarioZone)
        try cloud.write("n", type: "Note", fields: ["title": .string("n")], in: scenarioZone)
        try await phone.sync()
        #expect(asked.withLock { !$0.isEmpty && $0.allSatisfy { $0 == ["Note"] } })
        #expect(try phone.all(Note.self).map(\.id.description).sorted() == ["a", "n"])
        #expect(try !phone.store.info().entities.contains { $0.name == "Robot" })
        // The feed's end of a record of any type is no matter of the selection.
        try cloud.remove("n", in: scenarioZone)
        try await phone.sync()
        #expect(try phone.all(Note.self).map(\.id.description) == ["a"])
        let open = await phone.restarted { $0.selection = SyncConfiguration.Selection(Note.self) }
        open.service.beforeRequest = nil
        try await open.sync()
        #expect(try open.store.info().entities.contains { $0.name == "Robot" })
        // What is not asked for any more is not taken for deleted when all is fetched again.
        let closed = await open.restarted { $0.selection = .only(Note.self) }
        closed.service.failNext(.zoneChanges, with: .tokenExpired)
        try cloud.write("s", type: "Note", fields: ["title": .string("s")], in: scenarioZone)
        try await closed.sync()
        #expect(
            try closed.store.info().entities.first { $0.name == "Robot" }?.records == 1)
        #expect(try closed.all(Note.self).map(\.id.description).sorted() == ["a", "s"])
    }

    @Test func `a wider selection brings both sides what they lack`() async throws {
        let phone = try phone(SyncConfiguration.Selection(Note.self))
        try await phone.note("a", "note")
        try await phone.save(TaskList(id: "l", title: "list"))
        try await phone.sync()
        try cloud.write(
            "m", type: "TaskList", fields: ["title": .string("theirs")], in: scenarioZone)
        try await phone.sync()
        let whole = await phone.restarted { $0.selection = .all }
        #expect(try whole.engine.pending().pendingRecords == 1)
        try await whole.sync()
        #expect(try Set(whole.all(TaskList.self).map(\.title)) == ["list", "theirs"])
        #expect(
            Set(remote(cloud)) == [
                "Note a {title: note}", "TaskList l {title: list}", "TaskList m {title: theirs}",
            ])
        #expect(try whole.engine.pending().heldBackRecords == 0)
        try await whole.expectSettled()
    }

    @Test func `a wider selection brings what was left out since the zone was lost`()
        async throws
    {
        let phone = try phone(SyncConfiguration.Selection(Note.self))
        try await phone.note("a", "note")
        try await phone.save(TaskList(id: "l", title: "list"))
        try await phone.sync()
        let other = try Device(cloud, "other")
        try await other.save(TaskList(id: "m", title: "theirs"))
        try await other.sync()
        phone.service.failNext(.zoneChanges, with: .zoneNotFound)
        try await phone.sync()
        let whole = await phone.restarted { $0.selection = .all }
        try await whole.sync()
        #expect(
            Set(remote(cloud)) == [
                "Note a {title: note}", "TaskList l {title: list}", "TaskList m {title: theirs}",
            ])
        #expect(try whole.all(TaskList.self).count == 2)
        try await whole.expectSettled()
    }

    @Test func `a record that starts to match is pushed as a whole`() async throws {
        let phone = try phone(shared())
        try await phone.note("a", "draft 1", body: "text")
        try await phone.note("b", "out")
        try await phone.sync()
        #expect(remote(cloud) == ["Note b {title: out}"])
        #expect(try phone.engine.pending().heldBackRecords == 1)
        try await phone.note("a", "draft 2", body: "text")
        #expect(try await phone.sync().pushedRecords == 0)
        try await phone.note("a", "ready", body: "text")
        try await phone.sync()
        #expect(remote(cloud) == ["Note a {body: text, title: ready}", "Note b {title: out}"])
        try await phone.expectSettled()
    }

    @Test func `a record that stops to match stays on the service as it was`() async throws {
        let phone = try phone(shared())
        try await phone.note("a", "ready", body: "text")
        try await phone.sync()
        try await phone.note("a", "draft", body: "text")
        try await phone.sync()
        try await phone.note("a", "draft", body: "other")
        try await phone.sync()
        #expect(remote(cloud) == ["Note a {body: text, title: ready}"])
        // What held a delete back was the record before it.
        try await phone.delete(Note.ID("a"))
        try await phone.sync()
        #expect(remote(cloud) == ["Note a {body: text, title: ready}"])
        #expect(try phone.engine.pending().heldBackRecords == 1)
        try await phone.note("a", "again")
        try await phone.sync()
        #expect(remote(cloud) == ["Note a {title: again}"])
        try await phone.expectSettled()
    }

    @Test func `what was held back is pushed by an engine without the predicate`() async throws {
        let phone = try phone(shared())
        try await phone.note("a", "draft", body: "text")
        try await phone.note("b", "out")
        try await phone.sync()
        try await phone.sync()
        let whole = await phone.restarted { $0.selection = .all }
        try await whole.sync()
        #expect(remote(cloud) == ["Note a {body: text, title: draft}", "Note b {title: out}"])
        try await whole.expectSettled()
    }

    @Test func `others' edits meet what is held back by the policy`() async throws {
        let phone = try phone(shared())
        try await phone.note("a", "ready")
        try await phone.sync()
        try await phone.note("a", "draft")
        try cloud.write("a", type: "Note", fields: ["title": .string("theirs")], in: scenarioZone)
        #expect(try await phone.sync().conflicts == 1)
        #expect(try phone.titles() == ["a": "theirs"])
        try await phone.expectSettled()
    }

    @Test func `a selection of an unknown entity is refused`() async throws {
        let phone = try Device(cloud, schema: StoreSchema(Note.self)) {
            $0.selection = SyncConfiguration.Selection(TaskList.self)
        }
        let error = await syncError { try await phone.sync() }
        #expect(error?.code == .store)
        #expect(error?.message.contains("TaskList") == true)
    }
}
