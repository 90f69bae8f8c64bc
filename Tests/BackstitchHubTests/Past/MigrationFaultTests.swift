import CrashStates
import Foundation
import Glibc
import TestBudget
import Testing

@testable import BackstitchHub
@testable import BackstitchHubCore

/// Failures of the device at calls that a migration makes, one after the other: at each in the long form.
///
/// `FAULT_CALLS` set prints how many calls there are, if `EVERY_POINT` is set too.
@Suite(.serialized, .exclusiveFaults, .budgeted) struct MigrationFaultTests {
    @Test(arguments: [(1, EIO), (Int.max >> 32, ENOSPC)])
    func `whichever call fails, the folder is the old one or the new, and the next time finishes`(
        times: Int, reason: Int32
    ) async throws {
        let whole = try PastTests.Copy(of: "format-1-hub", inMemory: true)
        _ = try await Hub.migrate(at: whole.path + "/hub")
        let expected = try Hub.diagnose(at: whole.path + "/hub")
        #expect(expected.isHealthy && expected.files == 2)
        let steps = Load.steps(oneOf: 24)
        var (number, failed) = (steps.first, 1)
        while failed > 0 {
            let copy = try PastTests.Copy(of: "format-1-hub", inMemory: true)
            let folder = copy.path + "/hub"
            let (outcome, count, _) = await FaultedCalls.run(
                in: folder, from: number, times: times, reason
            ) {
                do {
                    return try await Hub.migrate(at: folder) == nil ? "nothing to do" : "done"
                } catch {
                    return "\(error)"
                }
            }
            failed = count
            let story = "call \(number), \(times) fail with \(reason): \(outcome)"
            #expect(Hub.isHub(at: folder), "\(story)")
            _ = try await Hub.migrate(at: folder)
            let found = try Hub.diagnose(at: folder)
            #expect(found == expected, "\(story): \(found.findings)")
            let names = try FileManager.default.contentsOfDirectory(atPath: folder + "/assets")
            #expect(names.allSatisfy { $0.count < 64 }, "\(story)")
            number += steps.stride
        }
        #expect(number > 1)
        if ProcessInfo.processInfo.environment["FAULT_CALLS"] != nil {
            print("migrate: \(number - 1) calls")
        }
    }
}
