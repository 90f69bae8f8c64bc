import CloudKitWire
import TestBudget
import Testing

@testable import BackstitchHubCore

/// Users who are signed in have turns of their own, and so have to be known by the head of a request.
@Suite("In whose turn a request waits", .budgeted)
struct RequestTurnTests {
    @Test(arguments: [true, false])
    func `a call without a body waits in the turn of its user`(isFar: Bool) async throws {
        let fixture = try await HubFixture(storage: MemoryHubStorage(isFar: isFar))
        try await fixture.makeZones("z")
        func work(as user: HubAccounts.SignedInUser?) async -> (RequestWork, HubResponse) {
            var head = HubRequest(
                method: "GET", target: fixture.target(.listZones, as: user))
            _ = await fixture.admission(of: &head, length: 0)
            let work = fixture.hub.makeWork(for: head)
            return (work, await fixture.hub.respond(to: head, work))
        }
        let (ada, zones) = await work(as: fixture.ada)
        #expect(!ada.isAnonymous && ada.client.hasPrefix("user ") && zones.status == 200)
        let (bob, _) = await work(as: fixture.bob)
        #expect(!bob.isAnonymous && bob.client != ada.client)
        let (stranger, refusal) = await work(as: nil)
        #expect(stranger.isAnonymous && stranger.client.hasPrefix("address "))
        #expect(refusal.status == 421)
    }

    @Test func `credentials are looked up in the turn of the user whom they proved before`()
        async throws
    {
        let storage = MemoryHubStorage(isFar: true)
        let fixture = try await HubFixture(storage: storage)
        func reader(as user: HubAccounts.SignedInUser?) async -> RequestWork? {
            // What was looked up counts no longer.
            fixture.advance(milliseconds: AuthenticationCache.lifetimeMilliseconds + 1)
            var head = HubRequest(
                method: "POST", target: fixture.target(.lookupRecords, as: user))
            _ = await fixture.admission(of: &head, length: 100)
            return storage.lastReader
        }
        #expect(await reader(as: fixture.ada)?.isAnonymous == true)
        let again = await reader(as: fixture.ada)
        #expect(again?.isAnonymous == false && again?.client.hasPrefix("user ") == true)
        #expect(await reader(as: fixture.bob)?.isAnonymous == true)
        #expect(await reader(as: nil)?.isAnonymous == true)
        // Whose turn it is lets nobody in.
        #expect(try await fixture.hub.accounts.revoke(fixture.ada.webAuthToken))
        var head = HubRequest(
            method: "POST", target: fixture.target(.lookupRecords, as: fixture.ada))
        let admission = await fixture.admission(of: &head, length: 1 << 20)
        guard case .refuse(let refusal) = admission else {
            Issue.record("A session that was taken back was let in.")
            return
        }
        #expect(refusal.status == 401)
    }
}
