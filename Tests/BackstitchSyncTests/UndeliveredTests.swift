import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchTesting
import TestBudget
import Testing

@testable import BackstitchSync

/// One record that the service can't deliver, or not take, beside others.
@Suite(.budgeted) struct UndeliveredTests {
    private let cloud = SimulatedCloud()
    private let clock = ManualClock()

    private func device(onSave: Bool = false) throws -> Device {
        let clock = clock
        return try Device(cloud) {
            $0.clock = clock
            $0.syncOnSave = onSave
            $0.pollMilliseconds = nil
        }
    }

    /// A device that has met a page without the note `bad`.
    private func deviceMissing(_ name: String = "bad") async throws -> Device {
        let phone = try device()
        try await phone.sync()
        for name in ["a", name, "c"] { try write(name, "one") }
        hold(phone, name)
        try await phone.sync()
        return phone
    }

    /// A device that has the note `bad` as it was, and has met a page without its change.
    private func deviceBehind() async throws -> Device {
        let phone = try device()
        try await phone.sync()
        try write("bad", "one")
        try await phone.sync()
        try write("bad", "two")
        hold(phone)
        try await phone.sync()
        phone.service.clearFaults()
        return phone
    }

    private func write(_ name: String, _ title: String) throws {
        try cloud.write(name, type: "Note", fields: ["title": .string(title)], in: scenarioZone)
    }

    private func hold(_ phone: Device, _ name: String = "bad") {
        phone.service.inject(
            ScriptedFault(.recordError, on: .zoneChanges, for: .untilCleared, recordName: name))
        phone.service.inject(
            ScriptedFault(.recordError, on: .lookup, for: .untilCleared, recordName: name))
    }

    private func missing(_ phone: Device) throws -> Int {
        try phone.store.info().undeliveredRecords
    }

    /// Rounds with time between them, until nothing is missing.
    private func syncUntilWhole(_ phone: Device) async throws {
        for _ in 0..<4 {
            clock.advance(milliseconds: 300_000)
            try await phone.sync()
        }
        #expect(try missing(phone) == 0)
    }

    @Test func `the rest of the page arrives, what waits is pushed, and the record is told`()
        async throws
    {
        let phone = try device()
        let events = EventRecorder(phone.engine)
        try await phone.sync()
        for name in ["a", "bad", "c"] { try write(name, "one") }
        hold(phone)
        try await phone.note("mine", "here")
        let report = try await phone.sync()
        #expect(report.undeliveredRecords == 1)
        #expect(try phone.titles() == ["a": "one", "c": "one", "mine": "here"])
        #expect(remote(cloud).contains("Note mine {title: here}"))
        #expect(try missing(phone) == 1)
        // Later pages go on, too.
        try write("d", "two")
        try await phone.sync()
        #expect(try phone.titles()["d"] == "two")
        phone.service.clearFaults()
        try await syncUntilWhole(phone)
        #expect(try phone.titles()["bad"] == "one")
        try await phone.expectEqualToFresh(cloud)
        await phone.engine.stop()
        let told = await events.all().compactMap { event -> String? in
            guard case .undelivered(let name, let error) = event else { return nil }
            return "\(name) \(error.code)"
        }
        #expect(told.first == "bad serviceUnavailable")
        #expect(Set(told).count == 1)
    }

    @Test func `look-ups wait longer after each failure, and a restart does not shorten that`()
        async throws
    {
        var phone = try await deviceMissing()
        func lookUps(after milliseconds: Int64) async throws -> Int {
            clock.advance(milliseconds: milliseconds)
            cloud.clearRequests()
            try await phone.sync()
            return cloud.requests.count { $0.kind == .lookup }
        }
        #expect(try await lookUps(after: 999) == 0)
        #expect(try await lookUps(after: 1) == 1)
        phone = await phone.restarted()
        #expect(try await lookUps(after: 1_999) == 0)
        #expect(try await lookUps(after: 1) == 1)
        #expect(try await lookUps(after: 3_999) == 0)
        #expect(try await lookUps(after: 1) == 1)
        for _ in 0..<9 { _ = try await lookUps(after: 300_000) }
        #expect(try await lookUps(after: 299_999) == 0)
        #expect(try await lookUps(after: 1) == 1)
        #expect(try missing(phone) == 1)
    }

    @Test func `a clock that is put back does not put the look-up off for long`() async throws {
        clock.advance(milliseconds: 100_000_000_000)
        let phone = try await deviceMissing()
        await phone.engine.stop()
        phone.service.clearFaults()
        let early = ManualClock()
        let next = await phone.restarted { $0.clock = early }
        try await next.sync()
        #expect(try next.titles()["bad"] == "one")
    }

    @Test func `an engine that goes on by itself looks it up`() async throws {
        let phone = try device(onSave: true)
        try await phone.engine.start()
        for name in ["a", "bad"] { try write(name, "one") }
        phone.service.inject(
            ScriptedFault(.recordError, on: .zoneChanges, for: .untilCleared, recordName: "bad"))
        let events = RoundEnds(phone.engine)
        try await phone.sync()
        #expect(await events.next() == "finished manual")
        #expect(try phone.titles() == ["a": "one"])
        while try missing(phone) > 0 {
            while clock.sleeperCount == 0, !Task.isCancelled { await Task.yield() }
            clock.advanceToNextWake()
            #expect(await events.next() == "finished retry")
        }
        #expect(try phone.titles() == ["a": "one", "bad": "one"])
        await phone.engine.stop()
    }

    @Test func `one answer of a replica that lags behind does not settle it`() async throws {
        let phone = try await deviceBehind()
        clock.advance(milliseconds: 1_000)
        phone.service.failNext(.lookup, with: .staleRead)
        try await phone.sync()
        #expect(try phone.titles() == ["bad": "one"])
        #expect(try missing(phone) == 1)
        try await syncUntilWhole(phone)
        #expect(try phone.titles() == ["bad": "two"])
    }

    @Test func `a record that is gone by then ends here once two look-ups say so`() async throws {
        let phone = try await deviceBehind()
        // The feed does not tell of the end.
        phone.service.inject(ScriptedFault(.stuckFeed, on: .zoneChanges, for: .untilCleared))
        try cloud.remove("bad", in: scenarioZone)
        clock.advance(milliseconds: 2_000)
        try await phone.sync()
        #expect(try phone.titles() == ["bad": "one"])
        clock.advance(milliseconds: 300_000)
        try await phone.sync()
        #expect(try phone.titles() == [:])
        #expect(try missing(phone) == 0)
        phone.service.clearFaults()
        try await phone.sync()
        try await phone.expectEqualToFresh(cloud)
    }

    @Test(arguments: ["change", "end", "full fetch"])
    func `it is missed no more once something else settles it`(by event: String) async throws {
        let phone = try await deviceMissing()
        phone.service.clearFaults()
        switch event {
        case "change": try write("bad", "two")
        case "end": try cloud.remove("bad", in: scenarioZone)
        default:
            try write("d", "one")
            phone.service.failNext(.zoneChanges, with: .tokenExpired)
        }
        try await phone.sync()
        #expect(try missing(phone) == 0)
        try await phone.sync()
        try await phone.expectEqualToFresh(cloud)
    }

    @Test func `a push that the service takes settles it`() async throws {
        let phone = try device()
        try await phone.note("bad", "one")
        try await phone.sync()
        hold(phone)
        // The echo of the push is what can't be delivered.
        try await phone.sync()
        #expect(try missing(phone) == 1)
        phone.service.clearFaults()
        try await phone.note("bad", "two")
        try await phone.sync()
        #expect(try missing(phone) == 0)
        #expect(remote(cloud) == ["Note bad {title: two}"])
        try await phone.expectSettled()
    }

    @Test func `a full fetch that can't deliver a record does not take it for deleted`()
        async throws
    {
        let phone = try device()
        try await phone.sync()
        for name in ["a", "bad"] { try write(name, "one") }
        try await phone.sync()
        hold(phone)
        try await phone.engine.resync(from: .server)
        #expect(try phone.titles() == ["a": "one", "bad": "one"])
        phone.service.clearFaults()
        try await syncUntilWhole(phone)
        try await phone.expectEqualToFresh(cloud)
    }

    @Test func `one record that is not taken does not keep the others, and is told`() async throws {
        let phone = try device()
        try await phone.sync()
        let events = EventRecorder(phone.engine)
        for name in ["a", "bad", "c"] { try await phone.note(name, "one") }
        phone.service.inject(
            ScriptedFault(.recordError, on: .modify, for: .untilCleared, recordName: "bad"))
        #expect(await syncError { try await phone.sync() }?.code == .unreachable)
        #expect(remote(cloud) == ["Note a {title: one}", "Note c {title: one}"])
        #expect(try phone.engine.parked().isEmpty)
        phone.service.clearFaults()
        try await phone.sync()
        #expect(remote(cloud).count == 3)
        await phone.engine.stop()
        #expect(await events.kinds().contains("undelivered"))
    }

    @Test func `names that no record here can have are left alone`() async throws {
        let phone = try device()
        try await phone.sync()
        let key = RecordKey(String(repeating: "x", count: 300))
        try await phone.store.withLogWriter { log in
            try UndeliveredRecords(log: log).note(
                ServiceError(.serviceUnavailable), of: key, now: 0)
        }
        #expect(try missing(phone) == 0)
    }
}
