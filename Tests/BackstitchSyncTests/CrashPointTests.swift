import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchTesting
import Threading
import TestBudget
import Testing

/// Counts the points at which a device can go down, and lets it go down at one of them.
final class CrashPoints: Sendable {
    private struct State {
        var passed = 0
        var isArmed = false
    }

    private let state = Locked(State())
    private let crash: Int?

    init(crash: Int?) { self.crash = crash }

    var passed: Int { state.withLock { $0.passed } }

    func arm(_ isArmed: Bool) {
        state.withLock { $0.isArmed = isArmed }
    }

    /// Whether the device goes down here.
    func pass() -> Bool {
        state.withLock { state in
            guard state.isArmed else { return false }
            state.passed += 1
            return state.passed == crash
        }
    }
}

/// A device whose store is on disk, and which goes down at a point of a round.
struct CrashingDevice {
    let folder: TemporaryFolder
    let service: SimulatedRecordService
    let points: CrashPoints
    let policy: ConflictPolicy
    var device: Device

    init(
        _ cloud: SimulatedCloud, _ folder: TemporaryFolder, policy: ConflictPolicy, crash: Int?
    ) throws {
        self.folder = folder
        self.policy = policy
        let points = CrashPoints(crash: crash)
        self.points = points
        service = cloud.connection(device: "phone")
        let hook: SimulatedRecordService.Hook = { _ throws(ServiceError) in
            if points.pass() { throw ServiceError(.network, "down") }
        }
        service.beforeRequest = hook
        service.beforeReply = hook
        device = try Self.open(folder, service, policy, points)
    }

    private static func open(
        _ folder: TemporaryFolder, _ service: SimulatedRecordService, _ policy: ConflictPolicy,
        _ points: CrashPoints
    ) throws -> Device {
        let store = try folder.store("phone", scenarioSchema)
        store.setCommitFault {
            if points.pass() { throw StoreError(.io, "down") }
        }
        return Device(store: store, service: service) {
            $0.conflictPolicy = policy
            $0.recordsPerPass = 3
        }
    }

    /// Syncs; where the device goes down, opens its store anew and syncs again.
    mutating func sync() async throws {
        points.arm(true)
        defer { points.arm(false) }
        do {
            try await device.sync()
        } catch {
            points.arm(false)
            try reopen()
            points.arm(true)
            try await device.sync()
        }
    }

    /// Opens the store anew, as the device does when it comes up again.
    mutating func reopen() throws {
        device.store.close()
        device = try Self.open(folder, service, policy, points)
    }
}

@Suite(.budgeted) struct CrashPointTests {
    private struct Outcome: Equatable {
        var remote: [String]
        var conflicts: Int
    }

    /// Two devices that create, edit and delete the same records; the phone goes down at a point.
    private func run(
        policy: ConflictPolicy, crash: Int?
    ) async throws -> (outcome: Outcome, points: Int) {
        let cloud = SimulatedCloud()
        cloud.limits.operationsPerRequest = 3
        cloud.limits.recordsPerPage = 3
        let folder = try TemporaryFolder()
        var phone = try CrashingDevice(cloud, folder, policy: policy, crash: crash)
        let laptop = try Device(cloud, "laptop") { $0.conflictPolicy = policy }

        try await phone.device.store.write { tx in
            try tx.save(Chore(id: "chore", title: "c", list: "list"))
            try tx.save(TaskList(id: "list", title: "l", parent: "other"))
            try tx.save(TaskList(id: "other", title: "o", parent: "list"))
            for name in ["n1", "n2", "n3"] { try tx.save(Note(id: Note.ID(name), title: "base")) }
        }
        try await phone.sync()
        try await laptop.sync()
        try await laptop.note("n1", "laptop", body: "laptop")
        try await laptop.delete(Note.ID("n2"))
        try await laptop.delete(Chore.ID("chore"))
        try await laptop.note("n4", "laptop")
        try await laptop.sync()
        try await phone.device.note("n1", "phone")
        try await phone.device.note("n2", "phone")
        try await phone.device.delete(Note.ID("n3"))
        try await phone.device.note("n5", "phone")
        try await phone.sync()
        cloud.expireTokens(of: scenarioZone)
        try await phone.device.note("n6", "phone")
        try await phone.sync()
        try await laptop.sync()
        try await phone.sync()
        try await laptop.sync()

        let fresh = try Device(cloud, "fresh")
        try await fresh.sync()
        #expect(try phone.device.all(Note.self) == fresh.all(Note.self))
        #expect(try phone.device.all(TaskList.self) == fresh.all(TaskList.self))
        #expect(try laptop.all(Note.self) == fresh.all(Note.self))
        #expect(try phone.device.all(Chore.self) == [])
        phone.device.store.setCommitFault(nil)
        try await phone.device.expectSettled()
        try await laptop.expectSettled()
        let conflicts = try phone.device.engine.conflicts().count
        let points = phone.points.passed
        phone.device.store.close()
        return (Outcome(remote: remote(cloud), conflicts: conflicts), points)
    }

    @Test(arguments: [ConflictPolicy.serverWins, .clientWins])
    func `a device that goes down anywhere in a round ends up as one that did not`(
        policy: ConflictPolicy
    ) async throws {
        let (expected, points) = try await run(policy: policy, crash: nil)
        let isServerWins = policy == .serverWins
        #expect(
            expected.remote == [
                "TaskList list {parent: ->other, title: l}",
                isServerWins ? "Note n1 {body: laptop, title: laptop}" : "Note n1 {title: phone}",
            ] + (isServerWins ? [] : ["Note n2 {title: phone}"]) + [
                "Note n4 {title: laptop}", "Note n5 {title: phone}", "Note n6 {title: phone}",
                "TaskList other {parent: ->list, title: o}",
            ])
        #expect(expected.conflicts == 2)
        #expect(points > 50)
        for crash in Load.some(of: 1...points, oneOf: 9) {
            let (outcome, _) = try await run(policy: policy, crash: crash)
            #expect(outcome == expected, "at point \(crash) of \(points)")
        }
    }
}
