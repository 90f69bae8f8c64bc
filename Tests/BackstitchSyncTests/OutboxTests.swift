import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchTesting
import Foundation
import Threading
import TestBudget
import Testing

/// What waits, why, and how it goes on.
@Suite(.budgeted) struct OutboxTests {
    let cloud = SimulatedCloud()

    @Test func `pending records are listed by what has to be done`() async throws {
        let phone = try Device(cloud)
        for name in ["a", "b"] { try await phone.note(name, "one") }
        try await phone.sync()
        try await phone.note("c", "new")
        try await phone.note("a", "two")
        try await phone.delete(Note.ID("b"))
        let pending = try phone.engine.pendingRecords()
        #expect(pending.map(\.change) == [.create, .update, .delete])
        #expect(pending.map(\.record.name) == ["c", "a", "b"])
        #expect(pending.allSatisfy { !$0.isInFlight && $0.record.entity == "Note" })
        #expect(try phone.engine.pendingRecords(limit: 1).count == 1)
        #expect(try phone.engine.pendingRecords(limit: 0) == [])
        try await phone.sync()
        #expect(try phone.engine.pendingRecords() == [])
    }

    @Test func `an edit of another zone waits, and is not pushed into the store's own`()
        async throws
    {
        let phone = try await Device.withNotes(cloud)
        try await phone.addZone()
        let key = RecordKey(RecordName("a"), zone: 2)
        try await phone.save(Note(id: Note.ID(key: key), title: "elsewhere"))
        try await phone.note("b", "two")
        #expect(
            try phone.engine.pendingRecords().map(\.record.key)
                == [RecordKey(RecordName("b")), key])
        phone.service.beforeRequest = { request throws(ServiceError) in
            if request.zone == ZoneID("list") { throw ServiceError(.zoneBusy) }
        }
        let error = await syncError { try await phone.sync() }
        #expect(error?.serviceError?.code == .zoneBusy)
        #expect(remote(cloud) == ["Note a {title: one}", "Note b {title: two}"])
        #expect(try phone.engine.pendingRecords().map(\.record.key) == [key])
        phone.service.beforeRequest = nil
        try await phone.sync()
        #expect(remote(cloud, in: ZoneID("list")) == ["Note a {title: elsewhere}"])
        try await phone.expectSettled()
    }

    @Test func `records are in flight while their request is`() async throws {
        let phone = try Device(cloud)
        let engine = phone.engine
        let seen = Locked<[Bool]>([])
        phone.service.beforeReply = { info throws(ServiceError) in
            guard info.kind == .modify else { return }
            let pending = try? engine.pendingRecords()
            seen.withLock { $0 = pending?.map(\.isInFlight) ?? [] }
        }
        try await phone.note("a", "one")
        try await phone.sync()
        #expect(seen.withLock { $0 } == [true])
    }

    @Test func `counters add up to what the service does not have`() async throws {
        let phone = try Device(cloud)
        try await phone.save(Chore(id: "c", title: "one", list: "nowhere"))
        try await phone.save(Chore(id: "c", title: "two", list: "nowhere"))
        try await phone.sync()
        for title in ["x", "y", "z"] { try await phone.note("n", title) }
        let counts = try phone.engine.pending()
        #expect(counts.pendingRecords == 1 && counts.pendingOperations == 3)
        #expect(counts.parkedRecords == 1 && counts.parkedOperations == 2)
    }

    @Test func `a parked record tells the code and the words of the refusal`() async throws {
        let phone = try Device(cloud)
        try await phone.save(Chore(id: "c", title: "c", list: "nowhere"))
        try await phone.sync()
        let parked = try #require(try phone.engine.parked().first)
        #expect(parked.code == .referenceViolation)
        #expect(!parked.message.hasPrefix(":") && !parked.message.contains("referenceViolation"))
        #expect(parked == (try phone.store.info().parked.first))
    }

    @Test(arguments: ["pull", "push"])
    func `what was parked for a missing target goes when the target is there`(
        way: String
    ) async throws {
        let phone = try Device(cloud)
        try await phone.save(Chore(id: "c", title: "c", list: "l"))
        try await phone.save(Chore(id: "other", title: "o", list: "elsewhere"))
        #expect(try await phone.sync().parkedRecords == 2)
        if way == "pull" {
            try cloud.write(
                "l", type: "TaskList", fields: ["title": .string("l")], in: scenarioZone)
        } else {
            try await phone.save(TaskList(id: "l", title: "l", parent: nil))
        }
        try await phone.sync()
        #expect(cloud.record(named: "c", in: scenarioZone) != nil)
        #expect(try phone.engine.parked().map(\.record.name) == ["other"])
        #expect(try phone.engine.pending().pendingRecords == 0)
        #expect(try phone.store.verify().problems == [])
    }

    @Test func `what is released while a push is under way is pushed by the same round`()
        async throws
    {
        let phone = try Device(cloud)
        let engine = phone.engine
        try await phone.save(Chore(id: "c", title: "c", list: "l"))
        try await phone.sync()
        try cloud.write("l", type: "TaskList", fields: ["title": .string("l")], in: scenarioZone)
        try await phone.note("n", "one")
        let first = OneTime()
        phone.service.beforeRequest = { info throws(ServiceError) in
            guard info.kind == .modify, first.take() else { return }
            do {
                try await engine.retryParked()
            } catch {
                Issue.record(error)
            }
        }
        try await phone.sync()
        try await phone.sync()
        #expect(remote(cloud).count == 3)
        try await phone.expectSettled()
    }

    @Test func `an edit releases, a discard gives up, and the rest goes on`() async throws {
        let phone = try Device(cloud)
        for name in ["a", "b"] { try await phone.note(name, "one") }
        phone.service.inject(
            ScriptedFault(.error(.invalidRequest), on: .modify, for: .untilCleared))
        try await phone.sync()
        phone.service.endFaults()
        #expect(try phone.engine.parked().map(\.code) == [.invalidRequest, .invalidRequest])
        try await phone.note("a", "edited")
        let left = try phone.engine.parked()
        #expect(left.map(\.record.name) == ["b"])
        #expect(try await phone.engine.discardParked(left) == 1)
        try await phone.sync()
        #expect(remote(cloud) == ["Note a {title: edited}"])
        #expect(try phone.engine.conflicts().count == 1)
        try await phone.expectSettled()
    }

    @Test func `parked changes are exported as lines`() async throws {
        let phone = try Device(cloud)
        try await phone.save(Chore(id: "c", title: "c", list: "nowhere"))
        try await phone.note("n", "pending")
        try await phone.sync()
        try await phone.note("n", "again")
        var text = ""
        let count = try phone.store.exportParked { text += String(decoding: $0, as: UTF8.self) }
        #expect(count == 1)
        #expect(text.hasPrefix(#"{"operationType":"create","record":{"recordName":"c""#))
        #expect(text.split(separator: "\n").count == 1)
        #expect(try phone.engine.parked().count == 1)
    }

    @Test func `another schema releases what the service refused for its form`() async throws {
        let path = FileManager.default.temporaryDirectory.path + "/outbox-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: path) }
        let store = try Store(at: path, schema: StoreSchema(Note.self))
        let phone = try Device(cloud, store: store)
        try await phone.note("a", "one")
        phone.service.inject(
            ScriptedFault(.error(.invalidRequest), on: .modify, for: .untilCleared))
        try await phone.sync()
        phone.service.endFaults()
        #expect(try phone.engine.parked().count == 1)
        await phone.engine.stop()
        store.close()
        let same = try Store(at: path, schema: StoreSchema(Note.self))
        #expect(try same.info().parked.count == 1)
        same.close()
        let wider = try Store(at: path, schema: scenarioSchema)
        defer { wider.close() }
        let next = try Device(cloud, store: wider)
        #expect(try next.engine.parked() == [])
        try await next.sync()
        #expect(remote(cloud) == ["Note a {title: one}"])
        try await next.expectSettled()
        await next.engine.stop()
    }

    // MARK: Waiting

    @Test func `a wait for an operation ends when the service has it`() async throws {
        let phone = try Device(cloud)
        let engine = phone.engine
        try await phone.note("a", "one")
        let sequence = try phone.store.read { try $0.lastSequence }
        let wait = Task { try await engine.waitUntilSynced(operation: sequence) }
        for _ in 0..<50 { await Task.yield() }
        try await phone.sync()
        #expect(try await wait.value == nil)
        #expect(try await engine.waitUntilSynced(operation: sequence) == nil)
    }

    @Test func `a wait for an operation ends when it is parked`() async throws {
        let phone = try Device(cloud)
        let engine = phone.engine
        try await phone.save(Chore(id: "c", title: "c", list: "nowhere"))
        let sequence = try phone.store.read { try $0.lastSequence }
        let wait = Task { try await engine.waitUntilSynced(operation: sequence) }
        for _ in 0..<50 { await Task.yield() }
        try await phone.sync()
        let parked = try #require(await wait.value)
        #expect(try engine.parked() == [parked])
        #expect(try await engine.waitUntilSynced(operation: sequence) == parked)
    }

    @Test func `a wait for everything ends when the service has it, or refused it`() async throws {
        let phone = try Device(cloud)
        let engine = phone.engine
        #expect(try await engine.waitUntilSynced() == [])
        for name in ["a", "b"] { try await phone.note(name, "one") }
        try await phone.save(Chore(id: "c", title: "c", list: "nowhere"))
        let wait = Task {
            let refused = try await engine.waitUntilSynced()
            #expect(try engine.pending().pendingRecords == 0)
            return refused
        }
        for _ in 0..<50 { await Task.yield() }
        try await phone.sync()
        let (refused, parked) = (try await wait.value, try engine.parked())
        #expect(parked.count == 1 && refused.allSatisfy { parked.contains($0) })
        #expect(remote(cloud).count == 2)
        // What is parked already does not wait.
        #expect(try await engine.waitUntilSynced() == [])
    }

    @Test func `a wait for everything leaves out what is held back`() async throws {
        let phone = try Device(cloud) { $0.selection = SyncConfiguration.Selection(Note.self) }
        try await phone.save(Step(id: "s", title: "one"))
        #expect(try phone.engine.pending().heldBackRecords == 1)
        #expect(try await phone.engine.waitUntilSynced() == [])
        await phone.engine.stop()
        await #expect(throws: SyncError.self) { try await phone.engine.waitUntilSynced() }
    }

    @Test func `a wait ends with its task, with the engine, and at once for what is not there`()
        async throws
    {
        let phone = try Device(cloud)
        let engine = phone.engine
        try await phone.note("a", "one")
        let sequence = try phone.store.read { try $0.lastSequence }
        await #expect(throws: StoreError.self) {
            try await engine.waitUntilSynced(operation: sequence + 1)
        }
        let cancelled = Task { try await engine.waitUntilSynced(operation: sequence) }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        let stopped = Task { try await engine.waitUntilSynced(operation: sequence) }
        for _ in 0..<50 { await Task.yield() }
        await engine.stop()
        await #expect(throws: SyncError.self) { try await stopped.value }
    }

    @Test func `caught up is what the service had at the time of the call`() async throws {
        let clock = ManualClock()
        let phone = try Device(cloud) { $0.clock = clock }
        let engine = phone.engine
        try await engine.waitUntilCaughtUp()
        try await engine.start()
        try cloud.write("a", type: "Note", fields: ["title": .string("t")], in: scenarioZone)
        try await engine.waitUntilCaughtUp()
        #expect(try phone.titles() == ["a": "t"])
        try cloud.write("b", type: "Note", fields: ["title": .string("t")], in: scenarioZone)
        phone.service.failNext(with: .lostRequest)
        let wait = Task { try await engine.waitUntilCaughtUp() }
        while clock.sleeperCount == 0 { await Task.yield() }
        clock.advanceToNextWake()
        try await wait.value
        #expect(try phone.titles().count == 2)
        await engine.stop()
    }

    @Test func `progress tells how much is to be pushed`() async throws {
        cloud.limits.operationsPerRequest = 10
        let phone = try Device(cloud) { $0.recordsPerPass = 20 }
        for number in 0..<45 { try await phone.note("n\(number)", "one") }
        let events = EventRecorder(phone.engine)
        try await phone.sync()
        await phone.engine.stop()
        let progress = await events.all().compactMap { event -> (Int, Int?)? in
            guard case .progress(_, let pushed, let total) = event else { return nil }
            return (pushed, total)
        }
        #expect(progress.last?.0 == 45)
        #expect(progress.allSatisfy { pushed, total in pushed == 0 || total == 45 })
    }
}
