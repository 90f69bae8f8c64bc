import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchTesting
import TestBudget
import Testing

@Suite(.budgeted) struct CreateUpdateDeleteTests {
    let cloud = SimulatedCloud()

    @Test func `a record is inserted, updated and deleted`() async throws {
        let phone = try Device(cloud)
        try await phone.note("a", "one", body: "text")
        try await phone.sync()
        #expect(remote(cloud) == ["Note a {body: text, title: one}"])
        try await phone.note("a", "two")
        try await phone.sync()
        #expect(remote(cloud) == ["Note a {title: two}"])
        try await phone.delete(Note.ID("a"))
        try await phone.sync()
        #expect(remote(cloud) == [])
        try await phone.expectSettled()
    }

    @Test func `several writes of a record are one operation on the service`() async throws {
        let phone = try Device(cloud)
        try await phone.note("a", "one")
        try await phone.note("a", "two")
        try await phone.note("b", "never seen")
        try await phone.delete(Note.ID("b"))
        let report = try await phone.sync()
        #expect(report.pushedRecords == 1)
        #expect(remote(cloud) == ["Note a {title: two}"])
        try await phone.expectSettled()
    }

    @Test func `a change to a value and back is not pushed`() async throws {
        let phone = try Device(cloud)
        try await phone.note("a", "one")
        try await phone.sync()
        try await phone.note("a", "two")
        try await phone.note("a", "one")
        cloud.clearRequests()
        try await phone.sync()
        #expect(cloud.requestCounts[.modify] == nil)
        try await phone.expectSettled()
    }

    @Test func `only changed fields are sent, a removed value as null`() async throws {
        let phone = try Device(cloud)
        try await phone.note("a", "one", body: "text")
        try await phone.sync()
        let tag = cloud.record(named: "a", in: scenarioZone)?.changeTag ?? ""
        try await phone.note("a", "one")
        cloud.clearRequests()
        try await phone.sync()
        let sent = cloud.requests.filter { $0.kind == .modify }.flatMap(\.modifications)
        #expect(
            sent == [
                .update(
                    recordName: "a", recordType: "Note", changeTag: tag, fields: ["body": .null])
            ])
    }

    @Test func `a change of somebody else arrives`() async throws {
        let phone = try Device(cloud)
        try await phone.note("a", "one")
        try await phone.sync()
        try cloud.write("a", type: "Note", fields: ["title": .string("theirs")], in: scenarioZone)
        let report = try await phone.sync()
        #expect(report.changes.updated(Note.self) == ["a"])
        #expect(report.conflicts == 0)
        #expect(try phone.titles() == ["a": "theirs"])
        try await phone.expectSettled()
    }

    @Test func `a record that the service sends without a change changes nothing`() async throws {
        let phone = try Device(cloud)
        try await phone.note("a", "one")
        try await phone.sync()
        try cloud.write("a", type: "Note", fields: ["title": .string("one")], in: scenarioZone)
        let report = try await phone.sync()
        #expect(report.changes.isEmpty)
        #expect(report.pulledRecords == 1)
        try await phone.note("a", "two")
        let second = try await phone.sync()
        #expect(second.conflicts == 0)
        #expect(remote(cloud) == ["Note a {title: two}"])
    }

    @Test func `an older version of a record does not replace a newer one`() async throws {
        let phone = try Device(cloud)
        try await phone.note("a", "one")
        try await phone.sync()
        try cloud.write("a", type: "Note", fields: ["title": .string("two")], in: scenarioZone)
        try await phone.sync()
        try cloud.write("b", type: "Note", fields: ["title": .string("b")], in: scenarioZone)
        phone.service.failNext(with: .staleRead)
        try await phone.sync()
        #expect(try phone.titles()["a"] == "two")
        try await phone.sync()
        #expect(try phone.titles() == ["a": "two", "b": "b"])
    }

    @Test func `a delete of somebody else arrives`() async throws {
        let phone = try Device(cloud)
        try await phone.note("a", "one")
        try await phone.note("b", "one")
        try await phone.sync()
        try cloud.remove("a", in: scenarioZone)
        let report = try await phone.sync()
        #expect(report.changes.deleted(Note.self) == ["a"])
        #expect(try phone.titles() == ["b": "one"])
        try await phone.expectSettled()
    }

    @Test func `the own change comes back without effect`() async throws {
        let phone = try Device(cloud)
        try await phone.note("a", "one")
        try await phone.sync()
        let head = try phone.store.read { try $0.lastSequence }
        let report = try await phone.sync()
        #expect(report.changes.isEmpty && report.pushedRecords == 0)
        #expect(try phone.store.read { try $0.lastSequence } == head)
    }

    @Test func `a round with nothing to do leaves the store alone`() async throws {
        let phone = try Device(cloud)
        try await phone.sync()
        try await phone.sync()
        cloud.clearRequests()
        try await phone.sync()
        #expect(cloud.requestCounts == [.databaseChanges: 1])
    }

    @Test func `a record is deleted and created again with the same id`() async throws {
        let phone = try Device(cloud)
        let laptop = try Device(cloud, "laptop")
        try await phone.note("a", "one", body: "text")
        try await phone.sync()
        try await laptop.sync()
        try await phone.delete(Note.ID("a"))
        try await phone.note("a", "again")
        try await phone.sync()
        #expect(remote(cloud) == ["Note a {title: again}"])
        try await phone.delete(Note.ID("a"))
        try await phone.sync()
        try await phone.note("a", "third")
        try await phone.sync()
        try await laptop.sync()
        #expect(try laptop.titles() == ["a": "third"])
        #expect(remote(cloud) == ["Note a {title: third}"])
        for device in [phone, laptop] { try await device.expectSettled() }
    }

    @Test func `a cascading delete goes to the service, referrers first`() async throws {
        let phone = try Device(cloud)
        let laptop = try Device(cloud, "laptop")
        let list = TaskList(id: "list", title: "Home")
        try await phone.save(list)
        for name in ["s1", "s2"] {
            try await phone.save(Step(id: Step.ID(name), title: name, list: "list"))
        }
        try await phone.sync()
        try await laptop.sync()
        try await phone.save(TaskList(id: "list", title: "Edited first"))
        try await phone.delete(list.id)
        cloud.clearRequests()
        try await phone.sync()
        let names = cloud.requests.flatMap(\.modifications).map(\.recordName)
        #expect(Set(names.prefix(2)) == ["s1", "s2"] && names.last == "list")
        #expect(remote(cloud) == [])
        try await laptop.sync()
        #expect(try laptop.all(Step.self) == [] && laptop.all(TaskList.self) == [])
    }

    @Test func `five thousand records are pushed and pulled`() async throws {
        let phone = try Device(cloud) { $0.recordsPerPass = 700 }
        let laptop = try Device(cloud, "laptop")
        try await phone.store.write { tx in
            for number in 0..<5_000 {
                try tx.save(Note(id: Note.ID("n\(number)"), title: "\(number)"))
            }
        }
        #expect(try await phone.sync().pushedRecords == 5_000)
        #expect(try await laptop.sync().pulledRecords == 5_000)
        #expect(try laptop.store.read { try $0.count(Note.self) } == 5_000)
        try await phone.expectSettled()
    }
}
