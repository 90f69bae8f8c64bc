import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchTesting
import TestBudget
import Testing

/// What happens here or there while a request is under way.
@Suite(.budgeted) struct InFlightTests {
    let cloud = SimulatedCloud()

    /// Runs work once, while a push is under way.
    private func during(
        _ device: Device, isApplied: Bool, _ work: @escaping @Sendable () async throws -> Void
    ) {
        let first = OneTime()
        let hook: SimulatedRecordService.Hook = { info throws(ServiceError) in
            guard info.kind == .modify, first.take() else { return }
            do {
                try await work()
            } catch {
                Issue.record(error)
            }
        }
        if isApplied {
            device.service.beforeReply = hook
        } else {
            device.service.beforeRequest = hook
        }
    }

    @Test(arguments: [false, true], [false, true])
    func `an edit during a push is pushed after it`(
        isApplied: Bool, isSameField: Bool
    ) async throws {
        let phone = try Device(cloud)
        try await phone.note("a", "one", body: "one")
        during(phone, isApplied: isApplied) {
            try await phone.note(
                "a", isSameField ? "two" : "one", body: isSameField ? "one" : "two")
        }
        let report = try await phone.sync()
        #expect(report.conflicts == 0)
        #expect(
            remote(cloud) == [
                isSameField ? "Note a {body: one, title: two}" : "Note a {body: two, title: one}"
            ])
        try await phone.expectSettled()
    }

    @Test(arguments: [false, true])
    func `a delete during the push of the record is pushed after it`(
        isApplied: Bool
    ) async throws {
        let phone = try Device(cloud)
        try await phone.note("a", "one")
        during(phone, isApplied: isApplied) { try await phone.delete(Note.ID("a")) }
        try await phone.sync()
        #expect(remote(cloud) == [])
        #expect(try phone.titles() == [:])
        try await phone.expectSettled()
    }

    @Test(arguments: [false, true])
    func `a record that is saved again while its delete is pushed stays`(
        isApplied: Bool
    ) async throws {
        let phone = try Device(cloud)
        try await phone.note("a", "one", body: "text")
        try await phone.sync()
        try await phone.delete(Note.ID("a"))
        during(phone, isApplied: isApplied) { try await phone.note("a", "again") }
        try await phone.sync()
        #expect(remote(cloud) == ["Note a {title: again}"])
        #expect(try phone.titles() == ["a": "again"])
        try await phone.expectSettled()
    }

    @Test(arguments: [ConflictPolicy.serverWins, .clientWins])
    func `an edit during a push that conflicts`(policy: ConflictPolicy) async throws {
        let phone = try Device(cloud) { $0.conflictPolicy = policy }
        try await phone.note("a", "base", body: "base")
        try await phone.sync()
        try await phone.note("a", "mine", body: "base")
        let cloud = cloud
        during(phone, isApplied: false) {
            try cloud.write(
                "a", type: "Note", fields: ["title": .string("theirs")], in: scenarioZone)
            try await phone.note("a", "mine", body: "later")
        }
        try await phone.sync()
        #expect(
            remote(cloud) == [
                policy == .serverWins
                    ? "Note a {body: base, title: theirs}" : "Note a {body: later, title: mine}"
            ])
        try await phone.expectSettled()
    }

    @Test(arguments: [false, true])
    func `an edit during a push whose reply is lost`(isEdited: Bool) async throws {
        let phone = try Device(cloud)
        try await phone.note("a", "one")
        if isEdited {
            during(phone, isApplied: true) { try await phone.note("a", "two") }
        }
        phone.service.failNext(.modify, with: .lostReply)
        #expect(await syncError { try await phone.sync() }?.code == .unreachable)
        let report = try await phone.sync()
        #expect(report.conflicts == 0)
        #expect(remote(cloud) == ["Note a {title: \(isEdited ? "two" : "one")}"])
        try await phone.expectSettled()
    }

    @Test func `a record whose lost create took place is deleted on the service too`() async throws
    {
        let phone = try Device(cloud)
        try await phone.note("a", "one")
        phone.service.failNext(.modify, with: .lostReply)
        _ = await syncError { try await phone.sync() }
        try await phone.delete(Note.ID("a"))
        try await phone.sync()
        #expect(remote(cloud) == [])
        #expect(try phone.titles() == [:])
        try await phone.expectSettled()
    }

    @Test func `a lost reply to a delete is found out`() async throws {
        let phone = try Device(cloud)
        try await phone.note("a", "one")
        try await phone.sync()
        try await phone.delete(Note.ID("a"))
        phone.service.failNext(.modify, with: .lostReply)
        _ = await syncError { try await phone.sync() }
        #expect(try await phone.sync().conflicts == 0)
        try await phone.expectSettled()
    }

    @Test(arguments: [false, true])
    func `a request that is applied twice has no further effect`(
        tellsRecord: Bool
    ) async throws {
        cloud.options.conflictsCarryServerRecord = tellsRecord
        cloud.options.existsCarriesServerRecord = tellsRecord
        let phone = try Device(cloud)
        try await phone.note("a", "one")
        phone.service.failNext(.modify, with: .duplicateExecution)
        #expect(try await phone.sync().conflicts == 0)
        try await phone.note("a", "two")
        phone.service.failNext(.modify, with: .duplicateExecution)
        #expect(try await phone.sync().conflicts == 0)
        #expect(remote(cloud) == ["Note a {title: two}"])
        try await phone.delete(Note.ID("a"))
        phone.service.failNext(.modify, with: .duplicateExecution)
        #expect(try await phone.sync().conflicts == 0)
        #expect(remote(cloud) == [])
        try await phone.expectSettled()
    }

    @Test(arguments: [ConflictPolicy.serverWins, .clientWins])
    func `a batch that takes effect as a whole has a conflict and a new record`(
        policy: ConflictPolicy
    ) async throws {
        let phone = try Device(cloud) {
            $0.conflictPolicy = policy
            $0.atomicRequests = true
        }
        try await phone.note("a", "base")
        try await phone.note("b", "base")
        try await phone.sync()
        try await phone.note("a", "mine")
        try await phone.note("new", "mine")
        try await phone.delete(Note.ID("b"))
        let cloud = cloud
        during(phone, isApplied: false) {
            try cloud.write(
                "a", type: "Note", fields: ["title": .string("theirs")], in: scenarioZone)
        }
        try await phone.sync()
        let title = policy == .serverWins ? "theirs" : "mine"
        #expect(remote(cloud) == ["Note a {title: \(title)}", "Note new {title: mine}"])
        try await phone.expectSettled()
    }

    @Test(arguments: [ConflictPolicy.serverWins, .clientWins])
    func `a batch that takes effect as a whole has a conflict and a delete`(
        policy: ConflictPolicy
    ) async throws {
        let phone = try Device(cloud) {
            $0.conflictPolicy = policy
            $0.atomicRequests = true
        }
        for name in ["a", "b"] { try await phone.note(name, "base") }
        try await phone.sync()
        try await phone.note("a", "mine")
        try await phone.delete(Note.ID("b"))
        let cloud = cloud
        during(phone, isApplied: false) {
            try cloud.write(
                "b", type: "Note", fields: ["title": .string("theirs")], in: scenarioZone)
        }
        try await phone.sync()
        #expect(
            remote(cloud)
                == (policy == .serverWins
                    ? ["Note a {title: mine}", "Note b {title: theirs}"] : ["Note a {title: mine}"])
        )
        try await phone.expectSettled()
    }

    @Test func `records of a type that is unknown here are kept`() async throws {
        let phone = try Device(cloud)
        try await phone.sync()
        try cloud.write("x", type: "Future", fields: ["f": .int64(1)], in: scenarioZone)
        try cloud.write("a", type: "Note", fields: ["title": .string("n")], in: scenarioZone)
        #expect(try await phone.sync().pulledRecords == 2)
        #expect(try phone.titles() == ["a": "n"])
        try cloud.write("x", type: "Future", fields: ["f": .int64(2)], in: scenarioZone)
        try await phone.sync()
        try cloud.remove("x", in: scenarioZone)
        try await phone.sync()
        try await phone.expectSettled()
        #expect(remote(cloud) == ["Note a {title: n}"])
    }

    @Test func `a local record whose name another type took there is parked`() async throws {
        let phone = try Device(cloud)
        try await phone.sync()
        try await phone.note("taken", "mine")
        try await phone.note("free", "mine")
        let cloud = cloud
        during(phone, isApplied: false) {
            try cloud.write("taken", type: "Future", fields: ["f": .int64(1)], in: scenarioZone)
        }
        #expect(try await phone.sync().parkedRecords == 1)
        #expect(try phone.engine.parked().map(\.record.name) == ["taken"])
        #expect(try phone.titles() == ["free": "mine", "taken": "mine"])
        #expect(remote(cloud) == ["Note free {title: mine}", "Future taken {f: 1}"])
        try cloud.remove("taken", in: scenarioZone)
        #expect(try await phone.engine.retryParked() == 1)
        try await phone.sync()
        #expect(remote(cloud) == ["Note free {title: mine}", "Note taken {title: mine}"])
        try await phone.expectSettled()
    }

    @Test func `one record that fails for long does not keep the others waiting`() async throws {
        let phone = try Device(cloud) { $0.recordsPerPass = 2 }
        for number in 0..<9 { try await phone.note("n\(number)", "mine") }
        phone.service.inject(
            ScriptedFault(.recordServiceUnavailable, for: .untilCleared, recordName: "n0"))
        #expect(await syncError { try await phone.sync() }?.code == .unreachable)
        #expect(remote(cloud).count == 8)
        #expect(try phone.engine.pending().pendingRecords == 1)
        phone.service.endFaults()
        try await phone.sync()
        #expect(remote(cloud).count == 9)
        try await phone.expectSettled()
    }

    @Test func `one record that the service forbids does not keep the others waiting`() async throws
    {
        let phone = try Device(cloud)
        for number in 0..<9 { try await phone.note("n\(number)", "mine") }
        phone.service.inject(
            ScriptedFault(.recordPermissionDenied, for: .untilCleared, recordName: "n4"))
        let report = try await phone.sync()
        #expect(report.parkedRecords == 1 && report.pushedRecords == 8)
        phone.service.endFaults()
        try await phone.sync()
        #expect(remote(cloud).count == 8)
        try await phone.note("n4", "edited")
        try await phone.sync()
        #expect(remote(cloud).contains("Note n4 {title: edited}"))
        #expect(try phone.engine.parked() == [])
    }
}
