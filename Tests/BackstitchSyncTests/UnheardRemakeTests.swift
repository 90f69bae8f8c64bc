import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchTesting
import TestBudget
import Testing

/// A record that was deleted and made anew before it was pushed, an update of which no answer came, and
/// another device that deletes the record.
@Suite(.budgeted) struct UnheardRemakeTests {
    let cloud = SimulatedCloud()

    /// Deletes the note `a` and makes it anew.
    private func remake(_ device: Device) async throws {
        try await device.delete(Note.ID("a"))
        try await device.note("a", "mine")
    }

    /// A device that made the note `a` anew, sent that and got no answer.
    private func sender(
        _ fault: FaultKind = .lostReply, configure: (inout SyncConfiguration) -> Void = { _ in }
    ) async throws -> Device {
        let phone = try await Device.withBase(cloud, configure: configure)
        try await remake(phone)
        phone.service.failNext(.modify, with: fault)
        #expect(await syncError { try await phone.sync() }?.code == .unreachable)
        #expect(try noted(phone.store) == ["a"])
        return phone
    }

    /// Another device deletes the note `a`.
    private func deleteElsewhere(_ title: String = "mine") async throws {
        let laptop = try Device(cloud, "laptop")
        try await laptop.sync()
        #expect(try laptop.titles() == ["a": title])
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
        #expect(conflict.base?["title"] == .string("base"))
        #expect(conflict.local?["title"] == .string("mine"))
        #expect(conflict.server == nil)
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

    @Test(arguments: [("edited", nil), ("base", "base")] as [(String, String?)])
    func `edits since are in the journal, also if all is as it was before the delete`(
        title: String, body: String?
    ) async throws {
        let phone = try await sender()
        try await deleteElsewhere()
        try await phone.note("a", title, body: body)
        #expect(try await phone.sync().conflicts == 1)
        #expect(try phone.titles() == [:])
        #expect(try phone.engine.conflicts().first?.local?["title"] == .string(title))
        try await phone.expectEqualToFresh(cloud)
    }

    @Test func `it decides as well if the request was lost, which looks the same`() async throws {
        let phone = try await sender(.lostRequest)
        try await deleteElsewhere("base")
        #expect(try await phone.sync().conflicts == 1)
        #expect(try phone.titles() == [:])
        #expect(try phone.engine.conflicts().first?.local?["title"] == .string("mine"))
        try await phone.expectEqualToFresh(cloud)
    }

    @Test(arguments: [false, true], [ConflictPolicy.serverWins, .clientWins])
    func `it decides as well if a list of all records lacks it`(
        isAsked: Bool, policy: ConflictPolicy
    ) async throws {
        let phone = try await sender { $0.conflictPolicy = policy }
        try await deleteElsewhere()
        if !isAsked { cloud.forgetTombstones(of: scenarioZone) }
        let engine = phone.engine
        let report = try await isAsked ? engine.resync(from: .server) : engine.sync()
        #expect(report.conflicts == 1)
        #expect(try phone.titles() == (policy == .clientWins ? ["a": "mine"] : [:]))
        #expect(try phone.engine.conflicts().first?.local?["title"] == .string("mine"))
        #expect(try noted(phone.store) == [])
        try await phone.expectEqualToFresh(cloud)
    }

    @Test func `a compacted log and another engine know it too`() async throws {
        let phone = try await sender()
        try await deleteElsewhere()
        try await phone.store.compact(.keepUnsyncedOnly)
        let next = await phone.restarted()
        #expect(try noted(next.store) == ["a"])
        #expect(try await next.sync().conflicts == 1)
        #expect(try next.titles() == [:])
        #expect(try next.engine.conflicts().first?.base?["title"] == .string("base"))
        try await next.expectEqualToFresh(cloud)
    }

    // MARK: Ends of the life before

    @Test func `an end that comes before it is sent leaves the new record`() async throws {
        let phone = try await Device.withBase(cloud) { _ in }
        try await remake(phone)
        try await deleteElsewhere("base")
        #expect(try await phone.sync().conflicts == 0)
        #expect(remote(cloud) == ["Note a {title: mine}"])
        #expect(try noted(phone.store) == [])
        try await phone.expectEqualToFresh(cloud)
    }

    @Test(arguments: [false, true])
    func `an end between the pull and the push is decided about if it was sent before`(
        wasSent: Bool
    ) async throws {
        let phone =
            try await wasSent ? sender(.lostRequest) : Device.withBase(cloud) { _ in }
        if !wasSent { try await remake(phone) }
        let first = OneTime()
        phone.service.beforeRequest = { [cloud] info throws(ServiceError) in
            guard info.kind == .modify, first.take() else { return }
            try cloud.remove("a", in: scenarioZone)
        }
        #expect(try await phone.sync().conflicts == (wasSent ? 1 : 0))
        #expect(remote(cloud) == (wasSent ? [] : ["Note a {title: mine}"]))
        #expect(try phone.engine.conflicts().count == (wasSent ? 1 : 0))
        #expect(try noted(phone.store) == [])
        try await phone.expectEqualToFresh(cloud)
    }

    // MARK: The note

    @Test(arguments: [nil, .lostReply, .lostRequest] as [FaultKind?])
    func `once the service is known to have it, a deletion is like any other`(
        fault: FaultKind?
    ) async throws {
        let phone = try await Device.withBase(cloud) { _ in }
        try await remake(phone)
        if let fault {
            phone.service.failNext(.modify, with: fault)
            #expect(await syncError { try await phone.sync() }?.code == .unreachable)
        }
        #expect(try await phone.sync().conflicts == 0)
        #expect(try noted(phone.store) == [])
        try await deleteElsewhere()
        #expect(try await phone.sync().conflicts == 0)
        #expect(try phone.titles() == [:])
        #expect(try phone.engine.conflicts().isEmpty)
        try await phone.expectEqualToFresh(cloud)
    }

    @Test func `it goes with the answer, though an edit comes before that`() async throws {
        let phone = try await Device.withBase(cloud) { _ in }
        try await remake(phone)
        let first = OneTime()
        phone.service.beforeReply = { info throws(ServiceError) in
            guard info.kind == .modify, first.take() else { return }
            do {
                try await phone.note("a", "later")
            } catch {
                Issue.record(error)
            }
        }
        phone.service.inject(ScriptedFault(.lostRequest, on: .modify, skip: 1))
        #expect(await syncError { try await phone.sync() }?.code == .unreachable)
        #expect(try noted(phone.store) == [])
        #expect(remote(cloud) == ["Note a {title: mine}"])
        try await phone.sync()
        #expect(remote(cloud) == ["Note a {title: later}"])
        try await phone.expectEqualToFresh(cloud)
    }

    @Test func `it goes with another delete`() async throws {
        let phone = try await sender()
        try await phone.delete(Note.ID("a"))
        #expect(try noted(phone.store) == [])
        // A record that is made under the name since is another one.
        try await deleteElsewhere()
        try await phone.note("a", "anew")
        #expect(try await phone.sync().conflicts == 0)
        #expect(remote(cloud) == ["Note a {title: anew}"])
        try await phone.expectEqualToFresh(cloud)
    }

    @Test func `it goes if the edits are given up`() async throws {
        let phone = try await sender()
        #expect(try await phone.store.revert(Note.ID("a")))
        #expect(try noted(phone.store) == [])
        #expect(try phone.titles() == ["a": "base"])
        try await deleteElsewhere()
        #expect(try await phone.sync().conflicts == 0)
        #expect(try phone.titles() == [:])
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
