import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchTesting
import Foundation
import TestBudget
import Testing

/// What leads to a round besides saves and calls.
@Suite(.budgeted) struct TriggerTests {
    let cloud = SimulatedCloud()
    let clock = ManualClock()

    private func device(poll: Int64? = nil) throws -> Device {
        let clock = clock
        return try Device(cloud) {
            $0.clock = clock
            $0.syncOnSave = true
            $0.pollMilliseconds = poll
            $0.containerID = "iCloud.org.example.notes"
        }
    }

    private func untilAsleep() async {
        while clock.sleeperCount == 0, !Task.isCancelled { await Task.yield() }
    }

    /// A notification about a part of the service.
    private func notification(
        _ kind: String = "fet", container: String = "iCloud.org.example.notes",
        subscription: String = "notes-changes", zone: String? = "notes"
    ) throws -> SyncNotification {
        let named = zone.map { ",\"zid\":\"\($0)\",\"zoid\":\"_user\"" } ?? ""
        let json = """
            {"aps":{"content-available":1},"ck":{"nid":"7","cid":"\(container)",
             "\(kind)":{"sid":"\(subscription)"\(named)}}}
            """
        return try #require(SyncNotification(json: Data(json.utf8)))
    }

    @Test func `a notification of the zone leads to a pull at once`() async throws {
        let phone = try device()
        let events = RoundEnds(phone.engine)
        try await phone.engine.start()
        _ = await events.next()
        try cloud.write("a", type: "Note", fields: ["title": .string("t")], in: scenarioZone)
        #expect(await phone.engine.handle(notification: try notification()))
        #expect(await events.next() == "finished notification")
        #expect(try phone.titles() == ["a": "t"])
        await phone.engine.stop()
    }

    @Test func `notifications of others are told apart`() async throws {
        let phone = try device()
        let engine = phone.engine
        #expect(await engine.handle(notification: try notification("met", zone: nil)))
        await engine.stop()
        let other = try device().engine
        let foreign = [
            try notification(container: "iCloud.org.example.other"),
            try notification(subscription: "photos-changes"),
            try notification(zone: "photos"),
        ]
        for notification in foreign { #expect(await !other.handle(notification: notification)) }
        #expect(clock.sleeperCount == 0)
    }

    @Test(arguments: ["", "[]", "{}", #"{"ck":7}"#, #"{"aps":{}}"#, "\u{0}"])
    func `what is no notification of such a service is none`(text: String) {
        #expect(SyncNotification(json: Data(text.utf8)) == nil)
    }

    @Test func `a pruned notification counts as a hint`() async throws {
        let pruned = try #require(SyncNotification(json: Data(#"{"ck":{"p":1}}"#.utf8)))
        let phone = try device()
        let events = RoundEnds(phone.engine)
        #expect(await phone.engine.handle(notification: pruned))
        #expect(await events.next() == "finished notification")
        await phone.engine.stop()
    }

    @Test func `a notification during a round leads to another one`() async throws {
        let phone = try device()
        let engine = phone.engine
        let events = RoundEnds(engine)
        let first = OneTime()
        let told = try notification()
        phone.service.beforeReply = { info throws(ServiceError) in
            guard info.kind == .databaseChanges, first.take() else { return }
            // The reply does not have this yet.
            try cloud.write("a", type: "Note", fields: ["title": .string("t")], in: scenarioZone)
            await engine.handle(notification: told)
        }
        try await engine.start()
        #expect(await events.next() == "finished start")
        #expect(await events.next() == "finished notification")
        #expect(try phone.titles() == ["a": "t"])
        await engine.stop()
    }

    @Test func `the timer leads to rounds, each a while after the last`() async throws {
        let phone = try device(poll: 60_000)
        let events = RoundEnds(phone.engine)
        try await phone.engine.start()
        _ = await events.next()
        for _ in 0..<3 {
            await untilAsleep()
            let now = clock.milliseconds
            #expect(clock.nextWakeMilliseconds == now + 60_000)
            clock.advanceToNextWake()
            #expect(await events.next() == "finished timer")
        }
        await phone.engine.stop()
    }

    @Test func `without a network nothing is tried, and all is pushed when it is back`()
        async throws
    {
        let phone = try device()
        let engine = phone.engine
        let events = RoundEnds(engine)
        await engine.connectivityChanged(isReachable: false)
        #expect(engine.status == .offline)
        try await engine.start()
        try await phone.note("a", "one")
        #expect(await syncError { try await engine.sync() }?.code == .offline)
        #expect(engine.status == .offline)
        #expect(cloud.requestCounts == [:] && clock.sleeperCount == 0)
        #expect(try engine.pending().pendingRecords == 1)
        await engine.connectivityChanged(isReachable: true)
        #expect(await events.next() == "finished connectivity")
        #expect(remote(cloud) == ["Note a {title: one}"])
        await engine.stop()
    }

    // It was idle then, though nothing would be exchanged.
    @Test func `a blocked engine is blocked when the network is back`() async throws {
        let phone = try device()
        let engine = phone.engine
        phone.service.switchUser(to: nil)
        #expect(await syncError { try await phone.sync() }?.code == .blocked)
        await engine.connectivityChanged(isReachable: false)
        #expect(engine.status == .offline)
        await engine.connectivityChanged(isReachable: true)
        #expect(engine.status == .blocked(.notAuthenticated))
        await engine.stop()
    }

    @Test func `a network that goes during a round leaves the engine offline`() async throws {
        let phone = try device()
        let engine = phone.engine
        let events = RoundEnds(engine)
        phone.service.inject(ScriptedFault(.lostRequest, for: .untilCleared))
        phone.service.beforeRequest = nil
        try await phone.note("a", "one")
        try await engine.start()
        #expect(await events.next() == "failed unreachable")
        await engine.connectivityChanged(isReachable: false)
        #expect(engine.status == .offline)
        while clock.sleeperCount > 0, !Task.isCancelled { await Task.yield() }
        phone.service.endFaults()
        await engine.connectivityChanged(isReachable: true)
        #expect(await events.next() == "finished connectivity")
        #expect(remote(cloud).count == 1)
        await engine.stop()
    }
}
