import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchTesting
import TestBudget
import Testing

/// A device that goes down in the middle of a move.
@Suite(.budgeted) struct MoveCrashTests {
    private static let target = ZoneID("next")

    private struct Outcome: Equatable {
        var records: [String]
        var old: [String]
        var titles: [String: String]
        var conflicts: Int
    }

    /// How the device goes on after it went down.
    enum Recovery: CaseIterable {
        /// Its program knows the old name only, and calls `move(to:)` again.
        case movesAgain
        /// Its program was updated, and has the new name.
        case knowsNewName
    }

    /// A store with synchronised, edited, new, deleted, evicted and parked records moves, and goes down
    /// at a point.
    private func run(_ recovery: Recovery, crash: Int?) async throws -> (Outcome, points: Int) {
        let cloud = SimulatedCloud()
        cloud.limits.operationsPerRequest = 3
        cloud.limits.recordsPerPage = 3
        let folder = try TemporaryFolder()
        let other = try Device(cloud, "other") { $0.zoneName = Self.target.zoneName }
        try await other.note("n1", "other")
        try await other.note("x", "other")
        try await other.sync()
        var phone = try CrashingDevice(cloud, folder, policy: .serverWins, crash: crash)
        for name in ["n1", "n2", "n3", "n4", "n5"] { try await phone.device.note(name, "base") }
        try await phone.device.sync()
        try await phone.device.store.write { try $0.evict(Note.ID("n5")) }
        try await phone.device.note("n2", "edited")
        try await phone.device.delete(Note.ID("n3"))
        try await phone.device.note("n6", "new")
        phone.points.arm(true)
        do {
            try await phone.device.engine.move(to: Self.target.zoneName)
        } catch {
            phone.points.arm(false)
            // What is on disk is right, whatever was done of the move.
            #expect(try phone.device.store.verify().problems == [], "at point \(crash ?? 0)")
            try phone.reopen()
            switch recovery {
            case .movesAgain:
                try await phone.device.engine.move(to: Self.target.zoneName)
            case .knowsNewName:
                // Where nothing was begun, there is nothing to go on with.
                let claims = try phone.device.store.read { try ZoneClaims($0.reader) }
                if claims == ZoneClaims(bound: [scenarioZone.zoneName]) {
                    try await phone.device.engine.move(to: Self.target.zoneName)
                }
                phone.device = await phone.device.restarted { $0.zoneName = Self.target.zoneName }
                try await phone.device.sync()
            }
        }
        phone.points.arm(false)
        phone.device.store.setCommitFault(nil)
        let named = await phone.device.restarted { $0.zoneName = Self.target.zoneName }
        await phone.device.engine.stop()
        #expect(try await named.sync().pushedRecords == 0)
        try await named.expectSettled()
        let fresh = try Device(cloud, "fresh") { $0.zoneName = Self.target.zoneName }
        try await fresh.sync()
        #expect(try fresh.all(Note.self) == named.all(Note.self))
        let outcome = Outcome(
            records: cloud.records(in: Self.target).map { "\($0.recordName) \($0.fields)" },
            old: remote(cloud), titles: try named.titles(),
            conflicts: try named.engine.conflicts().count)
        named.store.close()
        return (outcome, phone.points.passed)
    }

    @Test(arguments: Recovery.allCases)
    func `a move that is cut off anywhere ends up as one that was not`(
        recovery: Recovery
    ) async throws {
        let (expected, points) = try await run(recovery, crash: nil)
        #expect(
            expected.titles == [
                "n1": "base", "n2": "edited", "n4": "base", "n5": "base", "n6": "new",
                "x": "other",
            ])
        #expect(expected.records.count == 6)
        #expect(expected.old.count == 5)
        #expect(expected.conflicts == 1)
        #expect(points > 20)
        for crash in Load.some(of: 1...points, oneOf: 9) {
            let (outcome, _) = try await run(recovery, crash: crash)
            #expect(outcome == expected, "at point \(crash) of \(points)")
        }
    }
}
