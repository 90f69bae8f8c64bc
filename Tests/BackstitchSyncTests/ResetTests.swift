import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchTesting
import TestBudget
import Testing

/// Set-up, and beginning anew on either side.
@Suite(.budgeted) struct ResetTests {
    let cloud = SimulatedCloud()

    @Test func `set-up is made once, and again without harm`() async throws {
        let phone = try Device(cloud) { $0.subscriptionID = "mine" }
        try await phone.note("a", "one")
        phone.service.failNext(.createSubscription, with: .lostReply)
        _ = await syncError { try await phone.sync() }
        try await phone.sync()
        try await phone.sync()
        #expect(cloud.requestCounts[.createZone] == 2)
        #expect(cloud.requestCounts[.createSubscription] == 2)
        #expect(cloud.zones() == [scenarioZone])
        #expect(remote(cloud) == ["Note a {title: one}"])
    }

    @Test(arguments: SyncConfiguration.ZoneLossDecision.allCases)
    func `a destroyed zone stays gone until somebody decides`(
        decision: SyncConfiguration.ZoneLossDecision
    ) async throws {
        let phone = try await Device.withNotes(cloud)
        try await phone.note("c", "unsynced")
        try await phone.engine.destroyZone()
        #expect(cloud.zones() == [])
        #expect(phone.engine.status == .suspended(.zoneDeletedByUser))
        let restarted = await phone.restarted()
        #expect(await syncError { try await restarted.sync() }?.code == .suspended)
        #expect(try restarted.titles().count == 3)
        #expect(try await restarted.engine.resume(after: decision))
        try await restarted.sync()
        #expect(remote(cloud).count == (decision == .reupload ? 3 : 0))
        try await restarted.expectSettled()
    }

    @Test func `what an erase takes of unsynced edits is in the journal`() async throws {
        let phone = try await Device.withNotes(cloud)
        try await phone.note("a", "edited")
        try await phone.note("c", "new")
        try await phone.delete(Note.ID("b"))
        try await phone.engine.destroyZone()
        try await phone.engine.resume(after: .erase)
        let conflicts = try phone.engine.conflicts()
        #expect(Set(conflicts.map(\.record.name.description)) == ["a", "c"])
        #expect(try phone.titles() == [:])
        try await phone.sync()
        try await phone.expectSettled()
    }

    @Test func `a zone that can't be destroyed leaves the engine as it was`() async throws {
        let phone = try await Device.withNotes(cloud)
        phone.service.failNext(.deleteZone, with: .lostRequest)
        #expect(await syncError { try await phone.engine.destroyZone() }?.code == .unreachable)
        try await phone.note("a", "two")
        try await phone.sync()
        #expect(remote(cloud).first == "Note a {title: two}")
        try await phone.expectSettled()
    }

    @Test(arguments: [true, false])
    func `a local reset fetches everything, and keeps unsynced edits unless told otherwise`(
        keepsUnsynced: Bool
    ) async throws {
        let phone = try await Device.withNotes(cloud)
        try await phone.note("a", "edited")
        try await phone.note("c", "new")
        try await phone.engine.resetLocal(keepsUnsynced: keepsUnsynced)
        let titles =
            keepsUnsynced ? ["a": "edited", "b": "one", "c": "new"] : ["a": "one", "b": "one"]
        #expect(try phone.titles() == titles)
        #expect(remote(cloud).count == titles.count)
        #expect(try phone.engine.conflicts().count == (keepsUnsynced ? 0 : 2))
        try await phone.expectSettled()
    }

    @Test func `a local reset keeps what is parked`() async throws {
        let phone = try await Device.withNotes(cloud)
        try await phone.save(Chore(id: "c", title: "c", list: "nowhere"))
        try await phone.sync()
        try await phone.engine.resetLocal()
        #expect(try phone.engine.parked().count == 1)
        #expect(try phone.find(Chore.ID("c"))?.title == "c")
        #expect(try phone.titles().count == 2)
    }

    @Test func `a remote reset leaves what is here and nothing else`() async throws {
        let phone = try await Device.withNotes(cloud)
        try await phone.note("a", "edited")
        try cloud.write("theirs", type: "Note", fields: ["title": .string("t")], in: scenarioZone)
        try await phone.engine.resetRemote()
        #expect(remote(cloud) == ["Note a {title: edited}", "Note b {title: one}"])
        #expect(try phone.titles() == ["a": "edited", "b": "one"])
        try await phone.expectSettled()
    }

    @Test(arguments: [RequestKind.deleteZone, .createZone, .modify], [true, false])
    func `a remote reset that fails on its way is carried through by the next round`(
        kind: RequestKind, isApplied: Bool
    ) async throws {
        let phone = try await Device.withNotes(cloud)
        try cloud.write("theirs", type: "Note", fields: ["title": .string("t")], in: scenarioZone)
        phone.service.failNext(kind, with: isApplied ? .lostReply : .lostRequest)
        #expect(await syncError { _ = try await phone.engine.resetRemote() }?.code == .unreachable)
        let next = await phone.restarted()
        try await next.sync()
        #expect(remote(cloud) == ["Note a {title: one}", "Note b {title: one}"])
        try await next.expectSettled()
    }

    @Test func `a resync from the server repairs what differs and keeps edits`() async throws {
        let phone = try await Device.withNotes(cloud)
        try await phone.note("a", "edited")
        try await phone.note("c", "new")
        // What only a fault of the service can do: its feed does not tell of this.
        try cloud.remove("b", in: scenarioZone)
        cloud.forgetTombstones(of: scenarioZone)
        try await phone.engine.resync(from: .server)
        #expect(try phone.titles() == ["a": "edited", "c": "new"])
        #expect(remote(cloud) == ["Note a {title: edited}", "Note c {title: new}"])
        try await phone.expectSettled()
    }

    @Test(arguments: ConflictPolicy.allCases)
    func `a resync from here wins, and deletes nothing there`(policy: ConflictPolicy) async throws {
        let phone = try Device(cloud) {
            $0.conflictPolicy = policy
            $0.conflictResolver = { _ in .server }
        }
        for name in ["a", "b", "gone"] { try await phone.note(name, "one") }
        try await phone.sync()
        try await phone.note("b", "edited")
        try await phone.delete(Note.ID("gone"))
        for name in ["a", "b", "theirs"] {
            try cloud.write(name, type: "Note", fields: ["title": .string("t")], in: scenarioZone)
        }
        try await phone.engine.resync(from: .local)
        let titles = ["a": "one", "b": "edited", "theirs": "t"]
        #expect(try phone.titles() == titles)
        #expect(
            remote(cloud) == [
                "Note a {title: one}", "Note b {title: edited}", "Note theirs {title: t}",
            ])
        try await phone.expectSettled()
        // It holds for that once: the policy decides again.
        try cloud.write("a", type: "Note", fields: ["title": .string("later")], in: scenarioZone)
        try await phone.note("a", "mine")
        try await phone.sync()
        let isTheirs = [.serverWins, .keepBoth, .resolver].contains(policy.innermost)
        #expect(try phone.titles()["a"] == (isTheirs ? "later" : "mine"))
    }

    @Test func `a reset waits for the round that is under way`() async throws {
        let phone = try await Device.withNotes(cloud)
        let engine = phone.engine
        let first = OneTime()
        phone.service.beforeReply = { info throws(ServiceError) in
            guard info.kind == .databaseChanges, first.take() else { return }
            Task { try await engine.destroyZone() }
            for _ in 0..<50 { await Task.yield() }
        }
        try await phone.note("a", "two")
        try await phone.sync()
        while cloud.zones() != [], !Task.isCancelled { await Task.yield() }
        #expect(try engine.pending().pendingRecords == 0)
    }
}
