import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchTesting
import Foundation
import TestBudget
import Testing

@Suite(.budgeted) struct ReferenceScenarioTests {
    let cloud = SimulatedCloud()

    private func reference(_ name: String) -> ServiceValue {
        .reference(ServiceReference(recordName: name, action: .none))
    }

    private func writeChore(_ name: String, list: String) throws {
        try cloud.write(
            name, type: "Chore", fields: ["title": .string(name), "list": reference(list)],
            in: scenarioZone)
    }

    private func writeList(_ name: String) throws {
        try cloud.write(
            name, type: "TaskList", fields: ["title": .string(name)], in: scenarioZone)
    }

    @Test func `a child that arrives before its parent finds it later`() async throws {
        let phone = try Device(cloud)
        try await phone.sync()
        try writeChore("c", list: "l")
        try await phone.sync()
        #expect(try phone.find(Chore.ID("c"))?.list == "l")
        #expect(try phone.find(TaskList.ID("l")) == nil)
        try writeList("l")
        try await phone.sync()
        let restarted = await phone.restarted()
        try await restarted.sync()
        #expect(try restarted.find(TaskList.ID("l"))?.title == "l")
        try await restarted.expectSettled()
    }

    @Test func `pages split a family anywhere`() async throws {
        cloud.limits.recordsPerPage = 1
        let phone = try Device(cloud)
        try await phone.sync()
        for number in 0..<6 { try writeChore("c\(number)", list: "l\(number % 2)") }
        try writeList("l1")
        try writeList("l0")
        try await phone.sync()
        let chores = try phone.all(Chore.self)
        #expect(chores.count == 6)
        #expect(try chores.allSatisfy { try $0.list.map { try phone.find($0) != nil } == true })
        try await phone.expectSettled()
    }

    @Test func `some records of a family end before they were seen`() async throws {
        let phone = try Device(cloud)
        try await phone.sync()
        try writeList("a")
        try writeChore("b", list: "a")
        try writeChore("c", list: "b")
        try cloud.remove("b", in: scenarioZone)
        try await phone.sync()
        try cloud.remove("c", in: scenarioZone)
        try await phone.sync()
        #expect(try phone.all(Chore.self) == [])
        #expect(try phone.all(TaskList.self).map(\.title) == ["a"])
        try await phone.expectSettled()
    }

    @Test func `a parent and a child are pushed parent first, across batches`() async throws {
        cloud.limits.operationsPerRequest = 1
        let phone = try Device(cloud)
        try await phone.store.write { tx in
            try tx.save(Chore(id: "c", title: "c", list: "l"))
            try tx.save(TaskList(id: "l", title: "l", parent: "root"))
            try tx.save(TaskList(id: "root", title: "root", parent: nil))
        }
        try await phone.sync()
        #expect(
            remote(cloud) == [
                "Chore c {list: ->l, title: c}", "TaskList l {parent: ->root, title: l}",
                "TaskList root {title: root}",
            ])
        try await phone.expectSettled()
    }

    @Test(arguments: [1, 200])
    func `records that refer to each other in a circle reach the other device`(
        count: Int
    ) async throws {
        cloud.limits.operationsPerRequest = count
        let phone = try Device(cloud)
        let laptop = try Device(cloud, "laptop")
        try await phone.store.write { tx in
            try tx.save(TaskList(id: "a", title: "a", parent: "b"))
            try tx.save(TaskList(id: "b", title: "b", parent: "c"))
            try tx.save(TaskList(id: "c", title: "c", parent: "a"))
            try tx.save(TaskList(id: "self", title: "self", parent: "self"))
        }
        try await phone.sync()
        #expect(
            remote(cloud) == [
                "TaskList a {parent: ->b, title: a}", "TaskList b {parent: ->c, title: b}",
                "TaskList c {parent: ->a, title: c}", "TaskList self {parent: ->self, title: self}",
            ])
        try await laptop.sync()
        #expect(try laptop.all(TaskList.self) == phone.all(TaskList.self))
        for device in [phone, laptop] { try await device.expectSettled() }
    }

    @Test func `a reference to a record that is nowhere parks, and goes when it is there`()
        async throws
    {
        let phone = try Device(cloud)
        try await phone.save(Chore(id: "c", title: "c", list: "nowhere"))
        try await phone.note("n", "unrelated")
        #expect(try await phone.sync().parkedRecords == 1)
        #expect(remote(cloud) == ["Note n {title: unrelated}"])
        let parked = try #require(try phone.engine.parked().first)
        #expect(parked.record.entity == "Chore" && parked.reason.hasPrefix("referenceViolation"))
        try writeList("nowhere")
        try await phone.engine.retryParked([parked])
        try await phone.sync()
        #expect(remote(cloud).first == "Chore c {list: ->nowhere, title: c}")
        #expect(try phone.engine.parked() == [])
        try await phone.expectSettled()
    }

    @Test func `a record of another zone does not release what waits for one of its name`()
        async throws
    {
        let phone = try Device(cloud)
        try await phone.save(Chore(id: "c", title: "c", list: "list"))
        #expect(try await phone.sync().parkedRecords == 1)
        try await phone.store.withLogWriter { log in
            try log.marks.releaseReferrers(to: [RecordKey(RecordName("list"), zone: 2)])
        }
        #expect(try phone.engine.parked().count == 1)
        try await phone.store.withLogWriter { log in
            try log.marks.releaseReferrers(to: [RecordKey(RecordName("list"))])
        }
        #expect(try phone.engine.parked() == [])
    }

    @Test func `a child whose parent has to wait waits with it`() async throws {
        let phone = try Device(cloud)
        try await phone.save(TaskList(id: "l", title: "l", parent: nil))
        try await phone.save(Chore(id: "c", title: "c", list: "l"))
        phone.service.inject(ScriptedFault(.recordZoneBusy, recordName: "l"))
        #expect(await syncError { try await phone.sync() }?.code == .unreachable)
        #expect(try phone.engine.parked() == [])
        try await phone.sync()
        #expect(remote(cloud).count == 2)
        try await phone.expectSettled()
    }

    @Test(arguments: [ConflictPolicy.serverWins, .clientWins], [false, true])
    func `a child is moved there, then here`(
        policy: ConflictPolicy, isPulled: Bool
    ) async throws {
        let phone = try Device(cloud) { $0.conflictPolicy = policy }
        for name in ["l0", "l1", "l2"] {
            try await phone.save(TaskList(id: TaskList.ID(name), title: name, parent: nil))
        }
        try await phone.save(Chore(id: "c", title: "c", list: "l0"))
        try await phone.sync()
        try writeChore("c", list: "l1")
        if isPulled { try await phone.sync() }
        try await phone.save(Chore(id: "c", title: "c", list: "l2"))
        try await phone.sync()
        let list = policy == .serverWins && !isPulled ? "l1" : "l2"
        #expect(remote(cloud).first == "Chore c {list: ->\(list), title: c}")
        #expect(try phone.find(Chore.ID("c"))?.list == TaskList.ID(list))
        try await phone.expectSettled()
    }

    @Test(arguments: [ConflictPolicy.serverWins, .clientWins])
    func `a child is edited there and then moved here`(policy: ConflictPolicy) async throws {
        let phone = try Device(cloud) { $0.conflictPolicy = policy }
        for name in ["l0", "l1"] {
            try await phone.save(TaskList(id: TaskList.ID(name), title: name, parent: nil))
        }
        try await phone.save(Chore(id: "c", title: "c", list: "l0"))
        try await phone.sync()
        try cloud.write("c", type: "Chore", fields: ["title": .string("theirs")], in: scenarioZone)
        try await phone.save(Chore(id: "c", title: "c", list: "l1"))
        try await phone.sync()
        #expect(
            remote(cloud).first
                == (policy == .serverWins
                    ? "Chore c {list: ->l0, title: theirs}" : "Chore c {list: ->l1, title: c}"))
        try await phone.expectSettled()
    }

    @Test func `a child is moved to an unknown parent there`() async throws {
        let phone = try Device(cloud)
        try await phone.save(TaskList(id: "l", title: "l", parent: nil))
        try await phone.save(Chore(id: "c", title: "c", list: "l"))
        try await phone.sync()
        try writeChore("c", list: "unknown")
        try await phone.sync()
        #expect(try phone.find(Chore.ID("c"))?.list == "unknown")
        try await phone.delete(TaskList.ID("l"))
        try await phone.sync()
        try writeList("unknown")
        try await phone.sync()
        #expect(remote(cloud).count == 2)
        try await phone.expectSettled()
    }

    @Test func `a list is deleted here while a chore is added to it there`() async throws {
        let phone = try Device(cloud)
        try await phone.save(TaskList(id: "l", title: "l", parent: nil))
        try await phone.sync()
        try cloud.write(
            "c", type: "Chore",
            fields: [
                "title": .string("c"),
                "list": .reference(ServiceReference(recordName: "l", action: .validate)),
            ], in: scenarioZone)
        try await phone.delete(TaskList.ID("l"))
        try await phone.note("n", "unrelated")
        #expect(try await phone.sync().parkedRecords == 1)
        #expect(
            remote(cloud) == [
                "Chore c {list: ->l, title: c}", "TaskList l {title: l}",
                "Note n {title: unrelated}",
            ])
        try await phone.delete(Chore.ID("c"))
        try await phone.engine.retryParked()
        try await phone.sync()
        #expect(remote(cloud) == ["Note n {title: unrelated}"])
        try await phone.expectSettled()
    }

    @Test func `a list is deleted there while a step is added to it here`() async throws {
        let phone = try Device(cloud)
        try await phone.save(TaskList(id: "l", title: "l", parent: nil))
        try await phone.sync()
        try await phone.save(Step(id: "s", title: "s", list: "l"))
        try cloud.remove("l", in: scenarioZone)
        try await phone.sync()
        #expect(remote(cloud) == ["Step s {list: ->l, title: s}"])
        #expect(try phone.find(Step.ID("s"))?.list == "l")
        #expect(try phone.find(TaskList.ID("l")) == nil)
        try await phone.expectSettled()
    }

    @Test func `a chore is moved here to a list that is deleted there`() async throws {
        let phone = try Device(cloud)
        for name in ["l0", "l1"] {
            try await phone.save(TaskList(id: TaskList.ID(name), title: name, parent: nil))
        }
        try await phone.save(Chore(id: "c", title: "c", list: "l0"))
        try await phone.sync()
        try cloud.remove("l1", in: scenarioZone)
        try await phone.save(Chore(id: "c", title: "c", list: "l1"))
        try await phone.note("n", "unrelated")
        #expect(try await phone.sync().parkedRecords == 1)
        #expect(
            remote(cloud) == [
                "Chore c {list: ->l0, title: c}", "TaskList l0 {title: l0}",
                "Note n {title: unrelated}",
            ])
        try await phone.save(Chore(id: "c", title: "c", list: nil))
        try await phone.sync()
        #expect(remote(cloud).first == "Chore c {title: c}")
        try await phone.expectSettled()
    }

    @Test func `deletes of a chain go in an order that the service allows`() async throws {
        cloud.limits.operationsPerRequest = 1
        let phone = try Device(cloud)
        try await phone.store.write { tx in
            try tx.save(TaskList(id: "a", title: "a", parent: nil))
            try tx.save(TaskList(id: "b", title: "b", parent: "a"))
            try tx.save(TaskList(id: "c", title: "c", parent: "b"))
        }
        try await phone.sync()
        try await phone.save(TaskList(id: "a", title: "edited", parent: nil))
        for name in ["c", "b", "a"] { try await phone.delete(TaskList.ID(name)) }
        #expect(try await phone.sync().parkedRecords == 0)
        #expect(remote(cloud) == [])
        try await phone.expectSettled()
    }
}
