import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchTesting
import Foundation
import LMDB
import TestBudget
import Testing

/// A store that goes to another zone, with everything in it.
@Suite(.budgeted) struct MoveTests {
    let cloud = SimulatedCloud()

    /// The titles of the notes in a zone, by name.
    private func titles(_ zone: String, user: String = "user") -> [String: String] {
        Dictionary(
            uniqueKeysWithValues: cloud.records(in: ZoneID(zone), user: user).map { record in
                guard case .string(let title)? = record.fields["title"] else {
                    return (record.recordName, "")
                }
                return (record.recordName, title)
            })
    }

    private func expectFresh(
        _ device: Device, in zone: String, _ location: SourceLocation = #_sourceLocation
    ) async throws {
        try await device.expectSettled(location)
        let fresh = try Device(cloud, "fresh") { $0.zoneName = zone }
        try await fresh.sync()
        #expect(try fresh.all(Note.self) == device.all(Note.self), sourceLocation: location)
    }

    @Test func `everything goes along, edits that were not pushed too, and the old zone stays`()
        async throws
    {
        let phone = try await Device.withNotes(cloud)
        try await phone.note("a", "edited")
        try await phone.note("c", "new")
        let report = try await phone.engine.move(to: "next")
        #expect(report.pushedRecords == 3)
        #expect(phone.engine.zoneName == "next")
        #expect(titles("next") == ["a": "edited", "b": "one", "c": "new"])
        #expect(titles("notes") == ["a": "one", "b": "one"])
        #expect(try phone.engine.conflicts() == [])
        try await phone.note("d", "later")
        try await phone.sync()
        #expect(titles("next")["d"] == "later")
        #expect(titles("notes").count == 2)
        #expect(
            await syncError { try await phone.restarted().sync() }?.code == .invalidConfiguration)
        let named = await phone.restarted { $0.zoneName = "next" }
        #expect(try await named.sync().pushedRecords == 0)
        try await expectFresh(named, in: "next")
    }

    @Test func `a notification of the new zone's own subscription counts`() async throws {
        let phone = try await Device.withNotes(cloud)
        try await phone.engine.move(to: "next")
        let json = #"{"ck":{"fet":{"sid":"next-changes","zid":"next"}}}"#
        let notification = try #require(SyncNotification(json: .init(json.utf8)))
        #expect(await phone.engine.handle(notification: notification))
        let old = #"{"ck":{"fet":{"sid":"notes-changes","zid":"notes"}}}"#
        let late = try #require(SyncNotification(json: .init(old.utf8)))
        #expect(await phone.engine.handle(notification: late) == false)
        await phone.engine.stop()
    }

    @Test func `back and forth, each time with the edits made since`() async throws {
        let phone = try await Device.withNotes(cloud)
        for (index, zone) in ["next", "notes", "next", "notes"].enumerated() {
            try await phone.note("a", "edit \(index)")
            try await phone.note("n\(index)", "new")
            if index.isMultiple(of: 2) { try await phone.sync() }
            try await phone.engine.move(to: zone)
            #expect(try titles(zone) == phone.titles())
            #expect(titles(zone)["a"] == "edit \(index)")
        }
        #expect(try phone.engine.conflicts() == [])
        try await expectFresh(phone, in: "notes")
    }

    @Test
    func `records that the new zone has already come here, and where both have one it is kept`()
        async throws
    {
        let other = try Device(cloud, "other") { $0.zoneName = "next" }
        try await other.note("a", "theirs")
        try await other.note("b", "one")
        try await other.note("x", "theirs")
        try await other.sync()
        let phone = try await Device.withNotes(cloud)
        try await phone.engine.move(to: "next")
        let expected = ["a": "one", "b": "one", "x": "theirs"]
        #expect(titles("next") == expected)
        #expect(try phone.titles() == expected)
        let conflicts = try phone.engine.conflicts()
        #expect(conflicts.map(\.record.name.description) == ["a"])
        #expect(conflicts.first?.server?["title"] == .string("theirs"))
        try await other.sync()
        #expect(try other.titles() == expected)
        try await expectFresh(phone, in: "next")
    }

    @Test func `what another device writes to the old zone stays there and is not lost`()
        async throws
    {
        let phone = try await Device.withNotes(cloud)
        let laptop = try Device(cloud, "laptop")
        try await laptop.sync()
        try await laptop.note("a", "laptop")
        try await laptop.note("l", "laptop")
        try await laptop.sync()
        try await phone.engine.move(to: "next")
        try await laptop.note("b", "laptop")
        try await laptop.sync()
        #expect(titles("next") == ["a": "one", "b": "one"])
        #expect(titles("notes") == ["a": "laptop", "b": "laptop", "l": "laptop"])
        // The other device follows: what it has meets what is there.
        try await laptop.engine.move(to: "next")
        try await phone.sync()
        let expected = ["a": "laptop", "b": "laptop", "l": "laptop"]
        #expect(titles("next") == expected)
        #expect(try phone.titles() == expected)
        try await expectFresh(laptop, in: "next")
        try await expectFresh(phone, in: "next")
    }

    @Test func `deletes that were not pushed stay deleted here, and the old zone keeps the record`()
        async throws
    {
        let phone = try await Device.withNotes(cloud)
        try await phone.delete(Note.ID("b"))
        try await phone.engine.move(to: "next")
        #expect(try phone.titles() == ["a": "one"])
        #expect(titles("next") == ["a": "one"])
        #expect(titles("notes") == ["a": "one", "b": "one"])
        try await expectFresh(phone, in: "next")
    }

    @Test func `evicted records go along, because nobody else has them`() async throws {
        let phone = try await Device.withNotes(cloud)
        try await phone.store.write { try $0.evict(Note.ID("b")) }
        #expect(try phone.titles() == ["a": "one"])
        try await phone.engine.move(to: "next")
        #expect(try phone.titles() == ["a": "one", "b": "one"])
        #expect(titles("next") == ["a": "one", "b": "one"])
        try await expectFresh(phone, in: "next")
    }

    @Test(arguments: [true, false])
    func `a replica that lags behind takes no evicted record away`(isNew: Bool) async throws {
        let phone = try await Device.withNotes(cloud)
        let name = isNew ? "c" : "b"
        try await phone.note(name, "two")
        try await phone.sync()
        try await phone.sync()
        try await phone.store.write { try $0.evict(Note.ID(name)) }
        phone.service.failNext(.lookup, with: .staleRead)
        try await phone.engine.move(to: "next")
        #expect(try phone.titles()[name] == "two")
        #expect(titles("next")[name] == "two")
    }

    @Test func `evicted records that can't be fetched keep the store where it is`() async throws {
        let phone = try await Device.withNotes(cloud)
        try await phone.store.write { try $0.evict(Note.ID("b")) }
        phone.service.failNext(.lookup, with: .serviceUnavailable)
        #expect(await syncError { try await phone.engine.move(to: "next") }?.code == .unreachable)
        #expect(cloud.zones() == [scenarioZone])
        try await phone.engine.move(to: "next")
        #expect(titles("next") == ["a": "one", "b": "one"])
    }

    @Test func `parked records are tried again in the new zone`() async throws {
        let phone = try Device(cloud)
        try await phone.save(Chore(id: "c", title: "chore", list: "missing"))
        try await phone.sync()
        #expect(try phone.engine.parked().count == 1)
        let other = try Device(cloud, "other") { $0.zoneName = "next" }
        try await other.save(TaskList(id: "missing", title: "list"))
        try await other.sync()
        try await phone.engine.move(to: "next")
        #expect(try phone.engine.parked() == [])
        #expect(cloud.records(in: ZoneID("next")).count == 2)
        try await phone.expectSettled()
    }

    @Test func `a move to where the store is already is an ordinary round`() async throws {
        let phone = try await Device.withNotes(cloud)
        let before = try phone.store.read { try $0.reader.log.head }
        #expect(try await phone.engine.move(to: "notes").pushedRecords == 0)
        #expect(try phone.store.read { try $0.reader.log.head } == before)
    }

    @Test func `a store that was never synchronised can be moved`() async throws {
        let phone = try Device(cloud)
        try await phone.note("a", "one")
        try await phone.engine.move(to: "next")
        #expect(titles("next") == ["a": "one"])
        #expect(cloud.zones() == [ZoneID("next")])
    }

    @Test func `a move that was begun can be taken back`() async throws {
        let phone = try await Device.withNotes(cloud)
        try await phone.note("a", "edited")
        let user = try #require(phone.service.user)
        try await phone.store.withLogWriter {
            try ZoneMove($0).begin(to: "next", user: user)
            _ = try ZoneLoss($0, in: 0).forgetService(after: nil, rowsMax: 1)
        }
        let error = await syncError { try await phone.sync() }
        #expect(error?.code == .invalidConfiguration)
        #expect(error?.message.contains("'next'") == true)
        try await phone.engine.move(to: "notes")
        #expect(try phone.engine.boundZone() == "notes")
        #expect(titles("notes") == ["a": "edited", "b": "one"])
        #expect(cloud.zones() == [scenarioZone])
        #expect(try phone.engine.conflicts() == [])
        try await expectFresh(phone, in: "notes")
    }

    @Test func `an engine with the new name carries a move through`() async throws {
        let phone = try await Device.withNotes(cloud)
        let user = try #require(phone.service.user)
        try await phone.store.withLogWriter { try ZoneMove($0).begin(to: "next", user: user) }
        let named = await phone.restarted { $0.zoneName = "next" }
        try await named.sync()
        #expect(titles("next") == ["a": "one", "b": "one"])
        #expect(try named.engine.boundZone() == "next")
        try await expectFresh(named, in: "next")
    }

    @Test func `how far a move has come is told`() async throws {
        let phone = try Device(cloud) { $0.recordsPerPass = 2 }
        for index in 0..<7 { try await phone.note("n\(index)", "one") }
        try await phone.sync()
        let recorder = EventRecorder(phone.engine)
        try await phone.engine.move(to: "next")
        await phone.engine.stop()
        let steps = await recorder.all().compactMap { event -> Int? in
            guard case .moving(let records, 7) = event else { return nil }
            return records
        }
        #expect(steps == [2, 4, 6, 7])
    }

    // MARK: Another user

    @Test func `another user's store is refused unless it is adopted`() async throws {
        let phone = try await Device.withNotes(cloud)
        try await phone.note("a", "edited")
        phone.service.switchUser(to: "eve")
        let refusal = await syncError { try await phone.engine.move(to: "next") }
        #expect(refusal?.serviceError?.code == .accountChanged)
        #expect(cloud.records(in: ZoneID("next"), user: "eve") == [])
        try await phone.engine.move(to: "notes", adoptsUser: true)
        #expect(try phone.engine.boundUser() == "eve")
        #expect(titles("notes", user: "eve") == ["a": "edited", "b": "one"])
        #expect(titles("notes") == ["a": "one", "b": "one"])
        try await phone.expectSettled()
    }

    @Test func `evicted records of another user keep the store from being adopted`() async throws {
        let phone = try await Device.withNotes(cloud)
        try await phone.store.write { try $0.evict(Note.ID("b")) }
        phone.service.switchUser(to: "eve")
        let error = await syncError { try await phone.engine.move(to: "notes", adoptsUser: true) }
        #expect(error?.code == .invalidConfiguration)
        #expect(error?.message.contains("fetchAgain") == true)
        #expect(cloud.records(in: scenarioZone, user: "eve") == [])
    }
}
