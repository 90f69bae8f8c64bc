import BackstitchCore
import CloudKitWire
import Foundation
import TestBudget
import Testing

@testable import BackstitchHubCore

@Suite("Feeds of a hub", .budgeted)
struct HubFeedTests {
    private func page(
        _ fixture: HubFixture, since token: String? = nil, limit: Int64? = nil
    ) async throws -> WireItem<ZoneFeedPage> {
        let feed = ZoneFeedRequest(
            zoneID: WireZoneID("z"), syncToken: token, resultsLimit: limit)
        let reply: ZoneChangesResponse = try await fixture.call(
            .zoneChanges, ZoneChangesRequest(zones: [feed]))
        return try #require(reply.zones.first)
    }

    @Test("a record stands in the feed once, at its last change; pages go on from any token")
    func paging() async throws {
        let fixture = try await HubFixture()
        try await fixture.makeZones("z")
        for name in ["a", "b", "c"] {
            _ = try await fixture.modify(.init(.create, HubFixture.record(name)))
        }
        _ = try await fixture.modify(.init(.forceUpdate, HubFixture.record("a", ["x": .int64(1)])))
        _ = try await fixture.modify(.init(.forceDelete, HubFixture.record("b")))
        var token: String?
        var names: [String?] = []
        for index in 0..<3 {
            let first = try #require(try await page(fixture, since: token, limit: 1).value)
            #expect(try await page(fixture, since: token, limit: 1).value == first)
            names += first.records.map { $0.value?.recordName }
            #expect(first.moreComing == (index < 2))
            token = first.syncToken
        }
        #expect(names == ["c", "a", "b"])
        let rest = try #require(try await page(fixture, since: token).value)
        #expect(rest.records.isEmpty && rest.syncToken == token && !rest.moreComing)
    }

    @Test(
        "a feed backwards has the latest change first, in pages that end by count and by bytes",
        arguments: [
            (nil, [["d", "c", "b"], ["a"]]), (1, [["d"], ["c"], ["b"], ["a"]]),
        ] as [(Int64?, [[String]])])
    func backwards(limit: Int64?, expected: [[String]]) async throws {
        var limits = HubLimits()
        limits.pageBytes = 100
        let fixture = try await HubFixture(limits: limits)
        try await fixture.makeZones("z")
        for name in ["a", "b", "c", "d"] {
            let text = ServiceValue.string(String(repeating: name, count: name == "b" ? 200 : 1))
            _ = try await fixture.modify(.init(.create, HubFixture.record(name, ["t": text])))
        }
        var feed = ZoneFeedRequest(zoneID: WireZoneID("z"), resultsLimit: limit)
        feed.isReverse = true
        var pages: [[String]] = []
        while pages.count < 5 {
            let reply: ZoneChangesResponse = try await fixture.call(
                .zoneChanges, ZoneChangesRequest(zones: [feed]))
            let page = try #require(reply.zones.first?.value)
            pages.append(page.records.compactMap { $0.value?.recordName })
            feed.syncToken = page.syncToken
            guard page.moreComing else { break }
        }
        #expect(pages == expected)
    }

    @Test("each zone of a request is answered as it asks, and one that fails fails alone")
    func severalZones() async throws {
        let fixture = try await HubFixture()
        try await fixture.makeZones("y", "z")
        for zone in ["y", "z"] {
            _ = try await fixture.modify(
                .init(.create, HubFixture.record("r", ["n": .int64(7), "t": .string("x")])),
                .init(.create, WireRecord(recordName: "other", recordType: "Other")), zone: zone)
        }
        var text = ZoneFeedRequest(zoneID: WireZoneID("y"), desiredKeys: ["n"])
        text.numbersAsStrings = true
        var number = ZoneFeedRequest(zoneID: WireZoneID("z"))
        number.desiredRecordTypes = ["Other"]
        let (status, body) = await fixture.send(
            .zoneChanges, as: fixture.ada,
            body: ZoneChangesRequest(zones: [
                text, ZoneFeedRequest(zoneID: WireZoneID("gone")), number,
                ZoneFeedRequest(zoneID: WireZoneID("z")),
            ]).body())
        #expect(status == 200)
        let zones = try #require(try JSONObject(body: body).array("zones"))
        let told = try zones.map { zone in
            let zone = try JSONObject(zone, of: "a zone")
            return try zone.text("serverErrorCode")
                ?? zone.requiredObjects("records") { record throws(WireFormatError) in
                    let fields = try record.requiredObject("fields")
                    let field = try fields.object("n")
                    let text = try? field?.text("value")
                    let kind = field == nil ? "none" : text == nil ? "number" : "text"
                    let name = try record.requiredText("recordName")
                    return "\(name) \(fields.count) \(kind)"
                }.joined(separator: ", ")
        }
        #expect(
            told == [
                "r 1 text, other 0 none", "ZONE_NOT_FOUND", "other 0 none",
                "r 2 number, other 0 none",
            ])
    }

    @Test("the zones of a request share the bytes of a page, and each gets on")
    func sharedBytes() async throws {
        var limits = HubLimits()
        limits.pageBytes = 100
        let fixture = try await HubFixture(limits: limits)
        try await fixture.makeZones("y", "z")
        let text = ServiceValue.string(String(repeating: "t", count: 40))
        for zone in ["y", "z"] {
            for name in ["a", "b", "c"] {
                _ = try await fixture.modify(
                    .init(.create, HubFixture.record(name, ["t": text])), zone: zone)
            }
        }
        var feeds = ["y", "z"].map { ZoneFeedRequest(zoneID: WireZoneID($0)) }
        var told: [[Int]] = []
        var names: [[String]] = [[], []]
        while told.count < 4 {
            let reply: ZoneChangesResponse = try await fixture.call(
                .zoneChanges, ZoneChangesRequest(zones: feeds))
            let pages = try reply.zones.map { try #require($0.value) }
            told.append(pages.map(\.records.count))
            for (index, page) in pages.enumerated() {
                feeds[index].syncToken = page.syncToken
                names[index] += page.records.compactMap { $0.value?.recordName }
            }
            guard pages.contains(where: \.moreComing) else { break }
        }
        #expect(told == [[2, 1], [1, 1], [0, 1]])
        #expect(names == [["a", "b", "c"], ["a", "b", "c"]])
    }

    @Test("a token that was changed, cut or invented is refused")
    func forgedTokens() async throws {
        let fixture = try await HubFixture()
        try await fixture.makeZones("z")
        let token = try #require(try await page(fixture).value?.syncToken)
        var forged = try #require(Data(base64Encoded: token))
        forged[20] ^= 1
        for bad in [forged.base64EncodedString(), String(token.dropLast(4)), "x", "", "é"] {
            #expect(try await page(fixture, since: bad).code == "BAD_REQUEST")
        }
        // The zone of before a restore is lost: who has it sends what it holds.
        try await fixture.hub.beginEpoch()
        #expect(try await page(fixture, since: token).code == "ZONE_NOT_FOUND")
        #expect(try await page(fixture).value != nil)
    }

    @Test(
        "a token counts while the commit that it tells of is in the database's history",
        arguments: [
            (5, 20, true), (5, 21, false), (6, 30, true), (6, 31, false), (7, 40, true),
            (7, 41, false), (8, 1, false), (8, 0, true), (0, 1, false),
        ] as [(UInt64, UInt64, Bool)])
    func tokensAndHistory(run: UInt64, sequence: UInt64, counts: Bool) throws {
        let (state, partition) = (StateRow(epoch: 7, tokenKey: [1]), Partition(number: 1))
        var database = DatabaseRow(DatabaseName(realm: 1, scope: .private, user: "u"))
        (database.run, database.sequence) = (7, 40)
        var history = FeedHistory()
        history.note(FeedMark(run: 5, sequence: 20), at: 0, HubLimits())
        history.note(FeedMark(run: 6, sequence: 30), at: 0, HubLimits())
        var fetched = BufferedTransaction.Fetched()
        fetched.keys = [(FeedHistory.key(partition), history.stored)]
        let transaction = BufferedTransaction(RequestWork()) { [fetched] _ in fetched }
        let feed = FeedToken.Feed(zone: 3, floor: 0, database: database)
        let given = FeedToken(
            .zone, partition, zone: 3, origin: 10, sequence: 12,
            mark: FeedMark(run: run, sequence: sequence))
        let token = try FeedToken(given.text(state), .zone, partition, state)
        #expect(token == given)
        #expect(FeedToken.position(given.text(state)) == 12)
        if counts {
            try token.check(feed, in: transaction)
        } else {
            #expect(throws: FeedToken.Failure.lostHistory) {
                try token.check(feed, in: transaction)
            }
        }
        // The number of another zone is no loss, but only if nothing else is.
        var other = feed
        other.zone = 4
        #expect(throws: counts ? FeedToken.Failure.unknown : .lostHistory) {
            try token.check(other, in: transaction)
        }
    }

    @Test("the token of a page backwards in an empty zone counts")
    func tokenOfEmptyZone() async throws {
        let fixture = try await HubFixture()
        try await fixture.makeZones("z")
        var feed = ZoneFeedRequest(zoneID: WireZoneID("z"))
        feed.isReverse = true
        let reply: ZoneChangesResponse = try await fixture.call(
            .zoneChanges, ZoneChangesRequest(zones: [feed]))
        let latest = try #require(reply.zones.first?.value?.syncToken)
        #expect(try await page(fixture, since: latest).value != nil)
    }

    /// A history with a number of runs, each of which ended some milliseconds after the one before.
    private static func history(
        runs: Int, milliseconds: Int64, _ limits: HubLimits = HubLimits()
    ) -> FeedHistory {
        var history = FeedHistory()
        for number in 1...runs {
            history.note(
                FeedMark(run: UInt64(number), sequence: UInt64(number)),
                at: Int64(number) * milliseconds, limits)
        }
        return history
    }

    private static func firstRun(_ history: FeedHistory) -> UInt64? {
        history.entries.first?.mark.run
    }

    @Test("the history of a database keeps each run once, as it wrote last")
    func historyOfRuns() throws {
        var history = Self.history(runs: 300, milliseconds: 1)
        history.note(FeedMark(run: 200, sequence: 301), at: 301, HubLimits())
        #expect(history.entries.count == 300)
        let sequences = history.entries.map(\.mark.sequence)
        #expect(sequences == sequences.sorted())
        #expect(history.holds(FeedMark(run: 1, sequence: 1)))
        #expect(!history.holds(FeedMark(run: 1, sequence: 2)))
        #expect(history.holds(FeedMark(run: 200, sequence: 250)))
        #expect(try FeedHistory(stored: history.stored) == history)
        for damaged in [[1, 2], [1, 2, 3], [2]] as [[UInt8]] {
            #expect(throws: HubError.self) { try FeedHistory(stored: damaged) }
        }
    }

    @Test(
        "runs are kept as long as tombstones are, so that hubs may start often, and so many at most"
    )
    func boundedHistory() {
        let hour: Int64 = 3_600 * 1_000
        // Of 180 days there are all, and the one that ended when they began.
        #expect(
            Self.firstRun(Self.history(runs: 2_500, milliseconds: 2 * hour)) == 2_500 - 180 * 12)
        // However long ago they were.
        let rare = Self.history(runs: 300, milliseconds: 365 * 24 * hour)
        #expect(rare.entries.count == FeedHistory.runsMin && Self.firstRun(rare) == 45)
        let often = Self.history(runs: 4_200, milliseconds: 1_000)
        #expect(often.entries.count == 4_096 && Self.firstRun(often) == 105)
        #expect(often.stored.count < 100_000)
        var limits = HubLimits()
        limits.runsPerDatabase = 7
        #expect(Self.history(runs: 20, milliseconds: hour, limits).entries.count == 7)
    }

    @Test("tombstones go after their time, and older tokens with them")
    func retention() async throws {
        var limits = HubLimits()
        limits.tombstoneMilliseconds = 1_000
        let fixture = try await HubFixture(limits: limits)
        try await fixture.makeZones("z")
        _ = try await fixture.modify(
            .init(.create, HubFixture.record("a")), .init(.create, HubFixture.record("b")))
        let early = try #require(try await page(fixture).value?.syncToken)
        _ = try await fixture.modify(.init(.forceDelete, HubFixture.record("a")))
        let late = try #require(try await page(fixture, since: early).value)
        #expect(late.records.compactMap(\.value?.isDeleted) == [true])
        fixture.advance(milliseconds: 1_002)
        _ = try await fixture.modify(.init(.create, HubFixture.record("c")))
        #expect(try await page(fixture, since: early).code == "BAD_REQUEST")
        let names = try await page(fixture, since: late.syncToken).value?.records
            .compactMap(\.value?.recordName)
        #expect(names == ["c"])
        let all = try await page(fixture).value?.records.compactMap(\.value?.recordName)
        #expect(all == ["b", "c"])
    }

    private static func tombstones(_ fixture: HubFixture) throws -> Int {
        try fixture.hub.storage.readHere { try $0.count(.tombstone) }
    }

    @Test("tombstones go once a zone has changed so often since, and older tokens with them")
    func tombstonesByChanges() async throws {
        var limits = HubLimits()
        limits.tombstoneChanges = 20
        let fixture = try await HubFixture(limits: limits)
        try await fixture.makeZones("z")
        let early = try #require(try await page(fixture).value?.syncToken)
        for number in 0..<100 {
            let name = "r\(number)"
            _ = try await fixture.modify(.init(.create, HubFixture.record(name)))
            _ = try await fixture.modify(.init(.forceDelete, HubFixture.record(name)))
            #expect(try Self.tombstones(fixture) <= 11)
        }
        #expect(try Self.tombstones(fixture) >= 10)
        #expect(try await page(fixture, since: early).code == "BAD_REQUEST")
        let late = try await page(fixture).value?.syncToken
        #expect(try await page(fixture, since: late).value?.records.isEmpty == true)
    }

    @Test("a request removes twice as many old tombstones as it adds")
    func tombstonesByCascades() async throws {
        var limits = HubLimits()
        limits.tombstoneMilliseconds = 1_000
        let hub = try await MeteredHub(limits)
        for round in 0..<3 {
            try await hub.save(1) { _ in MeteredHub.record("root\(round)") }
            try await hub.save(700) {
                MeteredHub.record(
                    "c\(round)-\($0)", MeteredHub.reference("p", "root\(round)", "DELETE_SELF"))
            }
        }
        // Those of the first two are old when the third one goes: more than a write removes that
        // deletes little.
        for round in 0..<3 {
            if round == 2 { hub.fixture.advance(milliseconds: 1_002) }
            _ = try await hub.fixture.modify(
                .init(.forceDelete, HubFixture.record("root\(round)")))
        }
        #expect(try Self.tombstones(hub.fixture) == 701)
        #expect(try hub.fixture.wrongSpace() == [])
    }

    @Test("zones that changed or ended are told once, and ended ones are empty when made again")
    func databaseFeed() async throws {
        let fixture = try await HubFixture()
        try await fixture.makeZones("z", "y")
        _ = try await fixture.modify(.init(.create, HubFixture.record("a")))
        let all: ZonesResponse = try await fixture.call(
            .databaseChanges, DatabaseChangesRequest())
        #expect(
            all.zones.compactMap(\.value?.zoneID.zoneName) == ["_defaultZone", "y", "z"])
        let _: ZonesResponse = try await fixture.call(
            .modifyZones, ModifyZonesRequest(operations: [.init(.delete, WireZoneID("z"))]))
        let after: ZonesResponse = try await fixture.call(
            .databaseChanges, DatabaseChangesRequest(syncToken: all.syncToken))
        #expect(after.zones.compactMap(\.value?.isDeleted) == [true])
        #expect(try await page(fixture).code == "ZONE_NOT_FOUND")
        try await fixture.makeZones("z")
        #expect(try await page(fixture).value?.records.isEmpty == true)
        await #expect(throws: WireError.self) {
            let _: ZonesResponse = try await fixture.call(
                .databaseChanges, DatabaseChangesRequest(syncToken: "nonsense"))
        }
    }

    @Test("what is left of an ended zone goes bit by bit")
    func endedZones() async throws {
        let fixture = try await HubFixture()
        try await fixture.makeZones("z", "y")
        for start in [0, 200, 400] {
            let request = ModifyRecordsRequest(
                operations: (start..<(start + 200)).map {
                    .init(.create, HubFixture.record("r\($0)"))
                }, zoneID: WireZoneID("z"))
            let _: RecordsResponse = try await fixture.call(.modifyRecords, request)
        }
        let _: ZonesResponse = try await fixture.call(
            .modifyZones, ModifyZonesRequest(operations: [.init(.delete, WireZoneID("z"))]))
        for index in 0..<16 {
            _ = try await fixture.modify(
                .init(.create, HubFixture.record("w\(index)")), zone: "y")
        }
        let count = try fixture.hub.storage.readHere {
            try $0.count(.record, .feed, .type, .endedZone)
        }
        #expect(count == 16 * 3)
    }
}
