import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchTesting
import Foundation
import TestBudget
import Testing

/// A create of which no answer came, and another device that deletes the record.
@Suite(.budgeted) struct UnheardCreateTests {
    let cloud = SimulatedCloud()

    /// A device that sent the create of the note `a` and got no answer.
    private func sender(
        _ fault: FaultKind = .lostReply, configure: (inout SyncConfiguration) -> Void = { _ in }
    ) async throws -> Device {
        let phone = try Device(cloud, configure: configure)
        try await phone.sync()
        try await phone.note("a", "mine")
        phone.service.failNext(.modify, with: fault)
        #expect(await syncError { try await phone.sync() }?.code == .unreachable)
        #expect(try noted(phone.store) == ["a"])
        return phone
    }

    /// Another device deletes the note `a`.
    private func deleteElsewhere() async throws {
        let laptop = try Device(cloud, "laptop")
        try await laptop.sync()
        #expect(try laptop.titles() == ["a": "mine"])
        try await laptop.delete(Note.ID("a"))
        try await laptop.sync()
        #expect(remote(cloud) == [])
    }

    // MARK: The policy

    @Test(arguments: [
        (ConflictRules(.serverWins), false), (ConflictRules(.clientWins), true),
        (ConflictRules(.lastWriterWins), true),
        (ConflictRules(.merge(otherwise: .serverWins)), false),
        (ConflictRules(.serverWins, deletePolicy: .editWins), true),
        (ConflictRules(.clientWins, deletePolicy: .deleteWins), false),
    ])
    func `the policy decides, and the journal tells`(
        rules: ConflictRules, isBack: Bool
    ) async throws {
        let phone = try await sender { $0.conflictRules = rules }
        try await deleteElsewhere()
        #expect(try await phone.sync().conflicts == 1)
        #expect(try phone.titles() == (isBack ? ["a": "mine"] : [:]))
        #expect(remote(cloud) == (isBack ? ["Note a {title: mine}"] : []))
        let conflict = try #require(try phone.engine.conflicts().first)
        #expect(conflict.local?["title"] == .string("mine"))
        #expect(conflict.server == nil)
        #expect(conflict.base == nil)
        #expect(conflict.outcome?["title"] == (isBack ? .string("mine") : nil))
        // It is decided once.
        #expect(try await phone.sync().conflicts == 0)
        #expect(try noted(phone.store) == [])
        try await phone.expectEqualToFresh(cloud)
    }

    @Test func `both are kept under two names`() async throws {
        let phone = try await sender { $0.conflictPolicy = .keepBoth }
        try await deleteElsewhere()
        #expect(try await phone.sync().conflicts == 1)
        #expect(try phone.titles()["a"] == nil)
        #expect(try phone.titles().values.sorted() == ["mine"])
        #expect(try phone.engine.conflicts().first?.copy != nil)
        try await phone.expectEqualToFresh(cloud)
    }

    @Test func `the application is asked`() async throws {
        let phone = try await sender {
            $0.conflictPolicy = .resolver
            $0.conflictResolver = { $0.server == nil ? .client : .server }
        }
        try await deleteElsewhere()
        #expect(try await phone.sync().conflicts == 1)
        #expect(remote(cloud) == ["Note a {title: mine}"])
        try await phone.expectEqualToFresh(cloud)
    }

    @Test func `edits since are in the journal`() async throws {
        let phone = try await sender()
        try await deleteElsewhere()
        try await phone.note("a", "edited")
        #expect(try await phone.sync().conflicts == 1)
        #expect(try phone.titles() == [:])
        #expect(try phone.engine.conflicts().first?.local?["title"] == .string("edited"))
        try await phone.expectEqualToFresh(cloud)
    }

    @Test func `a process that died before the answer asks as well`() async throws {
        let path = FileManager.default.temporaryDirectory.path + "/sent-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: path) }
        let phone = try Device(cloud, store: Store(at: path, schema: scenarioSchema))
        try await phone.sync()
        try await phone.note("a", "mine")
        let gate = Gate()
        let first = OneTime()
        phone.service.beforeReply = { info throws(ServiceError) in
            if info.kind == .modify, first.take() { await gate.keep() }
        }
        let call = Task { try await phone.sync() }
        await gate.arrival()
        await phone.engine.stop()
        #expect(await syncError { _ = try await call.value }?.code == .stopped)
        gate.open()
        await phone.engine.untilEnded()
        phone.store.close()
        try await deleteElsewhere()
        let next = try Device(cloud, store: Store(at: path, schema: scenarioSchema))
        defer { next.store.close() }
        #expect(try noted(next.store) == ["a"])
        #expect(try await next.sync().conflicts == 1)
        #expect(try next.titles() == [:])
        try await next.expectEqualToFresh(cloud)
    }

    // MARK: Earlier lives

    @Test func `an end that was told before the create was sent does not end it`() async throws {
        let phone = try Device(cloud)
        try await phone.sync()
        let laptop = try Device(cloud, "laptop")
        try await laptop.note("a", "earlier")
        try await laptop.sync()
        try await laptop.delete(Note.ID("a"))
        try await laptop.sync()
        try await phone.note("a", "mine")
        phone.service.failNext(.modify, with: .lostRequest)
        #expect(await syncError { try await phone.sync() }?.code == .unreachable)
        #expect(try noted(phone.store) == ["a"])
        #expect(try await phone.sync().conflicts == 0)
        #expect(remote(cloud) == ["Note a {title: mine}"])
        try await phone.expectEqualToFresh(cloud)
    }

    @Test func `the device's own delete in the same round does not end it`() async throws {
        let phone = try await Device.withNotes(cloud)
        try await phone.delete(Note.ID("a"))
        let first = OneTime()
        phone.service.beforeReply = { info throws(ServiceError) in
            guard info.kind == .modify, first.take() else { return }
            do {
                try await phone.note("a", "again")
            } catch {
                Issue.record(error)
            }
        }
        phone.service.inject(ScriptedFault(.lostRequest, on: .modify, skip: 1))
        for _ in 0..<3 { _ = await syncError { try await phone.sync() } }
        #expect(try phone.engine.conflicts().isEmpty)
        #expect(remote(cloud) == ["Note a {title: again}", "Note b {title: one}"])
        try await phone.expectEqualToFresh(cloud)
    }

    @Test func `a full fetch that does not list the record does not end it`() async throws {
        let phone = try await sender(.lostRequest)
        cloud.expireTokens(of: scenarioZone)
        #expect(try await phone.sync().conflicts == 0)
        #expect(remote(cloud) == ["Note a {title: mine}"])
        try await phone.expectEqualToFresh(cloud)
    }

    @Test func `a record that the service lost is sent again without a note`() async throws {
        let phone = try await Device.withNotes(cloud)
        let older = cloud.snapshot()
        try await phone.note("later", "one")
        try await phone.sync()
        cloud.rollBack(to: older)
        phone.service.failNext(.modify, with: .lostReply)
        _ = await syncError { try await phone.sync() }
        #expect(try noted(phone.store) == [])
        try await phone.sync()
        #expect(try phone.titles() == ["a": "one", "b": "one", "later": "one"])
        #expect(try phone.engine.conflicts().isEmpty)
        try await phone.expectEqualToFresh(cloud)
    }

    // MARK: The note

    @Test(arguments: [FaultKind.lostReply, .lostRequest])
    func `it goes with the acknowledgement, or with the record that is fetched`(
        fault: FaultKind
    ) async throws {
        let phone = try await sender(fault)
        #expect(try await phone.sync().conflicts == 0)
        #expect(try noted(phone.store) == [])
        try await phone.expectEqualToFresh(cloud)
    }

    @Test func `it goes with the record`() async throws {
        let phone = try await sender()
        try await phone.delete(Note.ID("a"))
        #expect(try noted(phone.store) == [])
        // What is made under the name since is another record.
        try await deleteElsewhere()
        try await phone.note("a", "anew")
        #expect(try await phone.sync().conflicts == 0)
        #expect(remote(cloud) == ["Note a {title: anew}"])
        try await phone.expectEqualToFresh(cloud)
    }

    @Test func `it goes if the service refuses the record`() async throws {
        let phone = try await sender(.lostRequest)
        phone.service.inject(
            ScriptedFault(
                .recordInvalidRequest, on: .modify, for: .untilCleared, recordName: "a"))
        try await phone.sync()
        #expect(try phone.engine.parked().map(\.record.name.description) == ["a"])
        #expect(try noted(phone.store) == [])
    }

    @Test(arguments: [SyncConfiguration.ZoneLossDecision.reupload, .erase])
    func `it goes with the zone`(decision: SyncConfiguration.ZoneLossDecision) async throws {
        let phone = try await sender()
        cloud.endZone(scenarioZone, as: .deletedByUser)
        #expect(await syncError { try await phone.sync() }?.code == .suspended)
        #expect(try noted(phone.store) == ["a"])
        try await phone.engine.resume(after: decision)
        #expect(try noted(phone.store) == [])
        try await phone.sync()
        #expect(try phone.titles() == (decision == .erase ? [:] : ["a": "mine"]))
        try await phone.expectEqualToFresh(cloud)
    }

    @Test func `it goes with a move to another zone`() async throws {
        let phone = try await sender(.lostRequest)
        try await phone.engine.move(to: "next")
        #expect(try noted(phone.store) == [])
    }
}
