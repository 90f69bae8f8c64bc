import Backstitch
import BackstitchCore
import BackstitchSync
import BackstitchTesting
import Foundation
import TestBudget
import Testing

@testable import BackstitchHub
@testable import CloudKitRecordService

@Entity("Slip") private struct Slip: Equatable {
    var id = ID()
    var text: String
}

/// An engine and a hub, over HTTP, with a proxy between them that answers in the hub's place.
@Suite(.budgeted) struct FaultProxyTests {
    private static let faults: [FaultProxy.Fault] =
        [302, 400, 403, 404, 405, 408, 409, 410, 412, 413, 422, 429, 451, 500, 502, 504].map {
            FaultProxy.Fault.page(status: $0)
        } + [
            .pageAfterwards(status: 502), .pageAfterwards(status: 200), .cut(bytes: 0),
            .cut(bytes: 40), .cut(bytes: 400),
        ]

    private static func device(
        _ service: CloudKitRecordService
    ) throws -> (Store, SyncEngine) {
        let store = try Store.inMemory(schema: StoreSchema(Slip.self))
        let engine = SyncEngine(
            store: store, service: service,
            configuration: SyncConfiguration(
                zoneName: "Slips", syncOnSave: false, clock: ManualClock()))
        return (store, engine)
    }

    /// The error of a round; nil if it ends well.
    private static func error(of engine: SyncEngine) async throws -> SyncError? {
        do {
            try await engine.sync()
            return nil
        } catch let error as SyncError {
            return error
        }
    }

    @Test(arguments: ["records/modify", "changes/zone", "changes/database"])
    func `no answer of a proxy parks a record, drops a token or loses an edit`(
        path: String
    ) async throws {
        let fixture = try await HubFixture()
        let server = try HubServer(fixture.hub)
        let proxy = try FaultProxy(before: server.url)
        let service = try CloudKitRecordService(fixture.configuration(at: proxy.url))
        let (store, engine) = try Self.device(service)
        // Another device, without the proxy, always has something new.
        let direct = try CloudKitRecordService(fixture.configuration(at: server.url))
        let (other, fresh) = try Self.device(direct)
        try await engine.sync()
        for (number, fault) in Self.faults.enumerated() {
            try await other.write { _ = try $0.save(Slip(id: Slip.ID("o\(number)"), text: "y")) }
            try await fresh.sync()
            try await store.write { _ = try $0.save(Slip(id: Slip.ID("s\(number)"), text: "x")) }
            proxy.fail(path, fault)
            if let error = try await Self.error(of: engine) {
                #expect(error.code == .unreachable || error.code == .blocked, "\(fault): \(error)")
            }
            #expect(proxy.faultsLeft == 0, "\(fault)")
            #expect(try engine.parked().isEmpty, "\(fault)")
            let zone = try #require(try store.info().zones.first)
            #expect(zone.hasToken && !zone.isFullFetch, "\(fault)")
            try await engine.sync()
            #expect(try engine.pending().pendingRecords == 0, "\(fault)")
        }
        try await fresh.sync()
        for store in [store, other] {
            #expect(try store.read { try $0.fetch(Slip.self).count } == 2 * Self.faults.count)
        }
        await engine.stop()
        await fresh.stop()
        await server.stop()
    }

    @Test func `a record that a proxy finds too large waits, and holds up no other`() async throws {
        let fixture = try await HubFixture()
        let server = try HubServer(fixture.hub)
        let proxy = try FaultProxy(before: server.url)
        let service = try CloudKitRecordService(fixture.configuration(at: proxy.url))
        let (store, engine) = try Self.device(service)
        try await engine.sync()
        try await store.write { transaction in
            for number in 0..<12 {
                let text = String(repeating: "x", count: number == 5 ? 9_000 : 10)
                _ = try transaction.save(Slip(id: Slip.ID("s\(number)"), text: text))
            }
        }
        proxy.refuseBodies(over: 4_000)
        for _ in 0..<2 {
            let error = try await Self.error(of: engine)
            #expect(error?.code == .unreachable)
            let message = error?.message ?? ""
            #expect(message.contains("a proxy") && message.contains(" bytes"))
            #expect(try engine.parked().isEmpty)
            #expect(try engine.pending().pendingRecords == 1)
        }
        proxy.refuseBodies(over: .max)
        let report = try await engine.sync()
        #expect(report.pushedRecords == 1)
        #expect(try engine.pending().pendingRecords == 0)
        await engine.stop()
        await server.stop()
    }
}
