import Backstitch
import BackstitchCore
import BackstitchLog
import BackstitchStore
import BackstitchTesting
import Foundation
import TestBudget
import Testing

@testable import BackstitchSync

/// The zones that a store has, and their figures.
@Suite(.budgeted) struct StoreZonesTests {
    private func addZone(
        _ name: String, owner: String? = nil, in database: DatabaseScope, to store: Store
    ) async throws -> RecordID.Zone {
        let slot = try await store.withLogWriter {
            $0.catalogChanges.addZone(named: name, owner: owner, in: database)
        }
        return RecordID.Zone(slot: try #require(slot))
    }

    @Test func `the own zone comes first, and has no name before the first round`() async throws {
        let phone = try Device(SimulatedCloud())
        var zones = try phone.store.zones()
        #expect(zones.map(\.zone) == [.own] && zones.map(\.name) == [nil])
        #expect(try phone.store.info().zones == [])
        #expect(try phone.store.zone(named: "notes") == nil)

        try await phone.note("a", "one")
        try await phone.sync()
        zones = try phone.store.zones()
        #expect(zones.map(\.name) == ["notes"] && zones.map(\.records) == [1])
        #expect(zones[0].isSetUp && zones[0].database == .private && zones[0].owner == nil)
        #expect(try phone.store.zone(named: "notes") == .own)
        #expect(try phone.store.info().zones == zones)
    }

    @Test func `zones are found by name and owner, and each has its own figures`() async throws {
        let phone = try await Device.withNotes(SimulatedCloud())
        let list = try await addZone("list", in: .private, to: phone.store)
        let shared = try await addZone("list", owner: "ada", in: .shared, to: phone.store)
        try await phone.store.write { transaction in
            for name in ["a", "c", "d"] {
                try transaction.save(Note(id: .init(name, in: list), title: "mine"))
            }
            try transaction.save(Note(id: .init("a", in: shared), title: "hers"))
        }
        #expect(try phone.store.zone(named: "list") == list)
        #expect(try phone.store.zone(named: "list", owner: "ada") == shared)
        #expect(try phone.store.zone(named: "list", owner: "bob") == nil)
        #expect(try phone.store.zone(named: "notes", owner: "ada") == nil)
        let zones = try phone.store.zones()
        #expect(zones.map(\.zone) == [.own, list, shared])
        #expect(zones.map(\.owner) == [nil, nil, "ada"])
        #expect(zones.map(\.database) == [.private, .private, .shared])
        #expect(zones.map(\.records) == [2, 3, 1])
        #expect(zones.map(\.pendingRecords) == [0, 3, 1])
        #expect(zones.map(\.isSetUp) == [true, false, false])

        try await phone.store.withLogWriter { log in
            var state = ZoneState()
            state.isSetUp = true
            state.suspension = .zonePurged
            state.retry = RetryDeadline(dueMilliseconds: 5_000, failures: 1, isAsked: true)
            try log.setMeta("sync:02", try state.sortedJSON())
            log.catalogChanges.endZone(shared.slot, at: log.head)
        }
        let left = try phone.store.zones()
        #expect(left.map(\.zone) == [.own, list])
        #expect(left[1].isSetUp && left[1].suspension == "zonePurged")
        #expect(left[1].retryDate?.timeIntervalSince1970 == 5)
        #expect(try phone.store.zone(named: "list", owner: "ada") == nil)
    }
}
