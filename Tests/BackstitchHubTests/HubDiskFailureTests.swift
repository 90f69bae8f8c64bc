import CrashStates
import Foundation
import Glibc
import TestBudget
import Testing

@testable import BackstitchHub
@testable import BackstitchHubCore

/// A disk that fails for a moment while a hub over a folder writes.
@Suite(.serialized, .exclusiveFaults, .budgeted) struct HubDiskFailureTests {
    private static func status(_ hub: Hub, _ path: String) async -> Int {
        await hub.respond(to: HubRequest(method: "GET", target: path)).status
    }

    @Test func `a hub with a failed write says so, and its folder opened anew has all it kept`()
        async throws
    {
        let folder = StorageEngine.TemporaryFolder()
        let hub = try await Hub(at: folder.path)
        try await hub.accounts.makeContainer("iCloud.first", environment: "development")
        let server = try HubServer(hub)
        #expect(await server.isResponsive(within: 300_000))
        #expect(await Self.status(hub, "/healthz") == 200)
        var kept = ["iCloud.first"]
        // Not every call is one of a commit, so that each has its turn to fail.
        for number in 0..<30 where !server.hasFailed {
            let name = "iCloud.number\(number)"
            let (isKept, _, _) = await FaultedCalls.run(
                in: folder.path, from: number, times: 1_000_000, EIO
            ) {
                do {
                    try await hub.accounts.makeContainer(name, environment: "development")
                    return true
                } catch {
                    return false
                }
            }
            if isKept { kept.append(name) }
        }
        #expect(server.hasFailed)
        #expect(await !server.isResponsive(within: 300_000))
        #expect(await Self.status(hub, "/healthz") == 503)
        #expect(await Self.status(hub, "/ready") == 503)
        await server.stop()
        hub.close()

        let next = try await Hub(at: folder.path)
        defer { next.close() }
        #expect(await Self.status(next, "/healthz") == 200)
        #expect(await Self.status(next, "/ready") == 200)
        let found = try await next.accounts.containers().map(\.container)
        #expect(Set(kept).isSubset(of: found), "\(kept) \(found)")
    }
}
