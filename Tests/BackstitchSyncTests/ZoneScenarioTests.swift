import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchTesting
import TestBudget
import Testing

/// Zones that end, tokens that expire, servers that were put back.
@Suite(.budgeted) struct ZoneScenarioTests {
    let cloud = SimulatedCloud()

    @Test(arguments: [SimulatedCloud.ZoneEnding.deleted, .encryptedDataReset])
    func `a lost zone is made again with everything in it`(
        ending: SimulatedCloud.ZoneEnding
    ) async throws {
        let phone = try await Device.withNotes(cloud)
        let laptop = try Device(cloud, "laptop")
        try await laptop.sync()
        try await phone.note("a", "two")
        try await phone.delete(Note.ID("b"))
        try await laptop.note("c", "three")
        cloud.endZone(scenarioZone, as: ending)
        try await phone.sync()
        #expect(remote(cloud) == ["Note a {title: two}"])
        try await laptop.sync()
        try await phone.sync()
        #expect(try phone.titles() == laptop.titles())
        #expect(remote(cloud).contains("Note c {title: three}"))
        for device in [phone, laptop] { try await device.expectSettled() }
    }

    @Test(
        arguments: [SimulatedCloud.ZoneEnding.deletedByUser, .purged],
        SyncConfiguration.ZoneLossDecision.allCases)
    func `a zone that its user ended waits for a decision`(
        ending: SimulatedCloud.ZoneEnding, decision: SyncConfiguration.ZoneLossDecision
    ) async throws {
        let phone = try await Device.withNotes(cloud)
        try await phone.note("c", "unsynced")
        cloud.endZone(scenarioZone, as: ending)
        let code: ServiceError.Code =
            ending == .purged ? .zonePurged : .zoneDeletedByUser
        let events = EventRecorder(phone.engine)
        #expect(await syncError { try await phone.sync() }?.code == .suspended)
        #expect(phone.engine.status == .suspended(code))
        #expect(cloud.zones() == [])
        cloud.clearRequests()
        let restarted = await phone.restarted()
        #expect(await syncError { try await restarted.sync() }?.code == .suspended)
        #expect(cloud.requestCounts == [:])
        #expect(try restarted.titles().count == 3)
        #expect(try await restarted.engine.resume(after: decision))
        #expect(try await !restarted.engine.resume(after: decision))
        try await restarted.sync()
        let all = ["a", "b", "c"]
        #expect(
            cloud.records(in: scenarioZone).map(\.recordName) == (decision == .erase ? [] : all))
        #expect(try restarted.titles().keys.sorted() == (decision == .erase ? [] : all))
        try await restarted.note("d", "later")
        try await restarted.sync()
        #expect(remote(cloud).last == "Note d {title: later}")
        try await restarted.expectSettled()
        await phone.engine.stop()
        #expect(await events.kinds() == ["started manual", "zoneLost", "failed suspended"])
    }

    @Test func `expired tokens lead to a full fetch that keeps local edits`() async throws {
        let phone = try await Device.withNotes(cloud)
        try await phone.note("mine", "unsynced")
        try await phone.note("a", "edited")
        try cloud.remove("b", in: scenarioZone)
        try cloud.write("c", type: "Note", fields: ["title": .string("c")], in: scenarioZone)
        cloud.forgetTombstones(of: scenarioZone)
        cloud.expireDatabaseTokens()
        try await phone.sync()
        #expect(try phone.titles() == ["a": "edited", "c": "c", "mine": "unsynced"])
        #expect(
            remote(cloud) == [
                "Note a {title: edited}", "Note c {title: c}", "Note mine {title: unsynced}",
            ])
        try await phone.expectSettled()
    }

    @Test(arguments: [ConflictPolicy.serverWins, .clientWins])
    func `an edit of a record that a full fetch does not find follows the policy`(
        policy: ConflictPolicy
    ) async throws {
        let phone = try Device(cloud) { $0.conflictPolicy = policy }
        try await phone.note("a", "one")
        try await phone.sync()
        try await phone.note("a", "two")
        try cloud.remove("a", in: scenarioZone)
        cloud.forgetTombstones(of: scenarioZone)
        try await phone.sync()
        #expect(remote(cloud) == (policy == .serverWins ? [] : ["Note a {title: two}"]))
        #expect(try phone.engine.conflicts().count == 1)
        try await phone.expectSettled()
    }

    @Test func `a server put back to a backup is followed`() async throws {
        let phone = try await Device.withNotes(cloud)
        let backup = cloud.snapshot()
        try await phone.note("a", "two")
        try await phone.note("later", "one")
        try await phone.sync()
        cloud.restore(to: backup)
        try await phone.note("b", "edited")
        try await phone.sync()
        #expect(remote(cloud) == ["Note a {title: one}", "Note b {title: edited}"])
        #expect(try phone.titles() == ["a": "one", "b": "edited"])
        try await phone.note("a", "three")
        try await phone.sync()
        #expect(remote(cloud).first == "Note a {title: three}")
        try await phone.expectSettled()
    }

    @Test(arguments: [ConflictPolicy.serverWins, .clientWins])
    func `an edit on top of a version that the server lost is settled`(
        policy: ConflictPolicy
    ) async throws {
        let phone = try Device(cloud) { $0.conflictPolicy = policy }
        try await phone.note("a", "one")
        try await phone.sync()
        let backup = cloud.snapshot()
        try await phone.note("a", "two")
        try await phone.sync()
        try await phone.note("a", "three")
        cloud.restore(to: backup)
        try await phone.sync()
        let title = policy == .serverWins ? "one" : "three"
        #expect(remote(cloud) == ["Note a {title: \(title)}"])
        #expect(try phone.titles() == ["a": title])
        try await phone.expectSettled()
    }

    @Test func `a server that was wiped is filled again`() async throws {
        let phone = try await Device.withNotes(cloud)
        try await phone.note("c", "unsynced")
        cloud.wipe()
        try await phone.sync()
        #expect(cloud.records(in: scenarioZone).map(\.recordName) == ["a", "b", "c"])
        try await phone.expectSettled()
    }

    @Test(arguments: [FaultKind.emptyPages, .smallPages, .reorderedFeed])
    func `pages of every kind lose nothing`(kind: FaultKind) async throws {
        let phone = try await Device.withNotes(cloud)
        for number in 0..<20 {
            try cloud.write(
                "r\(number)", type: "Note", fields: ["title": .string("r")], in: scenarioZone)
        }
        try cloud.remove("a", in: scenarioZone)
        phone.service.inject(ScriptedFault(kind, on: .zoneChanges, for: .requests(3)))
        try await phone.sync()
        #expect(try phone.titles().count == 21)
        try await phone.expectSettled()
    }

    @Test func `a record that changes while pages are read is taken in its last version`()
        async throws
    {
        cloud.limits.recordsPerPage = 2
        let phone = try await Device.withNotes(cloud)
        let laptop = try Device(cloud, "laptop")
        let cloud = cloud
        let left = Countdown(3)
        laptop.service.beforeReply = { info throws(ServiceError) in
            guard info.kind == .zoneChanges, let number = left.take() else { return }
            try cloud.write(
                "a", type: "Note", fields: ["title": .string("\(number)")], in: scenarioZone)
            try cloud.write(
                "n\(number)", type: "Note", fields: ["title": .string("n")], in: scenarioZone)
        }
        for _ in 0..<4 { try await laptop.sync() }
        #expect(try laptop.titles()["a"] == "3")
        #expect(try laptop.titles().count == 5)
        try await phone.sync()
        #expect(try phone.titles() == laptop.titles())
    }

    @Test func `a zone that ended is noticed though the engine went down in between`() async throws
    {
        let phone = try await Device.withNotes(cloud)
        cloud.endZone(scenarioZone, as: .purged)
        // The commit that would suspend the zone fails; the one before it kept the new token.
        let commits = Countdown(2)
        phone.store.setCommitFault {
            if commits.take() == 2 { throw StoreError(.io, "injected") }
        }
        #expect(await syncError { try await phone.sync() }?.code == .store)
        phone.store.setCommitFault(nil)
        let restarted = await phone.restarted()
        #expect(await syncError { try await restarted.sync() }?.code == .suspended)
    }

    @Test func `another user's store is refused and kept`() async throws {
        let phone = try await Device.withNotes(cloud)
        try await phone.note("c", "unsynced")
        phone.service.switchUser(to: "other")
        #expect(await syncError { try await phone.sync() }?.code == .blocked)
        #expect(await syncError { try await phone.sync() }?.code == .blocked)
        #expect(phone.engine.status == .blocked(.accountChanged))
        #expect(cloud.records(in: scenarioZone, user: "other") == [])
        phone.service.switchUser(to: nil)
        #expect(await syncError { try await phone.sync() }?.code == .blocked)
        #expect(try phone.engine.pending().pendingRecords == 1)
        phone.service.switchUser(to: "user")
        try await phone.sync()
        #expect(remote(cloud).last == "Note c {title: unsynced}")
        #expect(cloud.zones(user: "other") == [])
        try await phone.expectSettled()
    }

    @Test func `what was saved while nobody is signed in is uploaded after the sign-in`()
        async throws
    {
        let service = cloud.connection(user: nil, device: "phone")
        let phone = Device(store: try Store.inMemory(schema: scenarioSchema), service: service)
        try await phone.note("a", "mine")
        #expect(await syncError { try await phone.sync() }?.code == .blocked)
        #expect(phone.engine.status == .blocked(.notAuthenticated))
        service.switchUser(to: "user")
        try await phone.sync()
        #expect(remote(cloud) == ["Note a {title: mine}"])
        try await phone.expectSettled()
    }
}
