import Backstitch
import BackstitchCore
import BackstitchLog
import BackstitchStore
import BackstitchSync
import BackstitchTesting
import TestBudget
import Testing

/// Whatever happens to the store's own zone, records of its other zones stay as they are, also those that have the
/// name of an own one.
@Suite(.budgeted) struct OtherZoneSweepTests {
    private static let slot: UInt8 = 2

    private enum Event: CaseIterable {
        case fullFetch, loss, erasingReset, reset, resyncFromHere, resyncFromService, erasingResume,
            move
    }

    private let cloud = SimulatedCloud()

    /// A phone with two notes in its own zone, which the service has, and two of another zone, one of them with
    /// the name of an own one.
    private func phone() async throws -> Device {
        let phone = try await Device.withNotes(cloud)
        for name in ["a", "list"] { try await phone.pulled(name, "theirs") }
        return phone
    }

    /// The other zone's notes: title, change tag, and whether anything waits.
    private func others(_ phone: Device) throws -> [String] {
        try phone.store.read { transaction in
            let reader = transaction.reader
            let table = try #require(reader.catalog.table(named: "Note"))
            return try phone.titles(slot: Self.slot).sorted { $0.key < $1.key }.map { name, title in
                let row = try reader.row(
                    table.number, RecordKey(RecordName(name), zone: Self.slot))
                return "\(name) \(title) \(row?.changeTag ?? "") \(row?.isDirty == true)"
            }
        }
    }

    private func happen(_ event: Event, to phone: Device) async throws {
        switch event {
        case .fullFetch: cloud.expireTokens(of: scenarioZone)
        case .loss: cloud.endZone(scenarioZone, as: .deleted)
        case .erasingReset: try await phone.engine.resetLocal(keepsUnsynced: false)
        case .reset: try await phone.engine.resetLocal()
        case .resyncFromHere: try await phone.engine.resync(from: .local)
        case .resyncFromService: try await phone.engine.resync(from: .server)
        case .erasingResume:
            try await phone.engine.destroyZone()
            try await phone.engine.resume(after: .erase)
        case .move: try await phone.engine.move(to: "next")
        }
    }

    @Test(arguments: Event.allCases)
    private func `records of another zone stay as they are`(event: Event) async throws {
        let phone = try await phone()
        let before = try others(phone)
        #expect(before == ["a theirs z1 false", "list theirs z1 false"])
        try await happen(event, to: phone)
        try await phone.sync()
        #expect(try others(phone) == before)
        let zone = event == .move ? ZoneID("next") : scenarioZone
        let names = cloud.records(in: zone).map(\.recordName)
        #expect(names == (event == .erasingResume ? [] : ["a", "b"]))
        #expect(try phone.store.verify().problems == [])
        #expect(try await phone.store.rebuild().isIdentical)
    }

    @Test func `an evicted record of another zone is not looked for where the own zone was`()
        async throws
    {
        let phone = try await phone()
        try await phone.store.write {
            _ = try $0.evict(Note.ID(key: RecordKey(RecordName("list"), zone: Self.slot)))
        }
        try await phone.engine.move(to: "next")
        let evicted = try phone.store.read {
            try RecordScan($0.reader).evictedKeys(in: Self.slot, limit: 10)
        }
        #expect(evicted == [RecordKey(RecordName("list"), zone: Self.slot)])
    }
}
