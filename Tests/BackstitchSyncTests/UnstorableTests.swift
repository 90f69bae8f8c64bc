import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchTesting
import TestBudget
import Testing

/// Records that a store can't hold, beside others.
@Suite(.budgeted) struct UnstorableTests {
    private static let long = String(repeating: "x", count: _FieldWriter.fieldBytesMax + 1)

    private let cloud = SimulatedCloud(
        limits: ServiceLimits(recordBytes: 4_000_000, requestBytes: 8_000_000))
    private let clock = ManualClock()

    private func device() throws -> Device {
        let clock = clock
        return try Device(cloud) {
            $0.clock = clock
            $0.pollMilliseconds = nil
        }
    }

    private func write(_ name: String, _ title: String) throws {
        try cloud.write(name, type: "Note", fields: ["title": .string(title)], in: scenarioZone)
    }

    private func missing(_ phone: Device) throws -> Int {
        try phone.store.info().undeliveredRecords
    }

    @Test func `one on a page is told, counted and noted, and the others arrive`() async throws {
        let phone = try device()
        let events = EventRecorder(phone.engine)
        try await phone.sync()
        for (name, title) in [("a", "one"), ("big", Self.long), ("c", "one")] {
            try write(name, title)
        }
        let report = try await phone.sync()
        #expect(report.pulledRecords == 2)
        #expect(report.rejectedRecords == 1 && report.undeliveredRecords == 1)
        #expect(try phone.titles() == ["a": "one", "c": "one"])
        #expect(try missing(phone) == 1)
        // A version that can be stored ends the note.
        try write("big", "small")
        #expect(try await phone.sync().rejectedRecords == 0)
        #expect(try phone.titles()["big"] == "small")
        #expect(try missing(phone) == 0)
        try await phone.expectEqualToFresh(cloud)
        await phone.engine.stop()
        #expect(await events.kinds().count { $0 == "rejected" } == 1)
    }

    @Test func `look-ups that find it again leave the note, and wait longer each time`()
        async throws
    {
        let phone = try device()
        try await phone.sync()
        try write("big", Self.long)
        try await phone.sync()
        func lookUps(after milliseconds: Int64) async throws -> Int {
            clock.advance(milliseconds: milliseconds)
            cloud.clearRequests()
            let report = try await phone.sync()
            let count = cloud.requests.count { $0.kind == .lookup }
            #expect(report.rejectedRecords == count && report.undeliveredRecords == count)
            #expect(try missing(phone) == 1)
            return count
        }
        for wait in [1_000, 2_000, 4_000] as [Int64] {
            #expect(try await lookUps(after: wait - 1) == 0)
            #expect(try await lookUps(after: 1) == 1)
        }
        #expect(try phone.titles() == [:])
    }

    @Test func `a full fetch neither ends what is here nor forgets it`() async throws {
        let phone = try device()
        try await phone.sync()
        try write("a", "one")
        try await phone.sync()
        try write("a", Self.long)
        try await phone.engine.resync(from: .server)
        #expect(try phone.titles() == ["a": "one"])
        #expect(try missing(phone) == 1)
    }

    @Test func `an evicted record stays evicted until it can be stored`() async throws {
        let phone = try device()
        try await phone.note("a", "one")
        try await phone.sync()
        try await phone.store.write { try $0.evict(Note.ID("a")) }
        try write("a", Self.long)
        #expect(try await phone.engine.fetchAgain([Note.ID("a")]) == 0)
        try write("a", "two")
        #expect(try await phone.engine.fetchAgain([Note.ID("a")]) == 1)
        #expect(try phone.titles() == ["a": "two"])
    }

    @Test func `a conflict with one parks the record after one push`() async throws {
        let phone = try device()
        try await phone.note("a", "one")
        try await phone.sync()
        try await phone.note("a", "mine")
        try await phone.note("b", "mine")
        try write("a", Self.long)
        cloud.clearRequests()
        let report = try await phone.sync()
        #expect(cloud.requests.count { $0.kind == .modify } == 1)
        #expect(report.parkedRecords == 1 && report.rejectedRecords == 1)
        let parked = try phone.engine.parked()
        #expect(parked.map(\.record.name) == ["a"])
        #expect(parked.first?.reason.contains("can't be stored here") == true)
        #expect(cloud.record(named: "b", in: scenarioZone) != nil)
        #expect(try missing(phone) == 1)
        // A version that can be stored is merged as any other.
        try write("a", "theirs")
        try await phone.sync()
        #expect(try phone.titles()["a"] == "theirs")
        #expect(try missing(phone) == 0)
    }

    /// Pages with changes that a test makes.
    private struct ChangedService: ForwardingService {
        let service: any RecordService
        let change: @Sendable (inout ZoneChangesPage) -> Void

        func zoneChanges(
            in zone: ZoneID, since token: String?, limit: Int, fields: Set<String>?,
            types: Set<String>?
        ) async throws(ServiceError) -> ZoneChangesPage {
            var page = try await service.zoneChanges(
                in: zone, since: token, limit: limit, fields: fields, types: types)
            change(&page)
            return page
        }
    }

    private func engine(
        of phone: Device, _ change: @escaping @Sendable (inout ZoneChangesPage) -> Void
    ) async -> SyncEngine {
        await phone.engine.stop()
        return SyncEngine(
            store: phone.store, service: ChangedService(service: phone.service, change: change),
            configuration: phone.engine.configuration)
    }

    @Test func `one whose name no record can have is counted, and can't be noted`() async throws {
        let phone = try device()
        try await phone.sync()
        let engine = await engine(of: phone) { page in
            for index in page.records.indices { page.records[index].recordName = "_a" }
        }
        try write("a", "one")
        let report = try await engine.sync()
        #expect(report.rejectedRecords == 1 && report.undeliveredRecords == 0)
        #expect(try missing(phone) == 0)
        await engine.stop()
    }

    @Test func `a page with the end and the next life of a record leaves the latter`()
        async throws
    {
        let phone = try device()
        try await phone.sync()
        try write("a", "one")
        try await phone.sync()
        let engine = await engine(of: phone) { page in
            guard !page.records.isEmpty else { return }
            page.deletions.append(ServiceDeletion(recordName: "a", recordType: "Note"))
        }
        try write("a", "two")
        try await engine.sync()
        #expect(try phone.titles() == ["a": "two"])
        await engine.stop()
    }
}
