import Backstitch
import BackstitchCore
import BackstitchLog
import BackstitchStore
import BackstitchTesting
import TestBudget
import Testing

@testable import BackstitchSync

/// A service of the shared database, beside one of the private database.
private final class SharedService: ForwardingService {
    let service: any RecordService
    let scope = DatabaseScope.shared
    private let other: any RecordService

    init(_ service: any RecordService, private other: any RecordService) {
        (self.service, self.other) = (service, other)
    }

    func service(for scope: DatabaseScope) -> (any RecordService)? {
        scope == .private ? other : self
    }
}

/// A store whose engine exchanges a zone beside the store's own.
@Suite(.budgeted) struct SeveralZonesTests {
    private static let list = ZoneID("list")
    private let cloud = SimulatedCloud()

    /// A device with both zones, which have been exchanged.
    private func device(
        _ name: String, configure: (inout SyncConfiguration) -> Void = { _ in }
    ) async throws -> Device {
        let device = try Device(cloud, name, configure: configure)
        let zone = try await device.engine.makeZone("list")
        #expect(zone == RecordID.Zone(slot: Device.list))
        try await device.sync()
        return device
    }

    /// A phone and a tablet with a note `a` in each zone.
    private func pair() async throws -> (phone: Device, tablet: Device) {
        let phone = try await device("phone")
        try await phone.note("a", "own")
        try await phone.put("a", "listed")
        try await phone.sync()
        return (phone, try await device("tablet"))
    }

    private func expectSame(
        _ devices: [Device], own: [String: String], listed: [String: String],
        _ location: SourceLocation = #_sourceLocation
    ) async throws {
        for _ in 0..<2 {
            for device in devices { try await device.sync() }
        }
        for device in devices {
            #expect(try device.titles() == own, sourceLocation: location)
            #expect(try device.titles(slot: Device.list) == listed, sourceLocation: location)
            #expect(try device.engine.conflicts().isEmpty, sourceLocation: location)
            try await device.expectSettled(location)
        }
    }

    private func short(_ notes: [String: String]) -> [String] {
        notes.sorted { $0.key < $1.key }.map { "Note \($0) {title: \($1)}" }
    }

    @Test func `each record goes to its zone`() async throws {
        let phone = try await device("phone")
        #expect(Set(cloud.zones()) == [scenarioZone, Self.list])
        try await phone.note("a", "own")
        try await phone.put("a", "listed")
        try await phone.put("b", "listed")
        let report = try await phone.sync()
        #expect(report.pushedRecords == 3)
        #expect(remote(cloud) == ["Note a {title: own}"])
        #expect(remote(cloud, in: Self.list) == short(["a": "listed", "b": "listed"]))
        try await phone.expectSettled()
    }

    @Test func `records of one name are told apart on each device`() async throws {
        let (phone, tablet) = try await pair()
        try await expectSame([tablet], own: ["a": "own"], listed: ["a": "listed"])
        try await phone.delete(Note.ID("a"))
        try await expectSame([phone, tablet], own: [:], listed: ["a": "listed"])
        try await tablet.note("a", "again")
        try await tablet.delete(Note.ID("a", in: RecordID.Zone(slot: Device.list)))
        try await expectSame([tablet, phone], own: ["a": "again"], listed: [:])
    }

    @Test func `a change in one zone arrives, and the other one is not asked`() async throws {
        let (phone, tablet) = try await pair()
        for device in [phone, tablet, phone, tablet] { try await device.sync() }
        try await phone.put("a", "new")
        try await phone.sync()
        cloud.clearRequests()
        try await tablet.sync()
        #expect(try tablet.titles(slot: Device.list) == ["a": "new"])
        let pulls = cloud.requests.filter { $0.kind == .zoneChanges }
        #expect(pulls.map(\.zone) == [Self.list])
        cloud.clearRequests()
        try await tablet.sync()
        #expect(cloud.requests.map(\.kind) == [.databaseChanges])
    }

    @Test(arguments: [true, false])
    func `tokens that expire concern their zone`(isOwn: Bool) async throws {
        let (phone, tablet) = try await pair()
        cloud.expireTokens(of: isOwn ? scenarioZone : Self.list)
        try await phone.note("b", "own")
        try await phone.put("b", "listed")
        try await expectSame(
            [phone, tablet], own: ["a": "own", "b": "own"], listed: ["a": "listed", "b": "listed"])
        cloud.expireDatabaseTokens()
        try await phone.put("c", "listed")
        try await expectSame(
            [phone, tablet], own: ["a": "own", "b": "own"],
            listed: ["a": "listed", "b": "listed", "c": "listed"])
    }

    @Test(arguments: [true, false])
    func `a zone that is lost is made again, and the other one stays`(isOwn: Bool) async throws {
        let (phone, tablet) = try await pair()
        cloud.endZone(isOwn ? scenarioZone : Self.list, as: .deleted)
        cloud.clearRequests()
        try await expectSame([phone, tablet], own: ["a": "own"], listed: ["a": "listed"])
        let pushed = cloud.requests.filter { $0.kind == .modify }
        #expect(Set(pushed.map(\.zone)) == [isOwn ? scenarioZone : Self.list])
    }

    @Test(arguments: [true, false])
    func `a zone that the user deleted waits for a decision, and the other one is exchanged`(
        isOwn: Bool
    ) async throws {
        let (phone, tablet) = try await pair()
        cloud.endZone(isOwn ? scenarioZone : Self.list, as: .deletedByUser)
        try await phone.note("b", "own")
        try await phone.put("b", "listed")
        let error = await syncError { try await phone.sync() }
        #expect(error?.code == .suspended)
        if isOwn {
            #expect(remote(cloud, in: Self.list) == short(["a": "listed", "b": "listed"]))
        } else {
            #expect(remote(cloud) == short(["a": "own", "b": "own"]))
        }
        let zones = try tablet.store.zones()
        #expect(zones.map(\.name) == ["notes", "list"])
        let states = try phone.store.zones().map { $0.suspension != nil }
        #expect(states == [isOwn, !isOwn])
    }

    @Test func `a zone that fails keeps no other one waiting`() async throws {
        let (phone, _) = try await pair()
        try await phone.note("b", "own")
        try await phone.put("b", "listed")
        phone.service.beforeRequest = { request throws(ServiceError) in
            guard request.zone == scenarioZone else { return }
            throw ServiceError(.zoneBusy, retryAfter: .seconds(100))
        }
        let error = await syncError { try await phone.sync() }
        #expect(error?.serviceError?.code == .zoneBusy)
        #expect(remote(cloud, in: Self.list) == short(["a": "listed", "b": "listed"]))
        #expect(try phone.store.zones().map { $0.retryDate != nil } == [true, false])
        phone.service.beforeRequest = nil
        try await phone.sync()
        #expect(remote(cloud) == short(["a": "own", "b": "own"]))
        #expect(try phone.store.zones().allSatisfy { $0.retryDate == nil })
    }

    @Test func `a zone with much to push lets another one exchange between its passes`()
        async throws
    {
        let phone = try await device("phone") { $0.recordsPerPass = 2 }
        for number in 0..<10 { try await phone.note("note \(number)", "own") }
        try await phone.put("b", "listed")
        cloud.clearRequests()
        try await phone.sync()
        let pushed = cloud.requests.filter { $0.kind == .modify }.map(\.zone)
        #expect(pushed.count == 6)
        #expect(pushed[1] == Self.list)
        try await phone.expectSettled()
    }

    @Test func `names that no zone can have are refused`() async throws {
        let phone = try Device(cloud)
        for name in ["", "_defaultZone", "notes", "ünique", String(repeating: "a", count: 256)] {
            let error = await syncError { _ = try await phone.engine.makeZone(name) }
            #expect(error?.code == .invalidConfiguration, "\(name)")
        }
        #expect(try phone.store.zones().count == 1)
    }

    @Test func `a zone has its place before the first round, and there are 253`() async throws {
        let phone = try Device(cloud)
        let zone = try await phone.engine.makeZone("zone 2")
        #expect(try await phone.engine.makeZone("zone 2") == zone)
        try await phone.save(Note(id: Note.ID("a", in: zone), title: "early"))
        for number in 3...254 { _ = try await phone.engine.makeZone("zone \(number)") }
        await #expect(throws: StoreError.self) { _ = try await phone.engine.makeZone("one more") }
        try await phone.sync()
        #expect(cloud.zones().count == 254)
        #expect(remote(cloud, in: ZoneID("zone 2")) == ["Note a {title: early}"])
    }

    @Test func `an engine of another database exchanges the store's own zone there, and no other`()
        async throws
    {
        let (phone, other) = (try Device(cloud), SimulatedCloud())
        _ = try await phone.engine.makeZone("list")
        await phone.engine.stop()
        let engine = SyncEngine(
            store: phone.store,
            service: SharedService(phone.service, private: other.connection(device: "phone")),
            configuration: phone.engine.configuration)
        try await phone.note("a", "own")
        try await phone.put("a", "listed")
        _ = try await engine.sync()
        #expect(remote(cloud) == ["Note a {title: own}"])
        #expect(cloud.zones() == [scenarioZone])
        #expect(other.zones() == [])
        let error = await syncError { _ = try await engine.makeZone("more") }
        #expect(error?.code == .invalidConfiguration)
    }

    @Test func `another device begins with what a zone has`() async throws {
        let (_, tablet) = try await pair()
        let (own, listed) = (try tablet.titles(), try tablet.titles(slot: Device.list))
        #expect(own == ["a": "own"])
        #expect(listed == ["a": "listed"])
    }
}
