import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchSimulation
import BackstitchTesting
import TestBudget
import Testing

/// Writes that stay on the device, and records that were taken off it.
@Suite(.budgeted) struct StayingLocalTests {
    let cloud: SimulatedCloud
    let phone: Device

    init() throws {
        var options = SimulatedCloud.Options()
        options.keepsVersions = true
        cloud = SimulatedCloud(options: options)
        phone = try Device(cloud)
    }

    private func account() throws -> LogAccount {
        try phone.store.read { [cloud] transaction in
            try LogAccount(transaction.reader, mayGoBack: false) { cloud.version(tagged: $0) }
        }
    }

    private func saveLocally(_ name: String, _ title: String) async throws {
        try await phone.store.write(isLocalOnly: true) {
            _ = try $0.save(Note(id: Note.ID(name), title: title))
        }
    }

    private func expectSettled(localOnly: Int) async throws {
        try await phone.expectSettled()
        let account = try account()
        #expect(account.problems == [])
        #expect(account.localOnlyOperations == localOnly)
        #expect(account.localOperations == account.acknowledged + account.superseded)
        try await phone.store.compact(.keepUnsyncedOnly)
        try await phone.expectSettled()
    }

    @Test func `a local-only write is never pushed`() async throws {
        try await phone.note("a", "ours")
        try await phone.sync()
        try await saveLocally("a", "mine")
        try await saveLocally("b", "new")
        #expect(try phone.engine.pending().pendingOperations == 0)
        #expect(try await phone.sync().pushedRecords == 0)
        #expect(remote(cloud) == ["Note a {title: ours}"])
        #expect(try phone.titles() == ["a": "mine", "b": "new"])
        try await phone.note("a", "mine", body: "pushed")
        try await phone.sync()
        #expect(remote(cloud) == ["Note a {body: pushed, title: ours}"])
        try await expectSettled(localOnly: 2)
    }

    @Test func `a newer version of the service replaces it`() async throws {
        try await phone.note("a", "ours")
        try await phone.sync()
        try await saveLocally("a", "mine")
        try cloud.write("a", type: "Note", fields: ["title": .string("theirs")], in: scenarioZone)
        try await phone.sync()
        #expect(try phone.titles() == ["a": "theirs"])
        try await expectSettled(localOnly: 1)
    }

    @Test func `an edit of a record that began here pushes all of it`() async throws {
        try await saveLocally("a", "mine")
        try await phone.note("a", "mine", body: "text")
        try await phone.sync()
        #expect(remote(cloud) == ["Note a {body: text, title: mine}"])
        try await saveLocally("b", "mine")
        try await phone.delete(Note.ID("b"))
        #expect(try await phone.sync().pushedRecords == 0)
        try await phone.expectSettled()
    }

    @Test func `it is refused for what is still to be pushed`() async throws {
        try await phone.note("a", "unsynced")
        await #expect(throws: StoreError.self) { try await saveLocally("a", "mine") }
        #expect(try phone.titles() == ["a": "unsynced"])
        try await phone.sync()
        try await saveLocally("a", "mine")
        try await expectSettled(localOnly: 1)
    }

    @Test func `the end of another record of its name does not end it`() async throws {
        try await phone.sync()
        try await saveLocally("a", "mine")
        try cloud.write("a", type: "Note", fields: ["title": .string("theirs")], in: scenarioZone)
        try cloud.remove("a", in: scenarioZone)
        try await phone.sync()
        #expect(try phone.titles() == ["a": "mine"])
        try await expectSettled(localOnly: 1)
    }

    @Test func `it stays though everything is uploaded again`() async throws {
        try await phone.note("a", "ours")
        try await phone.sync()
        try await saveLocally("b", "mine")
        try await evict("a")
        cloud.endZone(scenarioZone, as: .deleted)
        try await phone.sync()
        #expect(remote(cloud) == [])
        #expect(try phone.titles() == ["b": "mine"])
        try await phone.expectSettled()
    }

    // MARK: Eviction

    private func evict(_ name: String) async throws {
        try await phone.store.write { _ = try $0.evict(Note.ID(name)) }
    }

    @Test func `a record that begins over an evicted one and ends at once brings it back`()
        async throws
    {
        try await phone.note("a", "one")
        try await phone.sync()
        try await evict("a")
        try await phone.note("a", "two")
        try await phone.delete(Note.ID("a"))
        try await phone.sync()
        #expect(try phone.titles() == ["a": "one"])
        try await phone.expectEqualToFresh(cloud)
    }

    @Test func `what stays here can't hide an evicted record`() async throws {
        try await phone.note("a", "one")
        try await phone.sync()
        try await evict("a")
        let error = await #expect(throws: StoreError.self) { try await saveLocally("a", "mine") }
        #expect(error?.code == .alreadyExists)
        try await phone.sync()
        #expect(try phone.titles() == [:])
        #expect(try await phone.engine.fetchAgain([Note.ID("a")]) == 1)
        try await saveLocally("a", "mine")
        #expect(try phone.titles() == ["a": "mine"])
    }

    @Test func `a lost reply to an edit beside what stays here is no conflict`() async throws {
        try await phone.note("a", "ours")
        try await phone.sync()
        try await saveLocally("a", "mine")
        try await phone.note("a", "mine", body: "pushed")
        phone.service.failNext(.modify, with: .lostReply)
        _ = try? await phone.sync()
        try await phone.note("a", "mine", body: "later")
        #expect(try await phone.sync().conflicts == 0)
        #expect(remote(cloud) == ["Note a {body: later, title: ours}"])
        #expect(try phone.titles() == ["a": "mine"])
        try await expectSettled(localOnly: 1)
    }

    @Test func `an evicted record stays on the service and comes when it is asked for`()
        async throws
    {
        try await phone.note("a", "one")
        try await phone.note("b", "two")
        try await phone.sync()
        try await evict("a")
        #expect(try phone.titles() == ["b": "two"])
        cloud.expireTokens(of: scenarioZone)
        try await phone.sync()
        #expect(try phone.titles() == ["b": "two"])
        #expect(remote(cloud).count == 2)
        #expect(try await phone.engine.fetchAgain([Note.ID("a"), "b", "c"]) == 1)
        #expect(try phone.titles() == ["a": "one", "b": "two"])
        try await expectSettled(localOnly: 1)
    }

    @Test func `an evicted record comes back in a newer version`() async throws {
        try await phone.note("a", "one")
        try await phone.sync()
        try await evict("a")
        try cloud.write("a", type: "Note", fields: ["title": .string("two")], in: scenarioZone)
        try await phone.sync()
        #expect(try phone.titles() == ["a": "two"])
        try await expectSettled(localOnly: 1)
    }

    @Test(arguments: [true, false])
    func `the end of an evicted record is its end`(isSwept: Bool) async throws {
        try await phone.note("a", "one")
        try await phone.sync()
        try await evict("a")
        try cloud.remove("a", in: scenarioZone)
        if isSwept { cloud.expireTokens(of: scenarioZone) }
        try await phone.sync()
        #expect(try await phone.engine.fetchAgain([Note.ID("a")]) == 0)
        try await phone.note("a", "again")
        try await phone.sync()
        #expect(remote(cloud) == ["Note a {title: again}"])
        try await expectSettled(localOnly: 1)
    }

    @Test func `a save in the place of an evicted record meets the service's version`()
        async throws
    {
        try await phone.note("a", "one")
        try await phone.sync()
        try await evict("a")
        try await phone.note("a", "mine")
        #expect(try await phone.sync().conflicts == 1)
        #expect(try phone.titles() == ["a": "one"])
        try await expectSettled(localOnly: 1)
    }

    @Test func `what the service lacks is not evicted`() async throws {
        try await phone.note("a", "new")
        await #expect(throws: StoreError.self) { try await evict("a") }
        try await phone.sync()
        try await phone.note("a", "edited")
        await #expect(throws: StoreError.self) { try await evict("a") }
        try await phone.sync()
        try await phone.note("b", "unsynced")
        let store = phone.store
        await #expect(throws: StoreError.self) {
            try await store.write { try $0.evict(Query<Note>()) }
        }
        #expect(try phone.titles() == ["a": "edited", "b": "unsynced"])
        try await phone.sync()
        #expect(try await store.write { try $0.evict(Query<Note>()) } == 2)
        #expect(try phone.titles() == [:])
        #expect(remote(cloud).count == 2)
        try await expectSettled(localOnly: 2)
    }
}
