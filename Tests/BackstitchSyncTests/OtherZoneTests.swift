import Backstitch
import BackstitchCore
import BackstitchLog
import BackstitchStore
import BackstitchTesting
import TestBudget
import Testing

@testable import BackstitchSync

/// Records of a zone beside the store's own, some of which have the name of an own record.
@Suite(.budgeted) struct OtherZoneTests {
    private let cloud = SimulatedCloud()

    @Test func `a record that arrives leaves the own one of its name as it is`() async throws {
        let phone = try await Device.withNotes(cloud)
        try await phone.pulled("a", "theirs")
        #expect(try phone.titles() == ["a": "one", "b": "one"])
        #expect(try phone.titles(slot: Device.list) == ["a": "theirs"])
        // Each zone has names of its own, for records of all types.
        try await phone.pull("b", "TaskList", ["title": .string("theirs")])
        #expect(try phone.titles() == ["a": "one", "b": "one"])
        #expect(try phone.all(TaskList.self).map(\.id.key.zone) == [Device.list])
        #expect(try phone.engine.pending().pendingRecords == 0)
    }

    @Test func `a record that ends leaves the own one of its name as it is`() async throws {
        let phone = try await Device.withNotes(cloud)
        try await phone.pulled("a", "theirs")
        let result = try await phone.store.withLogWriter { log in
            let merger = RecordMerger(log, policy: .serverWins, zone: Device.list)
            return try merger.mergeEnd(of: merger.key("a"), recordType: "Note")
        }
        #expect(result == .applied)
        #expect(try phone.titles() == ["a": "one", "b": "one"])
        #expect(try phone.titles(slot: Device.list) == [:])
    }

    @Test func `the copy of a conflict is a record of the zone of the conflict`() async throws {
        let phone = try await Device.withNotes(cloud)
        try await phone.pulled("list", "base")
        try await phone.put("list", "mine")
        try await phone.pull(
            "list", "Note", ["title": .string("theirs")], tag: "z2", at: 2, policy: .keepBoth)
        #expect(try phone.titles() == ["a": "one", "b": "one"])
        let titles = try phone.titles(slot: Device.list)
        #expect(titles["list"] == "theirs")
        #expect(titles.values.sorted() == ["mine", "theirs"])
    }

    @Test func `the copy of a conflict leaves references to another zone out`() async throws {
        let phone = try await Device.withNotes(cloud)
        try await phone.store.withLogWriter { log in
            let table = try #require(log.catalog.table(named: "Step"))
            log.fields.writer.reset()
            let values: [String: RecordValue] = [
                "title": .string("base"), "list": .reference(RecordKey("l")),
            ]
            for (name, value) in values {
                let field = try #require(table.attribute(named: name)?.field)
                try log.fields.writer.write(value, of: field)
            }
            log.fields.pack()
            try log.insertBody(
                origin: .remote, entity: table.number,
                key: RecordKey(RecordName("s"), zone: Device.list), previous: 0,
                stamp: SyncStamp(changeTag: "z1", modifiedMilliseconds: 1, acknowledgedThrough: 0))
        }
        var step = try #require(try phone.all(Step.self).first)
        #expect(step.list == "l")
        step.title = "mine"
        try await phone.save(step)
        try await phone.pull(
            "s", "Step", ["title": .string("theirs")], tag: "z2", at: 2, policy: .keepBoth)
        let copy = try #require(try phone.all(Step.self).first { $0.title == "mine" })
        #expect(copy.id != step.id && copy.id.key.zone == Device.list)
        #expect(copy.list == nil)
    }

    @Test func `a reference that arrives points to a record of its own zone`() async throws {
        let phone = try await Device.withNotes(cloud)
        // A record that is new here takes another way than one that is known.
        for (time, list) in [(Int64(1), "l"), (2, "m")] {
            let reference = ServiceReference(recordName: list, action: .deleteSelf)
            try await phone.pull(
                "s", "Step", ["title": .string("step"), "list": .reference(reference)],
                tag: "z\(time)", at: time)
            let key = try phone.all(Step.self).first?.list?.key
            #expect(key == RecordKey(RecordName(list), zone: Device.list))
        }
    }

    @Test func `an evicted record that is fetched again leaves the own one of its name evicted`()
        async throws
    {
        let phone = try await Device.withNotes(cloud)
        try await phone.store.write { _ = try $0.evict(Note.ID("a")) }
        let record = ServiceRecord(
            recordName: "a", recordType: "Note", changeTag: "z1", modifiedMilliseconds: 1,
            fields: ["title": .string("theirs")])
        let isBack = try await phone.store.withLogWriter { log in
            try RecordMerger(log, policy: .serverWins, zone: Device.list)
                .fetchAgain(record, takesOlder: true)
        }
        #expect(!isBack)
        #expect(try phone.titles() == ["b": "one"])
    }
}
