import BackstitchCore
import BackstitchSync
import BackstitchTesting
import Threading
import TestBudget
import Testing

@Suite(.budgeted) struct HookTests {
    @Test func `work runs between the arrival of a request and its application`() async throws {
        let fixture = try await Fixture()
        try await fixture.create("a")
        let update = fixture.update("a", ["title": .string("mine")])
        let (cloud, zone) = (fixture.cloud, fixture.zone)
        fixture.phone.beforeRequest = { info throws(ServiceError) in
            #expect(info.kind == .modify && info.modifications == [update])
            try cloud.write("a", type: "Note", fields: ["title": .string("theirs")], in: zone)
        }
        #expect(try await fixture.modify(update)?.code == .conflict)
    }

    @Test func `work runs between the application of a request and its reply`() async throws {
        let fixture = try await Fixture()
        let (cloud, zone) = (fixture.cloud, fixture.zone)
        fixture.phone.beforeReply = { _ throws(ServiceError) in
            #expect(cloud.record(named: "a", in: zone) != nil)
            try cloud.remove("a", in: zone)
        }
        #expect(try await fixture.modify(Fixture.creation("a"))?.isSaved == true)
        #expect(fixture.names == [])
    }

    @Test func `another device syncs while a request is in flight`() async throws {
        let fixture = try await Fixture()
        let (laptop, zone) = (fixture.laptop, fixture.zone)
        fixture.phone.beforeReply = { _ throws(ServiceError) in
            let page = try await laptop.zoneChanges(in: zone, since: nil, limit: 9, fields: nil)
            #expect(page.records.map(\.recordName) == ["a"])
        }
        try await fixture.create("a")
        #expect(fixture.cloud.requestCounts[.zoneChanges] == 1)
    }

    @Test func `what a hook throws is the answer`() async throws {
        let fixture = try await Fixture()
        fixture.phone.beforeRequest = { _ throws(ServiceError) in
            throw ServiceError(.quotaExceeded)
        }
        let thrown = await code { () async throws(ServiceError) in
            _ = try await fixture.modify([Fixture.creation("a")])
        }
        #expect(thrown == .quotaExceeded)
        #expect(fixture.names == [])
    }

    @Test func `subscribed devices are poked for the writes of others`() async throws {
        let fixture = try await Fixture()
        let (phonePokes, laptopPokes) = (Locked(0), Locked(0))
        fixture.phone.onPoke { _ in phonePokes.withLock { $0 += 1 } }
        fixture.laptop.onPoke { _ in laptopPokes.withLock { $0 += 1 } }
        try await fixture.create("a")
        #expect(laptopPokes.withLock { $0 } == 0)
        try await fixture.laptop.createSubscription("s", to: fixture.zone)
        try await fixture.phone.createSubscription("s", to: fixture.zone)
        try await fixture.create("b")
        #expect(laptopPokes.withLock { $0 } == 1)
        #expect(phonePokes.withLock { $0 } == 0)
        fixture.phone.failNext(with: .droppedPoke)
        try await fixture.create("c")
        #expect(laptopPokes.withLock { $0 } == 1)
        #expect(fixture.phone.faultCounts == [.droppedPoke: 1])
        try fixture.cloud.write("d", type: "Note", fields: [:], in: fixture.zone)
        #expect(laptopPokes.withLock { $0 } == 2)
        #expect(phonePokes.withLock { $0 } == 1)
    }
}
