import Backstitch
import BackstitchTesting
import Foundation
import TestBudget
import Testing
import Threading

@Entity private struct Memo: Equatable {
    var id = ID()
    var text: String
}

@Suite(.budgeted) struct MonitorTests {
    private struct Refused: Error {}

    private let events = Locked<[MonitorEvent]>([])
    private let clock = ManualClock(milliseconds: 1_700_000_000_000)

    private func makeStore() throws -> Store {
        try Store.inMemory(
            schema: StoreSchema(Memo.self),
            configuration: StoreConfiguration(
                clock: clock, monitor: { [events] event in events.withLock { $0.append(event) } }))
    }

    @Test func `a commit tells how many operations it has`() async throws {
        let store = try makeStore()
        try await store.write { tx in
            try tx.save(Memo(text: "one"))
            try tx.save(Memo(text: "two"))
        }
        store.close()
        let commits = events.withLock { $0 }.filter { $0.name == "store.commit" }
        #expect(commits.last?.counts == ["operations": 2, "writes": 1])
        #expect(commits.last?.error == nil && commits.last?.date == clock.now)
    }

    @Test func `a write that fails tells the code of its error`() async throws {
        let store = try makeStore()
        await #expect(throws: StoreError.self) {
            try await store.write { try $0.save(Memo(id: "_no", text: "x")) }
        }
        await #expect(throws: Refused.self) { try await store.write { _ in throw Refused() } }
        store.close()
        let errors = events.withLock { $0 }.compactMap(\.error)
        #expect(errors == ["invalidName", "thrown"])
    }

    @Test func `a round tells what it did, and what it failed of`() async throws {
        let store = try makeStore()
        try await store.save(Memo(text: "secret words"))
        let service = SimulatedCloud().connection(device: "a")
        let engine = SyncEngine(
            store: store, service: service,
            configuration: SyncConfiguration(zoneName: "Memos", syncOnSave: false))
        try await engine.sync()
        service.failNext(with: .serviceUnavailable)
        _ = try? await engine.sync()
        await engine.stop()
        let all = events.withLock { $0 }
        let rounds = all.filter { $0.name == "sync.round" }
        #expect(rounds.first?.counts["pushed"] == 1 && rounds.first?.error == nil)
        #expect(rounds.last?.error == "unreachable.serviceUnavailable")
        #expect(all.allSatisfy { !$0.jsonLine.contains("secret") })
    }

    @Test func `an event is one line of JSON`() throws {
        let date = Date(timeIntervalSince1970: 1_700_000_000.25)
        let event = MonitorEvent(
            "sync.round", date: date, since: date.addingTimeInterval(-1.5),
            counts: ["pushed": 2], error: "blocked")
        #expect(
            event.jsonLine
                == #"{"counts":{"pushed":2},"error":"blocked","name":"sync.round","#
                + #""seconds":1.5,"time":"2023-11-14T22:13:20.250Z"}"#)
        #expect(
            MonitorEvent("sync.conflict", date: date).jsonLine
                == #"{"name":"sync.conflict","time":"2023-11-14T22:13:20.250Z"}"#)
    }

    @Test func `counters are text for Prometheus`() {
        let counters = MonitorEvent.Counters()
        let date = Date(timeIntervalSince1970: 10)
        counters.add(
            MonitorEvent(
                "store.commit", date: date, since: date.addingTimeInterval(-0.5),
                counts: ["operations": 3, "writes": 1]))
        counters.add(
            MonitorEvent(
                "store.commit", date: date, since: date, counts: ["operations": 0, "writes": 1],
                error: "full"))
        #expect(
            counters.text == """
                # TYPE backstitch_events_total counter
                backstitch_events_total{event="store.commit"} 2
                # TYPE backstitch_event_seconds_total counter
                backstitch_event_seconds_total{event="store.commit"} 0.5
                # TYPE backstitch_event_failures_total counter
                backstitch_event_failures_total{event="store.commit",code="full"} 1
                # TYPE backstitch_event_counts_total counter
                backstitch_event_counts_total{event="store.commit",of="operations"} 3
                backstitch_event_counts_total{event="store.commit",of="writes"} 2

                """)
    }
}
