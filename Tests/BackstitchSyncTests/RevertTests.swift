import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchSimulation
import BackstitchTesting
import TestBudget
import Testing

/// Unsynced edits that are given up, also while they are on their way.
@Suite(.budgeted) struct RevertTests {
    let cloud: SimulatedCloud

    init() {
        var options = SimulatedCloud.Options()
        options.keepsVersions = true
        cloud = SimulatedCloud(options: options)
    }

    /// Checks that nothing waits, that the store holds what the service has, and that the log accounts
    /// for every operation.
    ///
    /// - Parameter isAccounted: Whether the log still has all operations, by which it accounts for them.
    private func expectSettled(
        _ phone: Device, isAccounted: Bool = true, _ location: SourceLocation = #_sourceLocation
    ) async throws {
        try await phone.sync()
        try await phone.expectSettled(location)
        if isAccounted { expectAccounted(try account(phone), location) }
        let local = try phone.all(Note.self).map { note in
            let body = note.body.map { "body: \($0), " } ?? ""
            return "Note \(note.id.key.name) {\(body)title: \(note.title)}"
        }
        #expect(remote(cloud).sorted() == local.sorted(), sourceLocation: location)
        #expect(try await phone.sync().pushedRecords == 0, sourceLocation: location)
    }

    private func account(_ phone: Device) throws -> LogAccount {
        let cloud = cloud
        return try phone.store.read { transaction in
            try LogAccount(transaction.reader, mayGoBack: false) { cloud.version(tagged: $0) }
        }
    }

    private func expectAccounted(_ account: LogAccount, _ location: SourceLocation) {
        #expect(account.problems == [], sourceLocation: location)
    }

    @Test func `edits, inserts and deletes are reverted to what the service had`() async throws {
        let phone = try Device(cloud)
        try await phone.note("edited", "one", body: "text")
        try await phone.note("gone", "one")
        try await phone.note("same", "one")
        try await phone.sync()
        try await phone.note("edited", "two")
        try await phone.note("edited", "three")
        try await phone.delete(Note.ID("gone"))
        try await phone.note("new", "new")
        let before = remote(cloud)
        for name in ["edited", "gone", "new"] {
            #expect(try await phone.store.revert(Note.ID(name)))
            #expect(try await !phone.store.revert(Note.ID(name)))
        }
        #expect(try await !phone.store.revert(Note.ID("same")))
        #expect(try await !phone.store.revert(Note.ID("nobody")))
        #expect(try phone.engine.pending().pendingRecords == 0)
        #expect(try phone.titles() == ["edited": "one", "gone": "one", "same": "one"])
        #expect(try phone.engine.pending().conflicts == 3)
        let report = try await phone.sync()
        #expect(report.pushedRecords == 0)
        #expect(remote(cloud) == before)
        #expect(try account(phone).superseded == 4)
        try await expectSettled(phone)
    }

    @Test func `a store that was never synced is empty after a revert of all`() async throws {
        let phone = try Device(cloud)
        try await phone.note("a", "one")
        try await phone.note("b", "one")
        try await phone.delete(Note.ID("b"))
        try await phone.save(Step(id: "s", title: "s", list: nil))
        #expect(try await phone.store.revertAll() == 3)
        #expect(try await phone.store.revertAll() == 0)
        #expect(try phone.titles() == [:])
        try await expectSettled(phone)
        // The name begins a new life.
        try await phone.note("a", "again")
        try await expectSettled(phone)
        #expect(remote(cloud) == ["Note a {title: again}"])
    }

    @Test func `edits that add up to nothing leave no conflict`() async throws {
        let phone = try Device(cloud)
        try await phone.note("a", "one")
        try await phone.sync()
        try await phone.note("a", "two")
        try await phone.note("a", "one")
        #expect(try await phone.store.revert(Note.ID("a")))
        #expect(try phone.engine.pending().conflicts == 0)
        try await expectSettled(phone)
    }

    @Test func `a name that another record took comes back with a revert of all`() async throws {
        let phone = try Device(cloud)
        try await phone.note("x", "one")
        try await phone.sync()
        try await phone.delete(Note.ID("x"))
        try await phone.save(TaskList(id: "x", title: "list"))
        await #expect(throws: StoreError.self) { try await phone.store.revert(Note.ID("x")) }
        #expect(try await phone.store.revertAll() == 2)
        #expect(try phone.titles() == ["x": "one"])
        try await expectSettled(phone)
    }

    @Test func `a parked record is reverted`() async throws {
        let phone = try Device(cloud)
        try await phone.note("a", "one")
        try await phone.sync()
        try await phone.note("a", "two")
        phone.service.failNext(.modify, with: .errorInvalidRequest)
        try await phone.sync()
        #expect(try phone.engine.parked().count == 1)
        #expect(try await phone.store.revert(Note.ID("a")))
        #expect(try phone.engine.parked().isEmpty)
        #expect(try phone.titles() == ["a": "one"])
        try await expectSettled(phone)
    }

    @Test func `records whose zone was lost are not taken for new ones`() async throws {
        let phone = try Device(cloud)
        try await phone.note("kept", "one")
        try await phone.note("edited", "one")
        try await phone.sync()
        try await phone.note("edited", "two")
        try await phone.store.withLogWriter { try ZoneLoss($0, in: 0).forgetService() }
        do {
            try await phone.store.revertAll()
            Issue.record("the revert was not refused")
        } catch let error as StoreError {
            #expect(error.code == .busy)
            #expect(error.message.contains("edited"))
        }
        #expect(try await !phone.store.revert(Note.ID("kept")))
        #expect(try phone.titles() == ["kept": "one", "edited": "two"])
        try await expectSettled(phone)
    }

    // MARK: In flight

    enum Edit: CaseIterable { case create, update, delete }
    enum Later: CaseIterable { case nothing, edit }

    /// Makes an edit, and reverts it while its push is under way.
    private func revertInFlight(
        _ edit: Edit, _ later: Later, isApplied: Bool, isCompacted: Bool = false, _ phone: Device
    ) async throws {
        if edit != .create {
            try await phone.note("a", "one", body: "text")
            try await phone.sync()
        }
        if edit == .delete {
            try await phone.delete(Note.ID("a"))
        } else {
            try await phone.note("a", "two", body: "text")
        }
        let first = OneTime()
        let hook: SimulatedRecordService.Hook = { info throws(ServiceError) in
            guard info.kind == .modify, first.take() else { return }
            do {
                #expect(try await phone.store.revert(Note.ID("a")))
                if isCompacted { try await phone.store.compact(.keepUnsyncedOnly) }
                if later == .edit { try await phone.note("a", "later") }
            } catch {
                Issue.record(error)
            }
        }
        if isApplied {
            phone.service.beforeReply = hook
        } else {
            phone.service.beforeRequest = hook
        }
    }

    @Test(arguments: Edit.allCases, Later.allCases)
    func `what was on its way comes back with the reply`(edit: Edit, later: Later) async throws {
        for policy in ConflictPolicy.allCases where policy.innermost != .resolver {
            try await RevertTests().revertInFlight(edit, later, isApplied: false, policy)
            try await RevertTests().revertInFlight(edit, later, isApplied: true, policy)
        }
    }

    private func revertInFlight(
        _ edit: Edit, _ later: Later, isApplied: Bool, _ policy: ConflictPolicy
    ) async throws {
        let phone = try Device(cloud) { $0.conflictPolicy = policy }
        // The service holds the hook, which holds the store.
        defer { (phone.service.beforeRequest, phone.service.beforeReply) = (nil, nil) }
        try await revertInFlight(edit, later, isApplied: isApplied, phone)
        _ = try await phone.sync()
        expectAccounted(try account(phone), #_sourceLocation)
        if later == .nothing, edit == .update {
            #expect(try phone.titles() == ["a": "two"])
            #expect(remote(cloud) == ["Note a {body: text, title: two}"])
        }
        try await expectSettled(phone)
    }

    @Test(arguments: Edit.allCases, Later.allCases)
    func `what was on its way comes with the feed if it was compacted`(
        edit: Edit, later: Later
    ) async throws {
        let phone = try Device(cloud)
        defer { phone.service.beforeReply = nil }
        try await revertInFlight(edit, later, isApplied: true, isCompacted: true, phone)
        try await phone.sync()
        try await expectSettled(phone, isAccounted: false)
    }

    @Test(arguments: Edit.allCases, Later.allCases)
    func `a lost reply comes back with the next pull`(edit: Edit, later: Later) async throws {
        let phone = try Device(cloud)
        defer { phone.service.beforeReply = nil }
        try await revertInFlight(edit, later, isApplied: true, phone)
        if edit == .create {
            phone.service.failNext(.modify, with: .lostReply)
            _ = await syncError { try await phone.sync() }
        } else {
            let lost = OneTime()
            let hook = phone.service.beforeReply
            phone.service.beforeReply = { info throws(ServiceError) in
                try await hook?(info)
                guard info.kind == .modify, lost.take() else { return }
                throw ServiceError(.network, "lost")
            }
            _ = await syncError { try await phone.sync() }
        }
        try await expectSettled(phone)
    }
}
