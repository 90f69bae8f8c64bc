import Backstitch
import BackstitchSimulation
import BackstitchTesting
import TestBudget
import Testing

@Entity struct Link {
    var id = ID()
    var label: String
    @Relationship(onDelete: .deny) var partner: Link.ID?
}

/// Bugs that simulated seeds found, told in a few steps each.
@Suite(.budgeted) struct FoundBySimulationTests {
    private let cloud = SimulatedCloud()
    private let zone = ZoneID("Notes")

    private func device(
        policy: ConflictPolicy = .serverWins, isAtomic: Bool = false, recordsPerPass: Int = 10_000
    ) throws -> (Store, SimulatedRecordService, SyncEngine) {
        let store = try Store.inMemory(schema: StoreSchema(Link.self))
        let service = cloud.connection(device: "device")
        let engine = SyncEngine(
            store: store, service: service,
            configuration: SyncConfiguration(
                zoneName: "Notes", conflictPolicy: policy, syncOnSave: false,
                atomicRequests: isAtomic, recordsPerPass: recordsPerPass))
        return (store, service, engine)
    }

    private func label(_ name: String) -> ServiceValue? {
        cloud.record(named: name, in: zone)?.fields["label"]
    }

    // A record that needs itself is created without the reference, which follows as an update. An
    // edit during the create made the engine count the reference as sent, and it was lost.
    @Test func `a reference left out of a create survives an edit during the create`()
        async throws
    {
        let (store, service, engine) = try device()
        let id = Link.ID("self")
        try await store.write { try $0.save(Link(id: id, label: "first", partner: id)) }
        service.beforeReply = { [service, store] info throws(ServiceError) in
            guard info.kind == .modify else { return }
            service.beforeReply = nil
            do {
                try store.write { try $0.save(Link(id: id, label: "second", partner: id)) }
            } catch {
                throw ServiceError(.network, "\(error)")
            }
        }
        _ = try await engine.sync()
        _ = try await engine.sync()
        #expect(label("self") == .string("second"))
        #expect(
            cloud.record(named: "self", in: zone)?.fields["partner"]
                == .reference(ServiceReference(recordName: "self", action: .validate)))
        #expect(try engine.pending().pendingRecords == 0)
    }

    // A record ended on the service and began again here; a window of one record then folded the
    // operations of its earlier life, and pushed the old values as a new record.
    @Test func `operations of an earlier life are not pushed again`() async throws {
        let (store, service, engine) = try device(policy: .clientWins, recordsPerPass: 1)
        let id = Link.ID("again")
        try await store.write { try $0.save(Link(id: id, label: "old")) }
        _ = try await engine.sync()
        try cloud.remove("again", in: zone)
        try await store.write { try $0.save(Link(id: id, label: "new")) }
        service.failNext(.modify, with: .recordPermissionDenied)
        _ = try await engine.sync()
        #expect(try engine.parked().count == 1)
        cloud.clearRequests()
        try await engine.retryParked()
        _ = try await engine.sync()
        let sent = cloud.requests.flatMap(\.modifications)
        #expect(
            sent == [
                .create(
                    recordName: "again", recordType: "Link", fields: ["label": .string("new")])
            ])
    }

    // In an atomic request a delete that is refused took down the very updates that it was to wait
    // for, round after round.
    @Test func `a refused delete does not keep an atomic request from going through`()
        async throws
    {
        let (store, _, engine) = try device(isAtomic: true)
        let needed = Link.ID("needed")
        let other = Link.ID("other")
        try await store.write { tx in
            try tx.save(Link(id: needed, label: "a"))
            try tx.save(Link(id: other, label: "a"))
        }
        _ = try await engine.sync()
        try await store.write { tx in
            try tx.delete(needed)
            try tx.save(Link(id: other, label: "b"))
        }
        try cloud.write(
            "needs", type: "Link",
            fields: [
                "label": .string("c"),
                "partner": .reference(ServiceReference(recordName: "needed", action: .validate)),
            ], in: zone)
        _ = try await engine.sync()
        #expect(label("other") == .string("b"))
        #expect(try engine.parked().map(\.record.name) == [needed.name])
        try await engine.discardParked(engine.parked())
        #expect(try store.read { try $0.find(Link.self, needed) }?.label == "a")
        #expect(try engine.conflicts().count == 1)
    }

    // The service lost a record while it was edited here. The sweep kept it, the edit was taken back
    // before the push, and nothing was left that would have told that the service lacks it.
    @Test func `a record that is gone does not stay for edits that were taken back`()
        async throws
    {
        let (store, _, engine) = try device()
        let id = Link.ID("gone")
        try await store.write { try $0.save(Link(id: id, label: "a")) }
        _ = try await engine.sync()
        try cloud.remove("gone", in: zone)
        cloud.forgetTombstones(of: zone)
        try await store.write { try $0.save(Link(id: id, label: "b")) }
        try await store.write { try $0.save(Link(id: id, label: "a")) }
        _ = try await engine.sync()
        #expect(try store.read { try $0.find(Link.self, id) } == nil)
        #expect(try engine.conflicts().isEmpty)
        #expect(try store.verify().isConsistent)
    }

    // The service refused the first edits of a record, which were all that a small window had of it.
    // They can't be parked alone, and the same window came for ever.
    @Test
    func `edits behind a window remedy the refusal of the first ones`() async throws {
        let (store, _, engine) = try device(recordsPerPass: 1)
        let id = Link.ID("linked")
        try await store.write { try $0.save(Link(id: id, label: "first")) }
        _ = try await engine.sync()
        try await store.write { try $0.delete(id) }
        try await store.write { try $0.save(Link(id: "other", label: "other")) }
        try await store.write { try $0.save(Link(id: id, label: "again")) }
        try cloud.write(
            "referrer", type: "Link",
            fields: [
                "label": .string("theirs"),
                "partner": .reference(
                    ServiceReference(recordName: "linked", action: .validate)),
            ], in: zone)
        _ = try await engine.sync()
        #expect(label("linked") == .string("again"))
        #expect(label("other") == .string("other"))
        #expect(try engine.pending().pendingRecords == 0)
    }
}
