import BackstitchCore
import BackstitchTesting
import TestBudget
import Testing

@Suite(.budgeted) struct AccountTests {
    @Test func `a switch of account is told until somebody asks who it is`() async throws {
        let fixture = try await Fixture()
        try await fixture.create("a")
        fixture.phone.switchUser(to: "other")
        for _ in 0..<2 { #expect(await codeOfPaging(fixture) == .accountChanged) }
        #expect(try await fixture.phone.currentUser() == "other")
        #expect(await codeOfPaging(fixture) == .zoneNotFound)
        fixture.phone.switchUser(to: "user")
        #expect(try await fixture.phone.currentUser() == "user")
        #expect(try await fixture.page().records.count == 1)
    }

    @Test func `an unannounced switch goes to the other user's zones`() async throws {
        let fixture = try await Fixture()
        fixture.phone.switchUser(to: "other", announced: false)
        #expect(await codeOfPaging(fixture) == .zoneNotFound)
    }

    @Test func `nobody signed in is not authenticated`() async throws {
        let fixture = try await Fixture()
        fixture.phone.switchUser(to: nil)
        #expect(await codeOfPaging(fixture) == .notAuthenticated)
        let thrown = await code { () async throws(ServiceError) in
            _ = try await fixture.phone.currentUser()
        }
        #expect(thrown == .notAuthenticated)
        #expect(await codeOfPaging(fixture) == .notAuthenticated)
    }

    @Test func `a switch by fault ends after some requests`() async throws {
        let fixture = try await Fixture()
        fixture.phone.faultPlan.accountSwitchRequests = 3
        fixture.phone.failNext(.zoneChanges, with: .accountSwitch)
        #expect(await codeOfPaging(fixture) == .accountChanged)
        #expect(try await fixture.phone.currentUser() == "user-other")
        #expect(await codeOfPaging(fixture) == .zoneNotFound)
        #expect(await codeOfPaging(fixture) == .zoneNotFound)
        #expect(await codeOfPaging(fixture) == .accountChanged)
        #expect(try await fixture.phone.currentUser() == "user")
        #expect(await codeOfPaging(fixture) == nil)
        #expect(fixture.phone.faultCounts == [.accountSwitch: 1])
    }

    @Test func `a switch by fault ends with all faults`() async throws {
        let fixture = try await Fixture()
        fixture.phone.failNext(with: .accountSwitch)
        #expect(await codeOfPaging(fixture) == .accountChanged)
        fixture.phone.endFaults()
        #expect(try await fixture.phone.currentUser() == "user")
        #expect(await codeOfPaging(fixture) == nil)
    }

    private func codeOfPaging(_ fixture: Fixture) async -> ServiceError.Code? {
        await code { () async throws(ServiceError) in _ = try await fixture.page() }
    }
}
