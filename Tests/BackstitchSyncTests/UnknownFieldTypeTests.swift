import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchTesting
import Foundation
import TestBudget
import Testing

@Entity("Item") private struct TimedItem: Equatable {
    var id = ID()
    var title: String
    var due: Date?
    @Attribute(.indexed) var rank: Int = 7
    var tags: [String] = []
}

@Entity("Item") private struct ListedItem: Equatable {
    var id = ID()
    var title: String
    @Relationship(onDelete: .nullify) var list: TaskList.ID?
}

/// Values of types that an application's version does not know.
@Suite(.budgeted) struct UnknownFieldTypeTests {
    let cloud = SimulatedCloud()
    let folder: TemporaryFolder
    private let span = UnknownValue(typeName: "DURATION", json: #"{"value":1.50}"#)
    private let due = UnknownValue(typeName: "TIMESTAMP", json: "5000")

    init() throws { folder = try TemporaryFolder() }

    private func device(_ name: String = "s", _ schema: StoreSchema = StoreSchema(OldItem.self))
        throws
        -> Device
    {
        Device(store: try folder.store(name, schema), service: cloud.connection(device: name))
    }

    /// A device that has an item with values of two unknown types, and one of a list.
    private func old() async throws -> Device {
        let old = try device()
        try await old.sync()
        try cloud.write(
            "i", type: "Item",
            fields: [
                "title": .string("one"), "span": .unknown(span), "due": .unknown(due),
                "rank": .unknown(UnknownValue(typeName: "INT64", json: "3")),
                "tags": .unknown(UnknownValue(typeName: "STRING_LIST", json: #"["a","b"]"#)),
            ], in: scenarioZone)
        #expect(try await old.sync().pulledRecords == 1)
        return old
    }

    private let spans = #"span: DURATION({"value":1.50})"#

    @Test func `they survive an edit, a conflict, compaction, a rebuild and an export`()
        async throws
    {
        let old = try await old()
        try await old.save(OldItem(id: "i", title: "mine"))
        try cloud.write("i", type: "Item", fields: ["title": .string("theirs")], in: scenarioZone)
        #expect(try await old.sync().conflicts == 1)
        try await old.save(OldItem(id: "i", title: "mine again"))
        try await old.sync()
        #expect(remote(cloud).first?.contains(spans) == true)
        try await old.store.compact(.keepUnsyncedOnly)
        #expect(try old.store.verify().problems == [])
        var lines = ""
        try old.store.export { lines += String(decoding: $0, as: UTF8.self) }
        let copy = try folder.store("copy", StoreSchema(OldItem.self))
        var parts = [Array(lines.utf8)]
        let report = try await copy.importRecords(
            addsAttributes: true, from: { parts.popLast() })
        #expect(report.failed == 0)
        let other = Device(store: copy, service: cloud.connection(device: "copy")) {
            $0.zoneName = "other"
        }
        try await other.sync()
        #expect(
            cloud.record(named: "i", in: ZoneID("other"))?.fields
                == cloud.record(named: "i", in: scenarioZone)?.fields)
        try await old.expectSettled()
    }

    @Test(arguments: [true, false])
    func `they go back as they came where the record is made again`(moves: Bool) async throws {
        let old = try await old()
        let fields = cloud.record(named: "i", in: scenarioZone)?.fields
        if moves {
            try await old.engine.move(to: "next")
        } else {
            cloud.endZone(scenarioZone, as: .deleted)
            try await old.sync()
        }
        let zone = ZoneID(moves ? "next" : scenarioZone.zoneName)
        #expect(cloud.record(named: "i", in: zone)?.fields == fields)
        #expect(try old.engine.conflicts() == [])
        try await old.expectSettled()
    }

    @Test func `those of types that a later version knows appear without another fetch`()
        async throws
    {
        let first = try await old()
        await first.engine.stop()
        first.store.close()
        let new = try device("s", StoreSchema(TimedItem.self))
        try await new.store.prepareIndexes()
        let item = TimedItem(
            id: "i", title: "one", due: Date(timeIntervalSince1970: 5), rank: 3, tags: ["a", "b"])
        #expect(try new.all(TimedItem.self) == [item])
        let ranked = Query<TimedItem>().where(#Predicate { $0.rank == 3 })
        #expect(try new.store.read { try $0.fetch(ranked) } == [item])
        #expect(try new.store.read { try $0.explain(ranked) }.description.contains("rank"))
        #expect(try new.engine.pending().pendingRecords == 0)
        #expect(try await new.sync().pushedRecords == 0)
        // An edit is one of the typed value, and what is unknown stays.
        var edited = item
        edited.rank = 4
        try await new.save(edited)
        try await new.sync()
        let fields = cloud.record(named: "i", in: scenarioZone)?.fields
        #expect(fields?["rank"] == .int64(4))
        #expect(fields?["span"] == .unknown(span))
        #expect(fields?["due"] == .unknown(due))
        try await new.expectSettled()
    }

    @Test func `a reference that a later version knows points to a record of its own zone`()
        async throws
    {
        let old = try device()
        let list = UnknownValue(typeName: "REFERENCE", json: #"{"recordName":"l"}"#)
        try await old.pull("i", "Item", ["title": .string("one"), "list": .unknown(list)])
        await old.engine.stop()
        old.store.close()
        let new = try device("s", StoreSchema(ListedItem.self, TaskList.self))
        try await new.store.prepareIndexes()
        let key = try new.all(ListedItem.self).first?.list?.key
        #expect(key == RecordKey(RecordName("l"), zone: Device.list))
    }

    @Test func `an edit that waits while a type becomes known is pushed`() async throws {
        let first = try await old()
        try await first.save(OldItem(id: "i", title: "edited"))
        await first.engine.stop()
        first.store.close()
        let new = try device("s", StoreSchema(TimedItem.self))
        try await new.store.prepareIndexes()
        #expect(try new.find(TimedItem.ID("i"))?.rank == 3)
        #expect(try await new.sync().conflicts == 0)
        #expect(cloud.record(named: "i", in: scenarioZone)?.fields["title"] == .string("edited"))
        #expect(cloud.record(named: "i", in: scenarioZone)?.fields["span"] == .unknown(span))
        try await new.expectSettled()
    }

    @Test func `one under an attribute of another type keeps the record from being read`()
        async throws
    {
        let new = try device("s", StoreSchema(TimedItem.self))
        try await new.sync()
        try cloud.write(
            "i", type: "Item", fields: ["title": .string("one"), "due": .unknown(span)],
            in: scenarioZone)
        try cloud.write(
            "j", type: "Item", fields: ["title": .string("two"), "due": .unknown(due)],
            in: scenarioZone)
        try await new.sync()
        #expect(try new.all(TimedItem.self).map(\.due) == [Date(timeIntervalSince1970: 5)])
        #expect(throws: StoreError.self) { try new.find(TimedItem.ID("i")) }
        try await new.expectSettled()
    }

    @Test func `a tag that a newer version gave is told from damage`() throws {
        for (byte, part) in [(UInt8(15), "newer version"), (16, "damaged")] {
            // One field of one byte, its tag, behind that count.
            let bytes: [UInt8] = [1, 1, 0, 0, 1, 0, 0, 1, byte]
            try bytes.withUnsafeBytes { bytes in
                let fields = try #require(PackedFields(bytes))
                #expect {
                    _ = try fields.value(at: 0)
                } throws: { "\($0)".contains(part) }
            }
        }
    }

    @Test func `values that the format can't hold are refused`() throws {
        for value in [
            UnknownValue(typeName: "", json: "1"), UnknownValue(typeName: "T", json: "{"),
            UnknownValue(typeName: String(repeating: "t", count: 256), json: "1"),
        ] {
            #expect(throws: (any Error).self) { try RecordValue.unknown(value).saved(as: nil) }
        }
        #expect(try RecordValue.unknown(span).saved(as: nil) == .unknown(span))
        let coded = try JSONEncoder().encode(RecordValue.unknown(span))
        #expect(try JSONDecoder().decode(RecordValue.self, from: coded) == .unknown(span))
    }
}
