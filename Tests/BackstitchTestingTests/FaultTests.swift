import BackstitchCore
import BackstitchTesting
import TestBudget
import Testing

@Suite(.budgeted) struct FaultTests {
    @Test func `a lost reply leaves the request applied`() async throws {
        let fixture = try await Fixture()
        fixture.phone.failNext(.modify, with: .lostReply)
        #expect(await codeOfCreating("a", in: fixture) == .network)
        #expect(fixture.names == ["a"])
        #expect(try await fixture.modify(Fixture.creation("a"))?.code == .alreadyExists)
        #expect(fixture.phone.faultCounts == [.lostReply: 1])
    }

    @Test func `a lost request is not applied`() async throws {
        let fixture = try await Fixture()
        fixture.phone.failNext(.modify, with: .lostRequest)
        #expect(await codeOfCreating("a", in: fixture) == .network)
        #expect(fixture.names == [])
        #expect(fixture.cloud.requestCounts[.modify] == nil)
        #expect(try await fixture.modify(Fixture.creation("a"))?.isSaved == true)
    }

    @Test(arguments: 0...3)
    func `a late request is applied around a later request of anybody`(lateBy: Int) async throws {
        let fixture = try await Fixture()
        fixture.phone.inject(ScriptedFault(.lateExecution, lateBy: lateBy))
        #expect(await codeOfCreating("a", in: fixture) == .network)
        for _ in 0..<lateBy { _ = try await fixture.laptop.currentUser() }
        #expect(fixture.names == [])
        #expect(fixture.cloud.lateRequestCount == 1)
        _ = try await fixture.laptop.currentUser()
        #expect(fixture.names == ["a"])
        #expect(fixture.cloud.lateRequestCount == 0)
    }

    @Test func `late requests can be carried out at once`() async throws {
        let fixture = try await Fixture()
        fixture.phone.inject(ScriptedFault(.lateExecution, lateBy: 100))
        #expect(await codeOfCreating("a", in: fixture) == .network)
        fixture.cloud.performLateRequests()
        #expect(fixture.names == ["a"])
    }

    @Test func `a late request whose record moved on does nothing`() async throws {
        let fixture = try await Fixture()
        try await fixture.create("a")
        fixture.phone.inject(ScriptedFault(.lateExecution, lateBy: 5))
        let late = fixture.update("a", ["title": .string("late")])
        _ = await code { () async throws(ServiceError) in _ = try await fixture.modify(late) }
        #expect(try await fixture.modify(late)?.isSaved == true)
        let tag = fixture.tag("a")
        fixture.cloud.performLateRequests()
        #expect(fixture.tag("a") == tag)
    }

    @Test func `of a request applied twice the second reply arrives`() async throws {
        let fixture = try await Fixture()
        fixture.phone.failNext(with: .duplicateExecution)
        let result = try await fixture.modify(Fixture.creation("a"))
        #expect(result?.code == .alreadyExists)
        #expect(result?.error?.serverRecord?.fields == ["title": .string("one")])
        #expect(fixture.names == ["a"])
    }

    @Test func `a stale lookup tells the version before`() async throws {
        let fixture = try await Fixture()
        try await fixture.create("a", "new")
        let old = fixture.tag("a")
        _ = try await fixture.modify(fixture.update("a", ["title": .string("two")]))
        fixture.laptop.failNext(with: .staleRead)
        let names = ["a", "new", "none"]
        let stale = try await fixture.laptop.lookUpRecords(names, in: fixture.zone)
        guard case .found(let record)? = stale.first else {
            Issue.record("the older version is found")
            return
        }
        #expect(record.changeTag == old && record.fields == ["title": .string("one")])
        #expect(stale.dropFirst() == [.notFound, .notFound])
    }

    @Test func `a stale page is made up for by the next one`() async throws {
        let fixture = try await Fixture()
        try await fixture.create("a")
        let first = try await fixture.page()
        _ = try await fixture.modify(fixture.update("a", ["title": .string("two")]))
        try await fixture.create("b")
        fixture.phone.failNext(with: .staleRead)
        let stale = try await fixture.page(since: first.token)
        #expect(stale.records == first.records)
        #expect(stale.token == first.token && !stale.moreComing)
        let fresh = try await fixture.page(since: stale.token)
        #expect(fresh.records == fixture.cloud.records(in: fixture.zone))
        fixture.phone.failNext(with: .staleRead)
        let none = try await fixture.page()
        #expect(none.records == first.records)
        #expect(try await fixture.page(since: none.token).records.count == 2)
    }

    @Test func `a stale list of zones misses the latest`() async throws {
        let fixture = try await Fixture()
        fixture.phone.failNext(with: .staleRead)
        let stale = try await fixture.phone.databaseChanges(since: nil)
        #expect(stale.changedZones == [])
        let fresh = try await fixture.phone.databaseChanges(since: stale.token)
        #expect(fresh.changedZones == [fixture.zone])
    }

    @Test func `a proxy answers in the server's place, which may have done what was asked`()
        async throws
    {
        let fixture = try await Fixture()
        fixture.phone.faultPlan = FaultPlan(seed: 1, probabilities: [.proxyAnswer: 1])
        var codes: Set<ServiceError.Code> = []
        for number in 0..<60 {
            let code = await codeOfCreating("r\(number)", in: fixture)
            codes.insert(try #require(code))
        }
        #expect(codes.isSubset(of: FaultKind.proxyAnswers.map { $0.code }) && codes.count > 2)
        #expect(!codes.contains(.limitExceeded), "one record can't be split")
        #expect((1..<60).contains(fixture.names.count))
        #expect(fixture.phone.faultCounts == [.proxyAnswer: 60])
    }

    @Test func `a stuck feed repeats its token until the fault ends`() async throws {
        let fixture = try await Fixture()
        let first = try await fixture.page()
        try await fixture.create("a")
        fixture.phone.inject(ScriptedFault(.stuckFeed, for: .requests(3)))
        for _ in 0..<3 {
            let page = try await fixture.page(since: first.token)
            #expect(page.records.isEmpty && page.moreComing && page.token == first.token)
        }
        let page = try await fixture.page(since: first.token)
        #expect(page.records.map(\.recordName) == ["a"] && !page.moreComing)
    }

    @Test func `a stuck feed may give two tokens in turn, from either of which it goes on`()
        async throws
    {
        let fixture = try await Fixture()
        let first = try await fixture.page()
        try await fixture.create("a")
        fixture.phone.inject(ScriptedFault(.stuckFeed, for: .requests(3), alternates: true))
        var tokens = [first.token]
        for _ in 0..<3 {
            let page = try await fixture.page(since: tokens.last)
            #expect(page.records.isEmpty && page.moreComing)
            tokens.append(page.token)
        }
        #expect(tokens[0] == tokens[2] && tokens[1] == tokens[3] && tokens[0] != tokens[1])
        for token in tokens.suffix(2) {
            let page = try await fixture.page(since: token)
            #expect(page.records.map(\.recordName) == ["a"] && !page.moreComing)
        }
    }

    @Test func `a record that a page can't deliver is in no later page`() async throws {
        let fixture = try await Fixture()
        try await fixture.create("a", "b", "c")
        fixture.phone.inject(ScriptedFault(.recordError, on: .zoneChanges, recordName: "b"))
        let page = try await fixture.page()
        #expect(page.records.map(\.recordName) == ["a", "c"])
        #expect(page.failures.mapValues(\.code) == ["b": .serviceUnavailable])
        #expect(try await fixture.page(since: page.token).records.isEmpty)
        fixture.phone.failNext(.zoneChanges, with: .recordError)
        let other = try await fixture.page()
        #expect(other.records.count == 2 && other.failures.count == 1)
    }

    @Test func `pages come out of order, empty or small, and lose nothing`() async throws {
        let fixture = try await Fixture()
        let names = (0..<20).map { "r\($0)" }
        _ = try await fixture.modify(names.map { Fixture.creation($0) })
        fixture.phone.failNext(with: .reorderedFeed)
        let shuffled = try await fixture.page().records.map(\.recordName)
        #expect(shuffled != names && shuffled.sorted() == names.sorted())
        fixture.phone.failNext(with: .emptyPages)
        let empty = try await fixture.page()
        #expect(empty.records.isEmpty && empty.moreComing)
        fixture.phone.inject(ScriptedFault(.smallPages, for: .untilCleared))
        var page = try await fixture.page(since: empty.token)
        var found = page.records.map(\.recordName)
        while page.moreComing {
            #expect((1...2).contains(page.records.count))
            page = try await fixture.page(since: page.token)
            found += page.records.map(\.recordName)
        }
        #expect(found == names)
        fixture.phone.clearFaults(of: .smallPages)
        #expect(try await fixture.page().records.count == 20)
    }

    @Test func `small limits refuse what is half too much`() async throws {
        let fixture = try await Fixture()
        fixture.phone.inject(ScriptedFault(.smallLimits, for: .requests(2)))
        let both = [Fixture.creation("a"), Fixture.creation("b")]
        let thrown = await code { () async throws(ServiceError) in
            _ = try await fixture.modify(both)
        }
        #expect(thrown == .limitExceeded)
        #expect(try await fixture.modify(Fixture.creation("a"))?.isSaved == true)
    }

    @Test func `a limit is told for each record`() async throws {
        let fixture = try await Fixture()
        fixture.phone.failNext(with: .limitExceededWrapped)
        let results = try await fixture.modify([Fixture.creation("a"), Fixture.creation("b")])
        #expect(results.map(\.code) == [.limitExceeded, .limitExceeded])
        #expect(results.allSatisfy { $0.error?.retryAfterSeconds == nil })
        #expect(fixture.names == [])
    }

    @Test func `a part of a request fails and the rest is applied`() async throws {
        let fixture = try await Fixture()
        fixture.phone.failNext(with: .partialFailure)
        let results = try await fixture.modify((0..<10).map { Fixture.creation("r\($0)") })
        let failed = results.count { $0.code == .serviceUnavailable }
        #expect((1..<10).contains(failed))
        #expect(fixture.names.count == 10 - failed)
        fixture.phone.failNext(with: .partialFailure)
        let atomic = try await fixture.modify(
            [Fixture.creation("x"), Fixture.creation("y"), Fixture.creation("z")], atomic: true)
        #expect(atomic.allSatisfy { $0.code == .serviceUnavailable || $0.code == .batchFailed })
        #expect(fixture.names.count == 10 - failed)
    }

    @Test func `conflicts can come without the server's record`() async throws {
        let fixture = try await Fixture()
        try await fixture.create("a")
        let old = fixture.update("a", ["title": .string("two")])
        _ = try await fixture.modify(old)
        #expect(try await fixture.modify(old)?.error?.serverRecord != nil)
        fixture.phone.failNext(with: .conflictWithoutServerRecord)
        let conflict = try await fixture.modify(old)?.error
        #expect(conflict?.code == .conflict && conflict?.serverRecord == nil)
        fixture.phone.failNext(with: .existsWithoutServerRecord)
        let exists = try await fixture.modify(Fixture.creation("a"))?.error
        #expect(exists?.code == .alreadyExists && exists?.serverRecord == nil)
        #expect(exists?.message == "record to insert already exists")
    }

    private func codeOfCreating(_ name: String, in fixture: Fixture) async -> ServiceError.Code? {
        do throws(ServiceError) {
            return try await fixture.modify(Fixture.creation(name))?.code
        } catch {
            return error.code
        }
    }
}
