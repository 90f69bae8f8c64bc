import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchTesting
import TestBudget
import Testing

/// Edits on both sides in every order, under each policy.
@Suite(.budgeted) struct MergeScenarioTests {
    let cloud = SimulatedCloud()

    private func synced(_ policy: ConflictPolicy) async throws -> Device {
        try await .withBase(cloud) { $0.conflictPolicy = policy }
    }

    @Test(arguments: [ConflictPolicy.serverWins, .clientWins])
    func `a local edit before the server's`(policy: ConflictPolicy) async throws {
        let phone = try await synced(policy)
        try await phone.note("a", "mine", body: "base")
        try cloud.editNote(["title": .string("theirs")])
        #expect(try await phone.sync().conflicts == 1)
        let title = policy == .serverWins ? "theirs" : "mine"
        #expect(remote(cloud) == ["Note a {body: base, title: \(title)}"])
        try await phone.expectEqualToFresh(cloud)
    }

    @Test(arguments: [ConflictPolicy.serverWins, .clientWins])
    func `the server's edit before a local one`(policy: ConflictPolicy) async throws {
        let phone = try await synced(policy)
        try cloud.editNote(["title": .string("theirs")])
        try await phone.note("a", "mine", body: "base")
        #expect(try await phone.sync().conflicts == 1)
        let title = policy == .serverWins ? "theirs" : "mine"
        #expect(remote(cloud) == ["Note a {body: base, title: \(title)}"])
        try await phone.expectEqualToFresh(cloud)
    }

    @Test(arguments: [ConflictPolicy.serverWins, .clientWins])
    func `the server's edit that was pulled before the local one`(
        policy: ConflictPolicy
    ) async throws {
        let phone = try await synced(policy)
        try cloud.editNote(["title": .string("theirs")])
        try await phone.sync()
        try await phone.note("a", "mine", body: "base")
        #expect(try await phone.sync().conflicts == 0)
        #expect(remote(cloud) == ["Note a {body: base, title: mine}"])
        try await phone.expectEqualToFresh(cloud)
    }

    @Test(arguments: [ConflictPolicy.serverWins, .clientWins])
    func `the server's edit between the pull and the push`(policy: ConflictPolicy) async throws {
        let phone = try await synced(policy)
        try await phone.note("a", "mine", body: "base")
        let cloud = cloud
        let isFirst = OneTime()
        phone.service.beforeRequest = { info throws(ServiceError) in
            guard info.kind == .modify, isFirst.take() else { return }
            try cloud.write(
                "a", type: "Note", fields: ["title": .string("theirs")], in: scenarioZone)
        }
        #expect(try await phone.sync().conflicts == 1)
        let title = policy == .serverWins ? "theirs" : "mine"
        #expect(remote(cloud) == ["Note a {body: base, title: \(title)}"])
        try await phone.expectEqualToFresh(cloud)
    }

    @Test(arguments: [ConflictPolicy.serverWins, .clientWins])
    func `both sides edit different fields`(policy: ConflictPolicy) async throws {
        let phone = try await synced(policy)
        try await phone.note("a", "mine", body: "base")
        try cloud.editNote(["body": .string("theirs")])
        try await phone.sync()
        #expect(
            remote(cloud) == [
                policy == .serverWins
                    ? "Note a {body: theirs, title: base}" : "Note a {body: base, title: mine}"
            ])
        try await phone.expectEqualToFresh(cloud)
    }

    @Test(arguments: [ConflictPolicy.serverWins, .clientWins])
    func `one side removes a value and the other sets it`(policy: ConflictPolicy) async throws {
        let phone = try await synced(policy)
        try await phone.note("a", "base")
        try cloud.editNote(["body": .string("theirs")])
        try await phone.sync()
        #expect(
            remote(cloud) == [
                policy == .serverWins
                    ? "Note a {body: theirs, title: base}" : "Note a {title: base}"
            ])
        try cloud.editNote(["body": .null, "title": .string("theirs")])
        try await phone.note("a", "base", body: "mine")
        try await phone.sync()
        #expect(
            remote(cloud) == [
                policy == .serverWins
                    ? "Note a {title: theirs}" : "Note a {body: mine, title: base}"
            ])
        try await phone.expectEqualToFresh(cloud)
    }

    @Test(arguments: [ConflictPolicy.serverWins, .clientWins])
    func `both sides make the same edit`(policy: ConflictPolicy) async throws {
        let phone = try await synced(policy)
        try await phone.note("a", "same", body: "base")
        try cloud.editNote(["title": .string("same")])
        let report = try await phone.sync()
        #expect(report.conflicts == 0 && report.pushedRecords == 0)
        #expect(try phone.engine.conflicts() == [])
        try await phone.expectEqualToFresh(cloud)
    }

    @Test(arguments: [ConflictPolicy.serverWins, .clientWins])
    func `an edit here and a delete there`(policy: ConflictPolicy) async throws {
        let phone = try await synced(policy)
        try await phone.note("a", "mine", body: "base")
        try cloud.remove("a", in: scenarioZone)
        #expect(try await phone.sync().conflicts == 1)
        #expect(
            remote(cloud) == (policy == .serverWins ? [] : ["Note a {body: base, title: mine}"]))
        try await phone.expectEqualToFresh(cloud)
    }

    @Test(arguments: [ConflictPolicy.serverWins, .clientWins])
    func `a delete here and an edit there`(policy: ConflictPolicy) async throws {
        let phone = try await synced(policy)
        try await phone.delete(Note.ID("a"))
        try cloud.editNote(["title": .string("theirs")])
        #expect(try await phone.sync().conflicts == 1)
        #expect(
            remote(cloud) == (policy == .serverWins ? ["Note a {body: base, title: theirs}"] : []))
        try await phone.expectEqualToFresh(cloud)
    }

    @Test(arguments: [ConflictPolicy.serverWins, .clientWins])
    func `a delete on both sides`(policy: ConflictPolicy) async throws {
        let phone = try await synced(policy)
        try await phone.delete(Note.ID("a"))
        try cloud.remove("a", in: scenarioZone)
        #expect(try await phone.sync().conflicts == 0)
        #expect(remote(cloud) == [])
        try await phone.expectEqualToFresh(cloud)
    }

    @Test(arguments: [ConflictPolicy.serverWins, .clientWins])
    func `both sides create a record of the same name`(policy: ConflictPolicy) async throws {
        let phone = try await synced(policy)
        try await phone.note("b", "mine")
        try cloud.write("b", type: "Note", fields: ["title": .string("theirs")], in: scenarioZone)
        #expect(try await phone.sync().conflicts == 1)
        let title = policy == .serverWins ? "theirs" : "mine"
        #expect(remote(cloud).last == "Note b {title: \(title)}")
        try await phone.expectEqualToFresh(cloud)
    }

    @Test(arguments: [ConflictPolicy.serverWins, .clientWins])
    func `conflicts in a row each start from what the service said last`(
        policy: ConflictPolicy
    ) async throws {
        let phone = try await synced(policy)
        try await phone.note("a", "mine", body: "base")
        let cloud = cloud
        let left = Countdown(3)
        phone.service.beforeRequest = { info throws(ServiceError) in
            guard info.kind == .modify, let number = left.take() else { return }
            try cloud.write(
                "a", type: "Note", fields: ["body": .string("theirs \(number)")],
                in: scenarioZone)
        }
        try await phone.sync()
        #expect(
            remote(cloud) == [
                policy == .serverWins
                    ? "Note a {body: theirs 1, title: base}" : "Note a {body: base, title: mine}"
            ])
        try await phone.expectEqualToFresh(cloud)
    }

    @Test(arguments: [ConflictPolicy.serverWins, .clientWins])
    func `the journal keeps what both sides had`(policy: ConflictPolicy) async throws {
        let phone = try await synced(policy)
        try await phone.note("a", "mine", body: "base")
        try cloud.editNote(["title": .string("theirs")])
        try await phone.sync()
        let entry = try #require(try phone.engine.conflicts().first)
        #expect(entry.record == RecordID(entity: "Note", name: "a"))
        #expect(entry.policy == policy)
        #expect(entry.base == ["title": .string("base"), "body": .string("base")])
        #expect(entry.local == ["title": .string("mine"), "body": .string("base")])
        #expect(entry.server == ["title": .string("theirs"), "body": .string("base")])
        #expect(entry.outcome == (policy == .serverWins ? entry.server : entry.local))
        #expect(try phone.engine.conflicts().count == 1)
    }

    @Test(arguments: [ConflictPolicy.serverWins, .clientWins])
    func `two devices that edit in turn end up equal`(policy: ConflictPolicy) async throws {
        let phone = try await synced(policy)
        let laptop = try Device(cloud, "laptop") { $0.conflictPolicy = policy }
        try await laptop.sync()
        for round in 0..<5 {
            try await phone.note("a", "phone \(round)", body: "base")
            try await laptop.note("a", "base", body: "laptop \(round)")
            for device in round % 2 == 0 ? [phone, laptop] : [laptop, phone] {
                try await device.sync()
            }
        }
        for _ in 0..<2 { for device in [phone, laptop] { try await device.sync() } }
        #expect(try phone.all(Note.self) == laptop.all(Note.self))
        try await phone.expectEqualToFresh(cloud)
        try await laptop.expectSettled()
    }
}
