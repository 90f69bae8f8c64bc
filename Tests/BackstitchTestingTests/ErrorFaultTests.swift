import BackstitchCore
import BackstitchTesting
import TestBudget
import Testing

@Suite(.budgeted) struct ErrorFaultTests {
    @Test(arguments: ServiceError.Code.allCases, RequestKind.allCases)
    func `every code can fail every request`(
        expected: ServiceError.Code, kind: RequestKind
    ) async throws {
        let fixture = try await Fixture()
        fixture.phone.failNext(kind, with: expected)
        let thrown = await code { () async throws(ServiceError) in
            try await Self.send(kind, in: fixture)
        }
        #expect(thrown == expected)
        #expect(fixture.phone.faultCounts == [.error(expected): 1])
        #expect(fixture.names == [] && fixture.cloud.zones() == [fixture.zone])
        try await Self.send(kind, in: fixture)
    }

    @Test(arguments: FaultKind.allCases.filter { $0.recordCode != nil })
    func `one record of a request fails`(kind: FaultKind) async throws {
        let fixture = try await Fixture()
        fixture.phone.inject(ScriptedFault(kind, on: .modify, recordName: "b"))
        try await fixture.create("unrelated")
        let results = try await fixture.modify([Fixture.creation("a"), Fixture.creation("b")])
        #expect(results.map(\.code) == [nil, kind.recordCode])
        #expect(fixture.names == ["a", "unrelated"])
        #expect(fixture.phone.faultCounts == [kind: 1])
        guard kind.applies(to: .lookup) else { return }
        fixture.phone.inject(ScriptedFault(kind, on: .lookup, recordName: "a"))
        let found = try await fixture.phone.lookUpRecords(["b", "a"], in: fixture.zone)
        #expect(found.first == .notFound)
        guard case .failed(let error)? = found.last else {
            Issue.record("the lookup of the record fails")
            return
        }
        #expect(error.code == kind.recordCode)
    }

    @Test(arguments: [
        (FaultKind.rateLimitedRetryAfter, ServiceError.Code.rateLimited),
        (.zoneBusyRetryAfter, .zoneBusy), (.serviceUnavailableRetryAfter, .serviceUnavailable),
    ])
    func `a service tells when to come back, or not`(
        kind: FaultKind, expected: ServiceError.Code
    ) async throws {
        let fixture = try await Fixture()
        fixture.phone.inject(ScriptedFault(kind, retryAfterSeconds: 7))
        fixture.phone.failNext(with: expected)
        var found: [ServiceError] = []
        for _ in 0..<2 {
            do throws(ServiceError) {
                _ = try await fixture.page()
            } catch {
                found.append(error)
            }
        }
        #expect(found.map(\.code) == [expected, expected])
        #expect(found.map(\.retryAfterSeconds) == [7, nil])
    }

    @Test(arguments: [
        ServiceError.Code.quotaExceeded, .notAuthenticated, .permissionDenied, .incompatibleVersion,
    ])
    func `a lasting fault goes on until it is cleared`(expected: ServiceError.Code) async throws {
        let fixture = try await Fixture()
        fixture.phone.inject(
            ScriptedFault(.error(expected), on: .modify, for: .untilCleared))
        for _ in 0..<3 {
            let thrown = await code { () async throws(ServiceError) in
                _ = try await fixture.modify([Fixture.creation("a")])
            }
            #expect(thrown == expected)
            _ = try await fixture.page()
        }
        fixture.phone.clearFaults(of: .error(expected))
        try await fixture.create("a")
    }

    @Test func `a fault can wait for the nth request`() async throws {
        let fixture = try await Fixture()
        fixture.phone.inject(ScriptedFault(.error(.zoneBusy), on: .modify, skip: 2))
        try await fixture.create("a")
        _ = try await fixture.page()
        try await fixture.create("b")
        let thrown = await code { () async throws(ServiceError) in
            _ = try await fixture.modify([Fixture.creation("c")])
        }
        #expect(thrown == .zoneBusy)
        try await fixture.create("c")
    }

    static func send(_ kind: RequestKind, in fixture: Fixture) async throws(ServiceError) {
        let (phone, zone) = (fixture.phone, fixture.zone)
        switch kind {
        case .modify: _ = try await fixture.modify([Fixture.creation("a")])
        case .lookup: _ = try await phone.lookUpRecords(["a"], in: zone)
        case .databaseChanges: _ = try await phone.databaseChanges(since: nil)
        case .zoneChanges: _ = try await fixture.page()
        case .createZone: try await phone.createZone(zone)
        case .deleteZone: try await phone.deleteZone(zone)
        case .createSubscription: try await phone.createSubscription("s", to: zone)
        case .currentUser: _ = try await phone.currentUser()
        }
    }
}
