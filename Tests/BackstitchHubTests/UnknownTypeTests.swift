import Backstitch
import BackstitchCore
import BackstitchSync
import BackstitchTesting
import CloudKitWire
import Foundation
import LMDB
import TestBudget
import Testing

@testable import BackstitchHub
@testable import BackstitchHubCore
@testable import CloudKitRecordService

@Entity("Film") private struct OldFilm: Equatable {
    var id = ID()
    var title: String
}

@Entity("Film") private struct NewFilm: Equatable {
    var id = ID()
    var title: String
    var seen: Date?
    var ratings: [Double] = []
}

/// The client of a version that does not know two of the protocol's types yet.
private struct OlderClient: ForwardingService {
    let service: any RecordService

    func zoneChanges(
        in zone: ZoneID, since token: String?, limit: Int, fields: Set<String>?, types: Set<String>?
    ) async throws(ServiceError) -> ZoneChangesPage {
        var page = try await service.zoneChanges(
            in: zone, since: token, limit: limit, fields: fields, types: types)
        for index in page.records.indices {
            page.records[index].fields = page.records[index].fields.mapValues { value in
                switch value {
                case .timestamp(let milliseconds):
                    .unknown(UnknownValue(typeName: "TIMESTAMP", json: "\(milliseconds)"))
                case .list: .unknown(UnknownValue(typeName: "DOUBLE_LIST", json: "[1.5,2]"))
                default: value
                }
            }
        }
        return page
    }
}

/// Values of types that a client does not know: they go through it unharmed.
@Suite(.budgeted) struct UnknownTypeTests {
    private static let zone = ZoneID("Films")
    private static let span = #"{"unit":"s","value":[1.50,{"b":2,"a":null}]}"#

    private func engine(_ store: Store, _ service: any RecordService) -> SyncEngine {
        SyncEngine(
            store: store, service: service,
            configuration: SyncConfiguration(zoneName: Self.zone.zoneName, syncOnSave: false))
    }

    /// What the hub has in the fields of a film, as text.
    private func fields(_ fixture: HubFixture, _ zone: ZoneID = Self.zone) async throws -> String {
        let reply: RecordsResponse = try await fixture.call(
            .lookupRecords,
            LookupRecordsRequest(
                records: [.init(recordName: "f")], zoneID: WireZoneID(zone.zoneName)))
        guard case .value(let record)? = reply.records.first else { return "\(reply.records)" }
        return String(decoding: WireRecord.fieldsBody(record.fields), as: UTF8.self)
    }

    /// A film with a duration, made by a newer client.
    private func makeFilm(_ fixture: HubFixture, _ service: CloudKitRecordService) async throws {
        try await service.createZone(Self.zone)
        let results = try await service.modifyRecords(
            [
                .create(
                    recordName: "f", recordType: "Film",
                    fields: [
                        "title": .string("one"),
                        "span": .unknown(UnknownValue(typeName: "DURATION", json: Self.span)),
                    ])
            ], in: Self.zone, atomic: true)
        guard case .saved? = results.first else {
            Issue.record("\(results)")
            return
        }
        #expect(
            try await fields(fixture)
                == #"{"span":{"value":\#(Self.span),"type":"DURATION"},"#
                + #""title":{"value":"one","type":"STRING"}}"#)
    }

    @Test func `a value of an unknown type survives everything and goes back as it came`()
        async throws
    {
        let fixture = try await HubFixture()
        let server = try HubServer(fixture.hub)
        let service = try CloudKitRecordService(fixture.configuration(at: server.url))
        try await makeFilm(fixture, service)
        let store = try Store.inMemory(schema: StoreSchema(OldFilm.self))
        let engine = engine(store, service)
        try await engine.sync()
        let edited =
            #"{"span":{"value":\#(Self.span),"type":"DURATION"},"#
            + #""title":{"value":"two","type":"STRING"}}"#
        // An edit sends what it changes; compaction and rebuild keep the rest.
        try await store.write { try $0.save(OldFilm(id: "f", title: "two")) }
        try await engine.sync()
        #expect(try await fields(fixture) == edited)
        try await store.compact(.keepUnsyncedOnly)
        #expect(try await store.rebuild().isIdentical)
        #expect(try store.verify().problems == [])
        var lines = ""
        try store.export { lines += String(decoding: $0, as: UTF8.self) }
        #expect(lines.contains(#"{"unknown":{"typeName":"DURATION","json":"#))
        // Where the zone is lost, all of the record is made again.
        try await service.deleteZone(Self.zone)
        try await engine.sync()
        try await engine.sync()
        #expect(try await fields(fixture) == edited)
        // And so it is in another zone.
        try await engine.move(to: "Next")
        #expect(try await fields(fixture, ZoneID("Next")) == edited)
        #expect(try engine.conflicts() == [])
        #expect(try engine.parked() == [])
        await engine.stop()
        await server.stop()
    }

    @Test func `a value that is nested as deep as a request may be reaches other devices`()
        async throws
    {
        let fixture = try await HubFixture()
        let server = try HubServer(fixture.hub)
        let service = try CloudKitRecordService(fixture.configuration(at: server.url))
        try await service.createZone(Self.zone)
        // The body, its operations, one of them, its record, the fields and the field are around it.
        let depth = JSONParser.depthMax - 6
        for (name, depth) in [("deepest", depth), ("deeper", depth + 1)] {
            let json = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
            let fields: NamedFields = [
                "title": .string("one"),
                "span": .unknown(UnknownValue(typeName: "SPAN", json: json)),
            ]
            let results = try? await service.modifyRecords(
                [.create(recordName: name, recordType: "Film", fields: fields)], in: Self.zone,
                atomic: true)
            guard case .saved? = results?.first else {
                #expect(name == "deeper")
                continue
            }
            #expect(name == "deepest")
        }
        let store = try Store.inMemory(schema: StoreSchema(OldFilm.self))
        try await engine(store, service).sync()
        #expect(try store.read { try $0.fetch(OldFilm.self) }.map(\.title) == ["one"])
        await server.stop()
    }

    @Test func `a conflict keeps the service's value of an unknown type`() async throws {
        let fixture = try await HubFixture()
        let service = try CloudKitRecordService(
            fixture.configuration(), client: DirectClient(fixture.hub))
        try await makeFilm(fixture, service)
        let store = try Store.inMemory(schema: StoreSchema(OldFilm.self))
        let engine = SyncEngine(
            store: store, service: service,
            configuration: SyncConfiguration(
                zoneName: Self.zone.zoneName, conflictPolicy: .clientWins, syncOnSave: false))
        try await engine.sync()
        guard case .found(let record)? = try await service.lookUpRecords(["f"], in: Self.zone).first
        else {
            Issue.record("There is no such record.")
            return
        }
        _ = try await service.modifyRecords(
            [
                .update(
                    recordName: "f", recordType: "Film", changeTag: record.changeTag,
                    fields: [
                        "title": .string("theirs"),
                        "span": .unknown(UnknownValue(typeName: "DURATION", json: "7")),
                    ])
            ], in: Self.zone, atomic: true)
        try await store.write { try $0.save(OldFilm(id: "f", title: "mine")) }
        #expect(try await engine.sync().conflicts == 1)
        #expect(
            try await fields(fixture)
                == #"{"span":{"value":7,"type":"DURATION"},"title":{"value":"mine","type":"STRING"}}"#
        )
        await engine.stop()
    }

    @Test func `a type that a later version knows appears without another fetch`() async throws {
        let fixture = try await HubFixture()
        let server = try HubServer(fixture.hub)
        let service = try CloudKitRecordService(fixture.configuration(at: server.url))
        try await service.createZone(Self.zone)
        _ = try await service.modifyRecords(
            [
                .create(
                    recordName: "f", recordType: "Film",
                    fields: [
                        "title": .string("one"), "seen": .timestamp(milliseconds: 5_000),
                        "ratings": .list([.double(1.5), .double(2)]),
                    ])
            ], in: Self.zone, atomic: true)
        let folder = FileManager.default.temporaryDirectory.path + "/unknown-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        do {
            let store = try Store(at: folder, schema: StoreSchema(OldFilm.self))
            let engine = engine(store, OlderClient(service: service))
            try await engine.sync()
            #expect(
                try store.read { try $0.fetch(OldFilm.self) } == [OldFilm(id: "f", title: "one")])
            await engine.stop()
            store.close()
        }
        let store = try Store(at: folder, schema: StoreSchema(NewFilm.self))
        try await store.prepareIndexes()
        let film = NewFilm(
            id: "f", title: "one", seen: Date(timeIntervalSince1970: 5), ratings: [1.5, 2])
        #expect(try store.read { try $0.fetch(NewFilm.self) } == [film])
        let seen = Date(timeIntervalSince1970: 5)
        #expect(
            try store.read { try $0.fetch(Query<NewFilm>().where(#Predicate { $0.seen == seen })) }
                == [film])
        let engine = engine(store, service)
        #expect(try engine.pending().pendingRecords == 0)
        #expect(try await engine.sync().pushedRecords == 0)
        #expect(try store.verify().problems == [])
        #expect(try await store.rebuild().isIdentical)
        await engine.stop()
        await server.stop()
        store.close()
    }

    @Test func `the address of a file is not kept, and the rest of it is`() throws {
        var asset = ServiceAsset(fileChecksum: "c", size: 3)
        asset.downloadURL = "https://example.org/once"
        let expected = UnknownValue(typeName: "ASSETID", json: #"{"fileChecksum":"c","size":3}"#)
        func stored(_ value: ServiceValue) -> RecordValue {
            ServiceMapping.storedValue(value, of: AttributeType?.none).value
        }
        #expect(stored(.asset(asset)) == .unknown(expected))
        let list = UnknownValue(
            typeName: "ASSETID_LIST", json: #"[{"fileChecksum":"c","size":3}]"#)
        #expect(stored(.list([.asset(asset)])) == .unknown(list))
        asset.downloadURL = nil
        #expect(try ServiceValue.unknown(expected).checked(field: "f") == .asset(asset))
        #expect(try ServiceValue.unknown(list).checked(field: "f") == .list([.asset(asset)]))
        #expect(throws: ServiceError.self) {
            try ServiceValue.unknown(UnknownValue(typeName: "X", json: "{")).checked(field: "f")
        }
    }

    @Test func `a type with an impossible name is refused for its record alone`() async throws {
        let fixture = try await HubFixture()
        let service = try CloudKitRecordService(
            fixture.configuration(), client: DirectClient(fixture.hub))
        try await service.createZone(Self.zone)
        let results = try await service.modifyRecords(
            ["_x", "x y", "ok"].map { name in
                .create(
                    recordName: "r" + name.prefix(2).replacing(" ", with: ""), recordType: "T",
                    fields: ["f": .unknown(UnknownValue(typeName: name, json: "1"))])
            }, in: Self.zone, atomic: false)
        let saved = results.map { result in
            if case .saved = result { true } else { false }
        }
        #expect(saved == [false, false, true])
    }
}
