import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchTesting
import TestBudget
import Testing

/// A delete that was not pushed when the zone was lost, and another device that uploads the record
/// again.
@Suite(.budgeted) struct UnheardDeleteTests {
    let cloud = SimulatedCloud()

    /// Two devices that have the notes `a` and `b`; the first deleted `a`, and the zone ended.
    private func devices(
        _ ending: SimulatedCloud.ZoneEnding, policy: ConflictPolicy = .serverWins
    ) async throws -> (x: Device, y: Device) {
        let x = try Device(cloud, "x") { $0.conflictPolicy = policy }
        for name in ["a", "b"] { try await x.note(name, "one") }
        try await x.sync()
        let y = try Device(cloud, "y")
        try await y.sync()
        try await x.delete(Note.ID("a"))
        cloud.endZone(scenarioZone, as: ending)
        if ending == .deletedByUser || ending == .purged {
            // Both hear of the end before one of them makes the zone again.
            for device in [x, y] {
                #expect(await syncError { try await device.sync() }?.code == .suspended)
            }
        }
        return (x, y)
    }

    private func uploadAgain(_ device: Device) async throws {
        if await syncError({ try await device.sync() })?.code == .suspended {
            try await device.engine.resume(after: .reupload)
            try await device.sync()
        }
    }

    private func expectSame(_ x: Device, _ y: Device, _ titles: [String: String]) async throws {
        for device in [x, y] {
            #expect(try device.titles() == titles)
            try await device.expectSettled()
        }
        #expect(
            remote(cloud) == titles.sorted { $0.key < $1.key }.map { "Note \($0) {title: \($1)}" })
    }

    @Test(arguments: [
        SimulatedCloud.ZoneEnding.deleted, .deletedByUser, .purged, .encryptedDataReset,
    ])
    func `the delete holds though another device uploads the record again`(
        ending: SimulatedCloud.ZoneEnding
    ) async throws {
        let (x, y) = try await devices(ending)
        try await uploadAgain(x)
        #expect(remote(cloud) == ["Note b {title: one}"])
        try await uploadAgain(y)
        try await x.sync()
        try await y.sync()
        try await expectSame(x, y, ["b": "one"])
        #expect(try x.engine.conflicts().isEmpty)
        // A record that is made under the name later is another one.
        try await y.note("a", "anew")
        try await y.sync()
        try await x.sync()
        try await expectSame(x, y, ["a": "anew", "b": "one"])
    }

    @Test(arguments: [
        (ConflictPolicy.serverWins, true), (.clientWins, false), (.keepBoth, true),
    ])
    func `the policy decides where the record was edited there, and the journal tells`(
        policy: ConflictPolicy, isBack: Bool
    ) async throws {
        let (x, y) = try await devices(.deletedByUser, policy: policy)
        try await y.note("a", "edited")
        try await uploadAgain(x)
        try await uploadAgain(y)
        try await x.sync()
        try await y.sync()
        try await expectSame(x, y, isBack ? ["a": "edited", "b": "one"] : ["b": "one"])
        let conflict = try #require(try x.engine.conflicts().first)
        #expect(try x.engine.conflicts().count == 1)
        #expect(conflict.local == nil)
        #expect(conflict.server?["title"] == .string("edited"))
    }

    @Test func `a record that is made anew here is not taken for the deleted one`() async throws {
        let (x, y) = try await devices(.deletedByUser)
        try await uploadAgain(x)
        try await x.note("a", "one")
        try await x.sync()
        try await x.delete(Note.ID("a"))
        try await x.sync()
        try await uploadAgain(y)
        try await y.note("a", "one")
        try await y.sync()
        try await x.sync()
        #expect(try x.titles()["a"] == y.titles()["a"])
        #expect(try x.titles()["a"] == "one")
        try await x.expectSettled()
    }

    @Test func `what was erased here comes back as the service has it`() async throws {
        let (x, y) = try await devices(.deletedByUser)
        try await uploadAgain(x)
        try await x.engine.resetLocal(keepsUnsynced: false)
        try await uploadAgain(y)
        try await x.sync()
        try await expectSame(x, y, ["a": "one", "b": "one"])
    }

    @Test func `a delete that the log has no more is not remembered`() async throws {
        let (x, y) = try await devices(.deletedByUser)
        try await uploadAgain(x)
        for number in 0..<3 { try await x.note("c", "\(number)") }
        try await x.sync()
        try await x.store.compact(.keepUnsyncedOnly)
        try await uploadAgain(y)
        try await x.sync()
        try await y.sync()
        #expect(try x.titles() == y.titles())
        try await x.expectSettled()
    }
}
