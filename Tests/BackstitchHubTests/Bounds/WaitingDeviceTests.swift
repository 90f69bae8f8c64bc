import BackstitchCore
import CloudKitWire
import Foundation
import TestBudget
import Testing

@testable import BackstitchHubCore

@Suite("What a device takes that waits", .budgeted) struct WaitingDeviceTests {
    /// The bytes of this process that are in memory.
    private static func residentBytes() throws -> Int {
        let text = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
        let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return pages * 4_096
    }

    /// In a process of its own, so that nothing else moves its memory. A task that waited with each device
    /// would take twice the bound in a debug build.
    @Test func `a long poll takes a few kilobytes beside its connection`() async {
        await #expect(processExitsWith: .success) {
            let count = 400
            var limits = HubLimits()
            limits.devicesPerUser = count
            let fixture = try await HubFixture(limits: limits, storage: MemoryHubStorage())
            var targets: [String] = []
            for _ in 0..<count {
                let (_, body) = await fixture.send(
                    .createToken, as: fixture.ada,
                    body: Array(#"{"apnsEnvironment":"development"}"#.utf8))
                let url = try URL(
                    string: JSONObject(body: body).requiredText("webcourierURL"))
                targets.append(url?.path ?? "")
            }
            let hub = fixture.hub
            var before = 0
            for (number, target) in targets.enumerated() {
                // What the first bring with them, such as threads, is not theirs.
                if number == count / 4 {
                    while hub.mailboxes.waiterCount < number { await Task.yield() }
                    before = try WaitingDeviceTests.residentBytes()
                }
                let request = HubRequest(method: "GET", target: target)
                hub.submit(request, hub.makeWork(for: request)) { _ in }
            }
            while hub.mailboxes.waiterCount < count { await Task.yield() }
            let each = (try WaitingDeviceTests.residentBytes() - before) / (count - count / 4)
            precondition(each < 8_192, "A device that waits takes \(each) bytes.")
        }
    }
}
