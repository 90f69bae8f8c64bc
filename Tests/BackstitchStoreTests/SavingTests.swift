import Backstitch
import BackstitchCore
import Foundation
import TestBudget
import Testing

@testable import BackstitchStore

@Suite(.budgeted) struct SavingTests {
    let store: Store

    init() throws { store = try Store.inMemory(schema: .all) }

    @Test func `a record is saved in a zone that the store has, and in no other`() async throws {
        let list = RecordID.Zone(slot: 2)
        func save(_ name: String) -> StoreError? {
            let department = Department(id: Department.ID(name, in: list), name: "n", budget: 1)
            return failure { _ = try store.write { try $0.save(department) } }
        }
        #expect(save("a")?.code == .unknownZone)
        #expect(try await store.addZone() == list)
        #expect(save("a") == nil)
        try await store.withLogWriter { $0.catalogChanges.endZone(2, at: $0.head) }
        #expect(save("b")?.code == .unknownZone)
        #expect(try store.read { try $0.count(Query<Department>().in(list)) } == 1)
    }

    @Test func `save inserts, then updates, then does nothing`() async throws {
        var department = Department(id: "d", name: "One", budget: 5)
        let first = department
        #expect(try await store.write { try $0.save(first) } == .inserted)
        department.name = "Two"
        let second = department
        #expect(try await store.write { try $0.save(second) } == .updated)
        #expect(try await store.write { try $0.save(second) } == .unchanged)
        #expect(try store.head == 2)
        #expect(try store.read { try $0.find(Department.self, "d") } == second)
        try await store.expectConsistent()
    }

    @Test func `an update carries changed fields only, with their values before`() throws {
        try store.write { try $0.save(Employee(id: "e", name: "Ada", email: "a@x", age: 3)) }
        try store.write { try $0.save(Employee(id: "e", name: "Ada", email: "a@x", age: 4)) }
        let steps = try store.operations { try OperationStep($0).change }
        let field = try #require(
            store.catalogSnapshot.table(named: "Employee")?.attribute(named: "age")?.field)
        #expect(steps.last == .update(before: [field: .int64(3)], after: [field: .int64(4)]))
    }

    @Test func `a value that becomes nil is an explicit null, and back`() async throws {
        try await store.write { try $0.save(Employee(id: "e", name: "Ada", email: "a@x", age: 3)) }
        try await store.write {
            try $0.save(Employee(id: "e", name: "Ada", email: "a@x", age: nil))
        }
        #expect(try store.read { try $0.find(Employee.self, "e") }?.age == nil)
        let field = try #require(
            store.catalogSnapshot.table(named: "Employee")?.attribute(named: "age")?.field)
        let nulls = try store.operations(from: 2) { try $0.after.value(of: field)?.tag }
        #expect(nulls == [.null])
        try await store.write { try $0.save(Employee(id: "e", name: "Ada", email: "a@x", age: 9)) }
        #expect(try store.read { try $0.find(Employee.self, "e") }?.age == 9)
        try await store.expectConsistent()
    }

    @Test func `every type of attribute comes back as it was saved`() async throws {
        let extremes = Everything(
            id: "x", string: "a\0é🧵", bool: true, int: .min, int16: .max, int32: .min,
            int64: .max, float: -.greatestFiniteMagnitude, double: .leastNonzeroMagnitude,
            decimal: try #require(Decimal(string: "-12345678901234567890.123456789")),
            date: Date(timeIntervalSince1970: -1.5), data: Data([0, 255]), uuid: UUID(),
            url: URL(string: "https://example.org/a?b=c"), reference: "somewhere")
        try await store.write { try $0.save(extremes) }
        try await store.write { try $0.save(Everything(id: "y")) }
        #expect(try store.read { try $0.find(Everything.self, "x") } == extremes)
        #expect(try store.read { try $0.find(Everything.self, "y") } == Everything(id: "y"))
        #expect(try await store.write { try $0.save(extremes) } == .unchanged)
        try await store.expectConsistent()
    }

    @Test func `insert refuses what exists and update what does not`() throws {
        let department = Department(id: "d", name: "One")
        try store.write { try $0.insert(department) }
        #expect(
            failure { try store.write { try $0.insert(department) } }?.code == .alreadyExists)
        #expect(try store.write { try $0.update(department) } == false)
        let other = Department(id: "other", name: "One")
        #expect(failure { try store.write { _ = try $0.update(other) } }?.code == .notFound)
        #expect(try store.head == 1)
    }

    @Test func `unknown fields survive a typed save`() async throws {
        try await store.withLogWriter { context in
            let record = ServiceRecord(
                recordName: "d", recordType: "Department", changeTag: "1",
                modifiedMilliseconds: 1,
                fields: ["name": .string("One"), "colour": .string("red"), "budget": .int64(1)])
            let result = try context.merge(record, policy: .serverWins)
            #expect(result == .applied)
        }
        try await store.write { try $0.save(Department(id: "d", name: "Two")) }
        let field = try #require(
            store.catalogSnapshot.table(named: "Department")?.attribute(named: "colour")?.field)
        let number = try #require(store.catalogSnapshot.table(named: "Department")?.number)
        let value = try store.read { transaction in
            try transaction.reader.row(number, RecordKey(.text("d")))?.fields?
                .value(of: field)?.decoded()
        }
        #expect(value == .string("red"))
        try await store.expectConsistent()
    }

    @Test func `a record saved after its delete begins anew`() async throws {
        let first = Department(id: "d", name: "One", budget: 1)
        try await store.write { try $0.save(first) }
        #expect(try await store.write { try $0.delete(first) })
        #expect(try await store.write { try $0.delete(first) } == false)
        #expect(try store.read { try $0.find(Department.self, "d") } == nil)
        let again = Department(id: "d", name: "Again")
        #expect(try await store.write { try $0.save(again) } == .inserted)
        #expect(try store.read { try $0.find(Department.self, "d") } == again)
        try await store.expectConsistent()
    }

    @Test func `a deleted record that the service has leaves a tombstone until it hears of it`()
        async throws
    {
        try await store.withLogWriter { context in
            let record = ServiceRecord(
                recordName: "d", recordType: "Department", changeTag: "1",
                modifiedMilliseconds: 1, fields: ["name": .string("One")])
            _ = try context.merge(record, policy: .serverWins)
        }
        try await store.write { try $0.delete(Department.ID("d")) }
        let number = try #require(store.catalogSnapshot.table(named: "Department")?.number)
        let key = RecordKey(.text("d"))
        #expect(try store.read { try $0.reader.row(number, key)?.isDeleted } == true)
        try await store.withLogWriter { context in
            try context.marks.acknowledge(number, key, through: context.head, version: nil)
        }
        #expect(try store.read { try $0.reader.row(number, key) == nil })
        try await store.expectConsistent()
    }

    @Test func `names are unique across entities`() async throws {
        try await store.write { try $0.save(Department(id: "same", name: "One")) }
        let error = await #expect(throws: StoreError.self) {
            try await store.write { try $0.save(Node(id: "same")) }
        }
        #expect(error?.code == .invalidName)
        #expect(error?.message.contains("same") == true)
        try await store.write { try $0.delete(Department.ID("same")) }
        try await store.write { try $0.save(Node(id: "same")) }
        try await store.expectConsistent()
    }

    @Test func `reads inside a write see what it wrote`() throws {
        try store.write { transaction in
            let employee = Employee(id: "e", name: "Ada", email: "a@x", department: "d")
            try transaction.save(employee)
            #expect(try transaction.find(Employee.self, "e") == employee)
            #expect(try transaction.fetch(Department(id: "d", name: "").employees) == [employee])
            try transaction.delete(employee)
            #expect(try transaction.find(Employee.self, "e") == nil)
            #expect(try transaction.count(Query<Employee>()) == 0)
        }
    }

    @Test func `a reader keeps its moment while others write`() throws {
        let store = store
        try store.write { try $0.save(Department(id: "d", name: "One")) }
        try store.read { transaction in
            let done = DispatchSemaphore(value: 0)
            DispatchQueue.global().async {
                _ = try? store.write { try $0.save(Department(id: "d", name: "Two")) }
                done.signal()
            }
            done.wait()
            let found = try transaction.find(Department.self, "d")
            #expect(found?.name == "One")
        }
        #expect(try store.read { try $0.find(Department.self, "d")?.name } == "Two")
    }

    @Test func `an index follows inserts, updates and deletes`() async throws {
        let byMail = Query<Employee>().sorted(by: \.email)
        try await store.write { transaction in
            for (index, mail) in ["c", "a", "b"].enumerated() {
                try transaction.save(Employee(id: .init("e\(index)"), name: mail, email: mail))
            }
        }
        #expect(try store.read { try $0.fetch(byMail).map(\.email) } == ["a", "b", "c"])
        try await store.write { try $0.save(Employee(id: "e1", name: "a", email: "z")) }
        try await store.write { _ = try $0.delete(Employee.ID("e2")) }
        #expect(try store.read { try $0.fetch(byMail).map(\.email) } == ["c", "z"])
        try await store.expectConsistent()
    }

    @Test func `the clock of operations never goes back`() throws {
        let clock = ManualClock()
        let store = try Store.inMemory(
            schema: .all, configuration: StoreConfiguration(clock: clock))
        for (index, milliseconds) in [5000, 5000, 1, -7, 6000, .max, .max].enumerated() {
            clock.set(Int64(milliseconds))
            try store.write { try $0.save(Node(id: .init("n\(index)"))) }
        }
        let clocks = try store.operations { $0.clock }
        #expect(clocks.first == 5000 << 16)
        #expect(clocks[3] == 5000 << 16 + 3)
        #expect(clocks[4] == 6000 << 16)
        #expect(zip(clocks, clocks.dropFirst()).allSatisfy { $0 < $1 })
    }

    @Test func `operations carry the author and the transaction`() throws {
        let store = try Store.inMemory(
            schema: .all, configuration: StoreConfiguration(author: "app"))
        try store.write { try $0.save(Node(id: "a")) }
        try store.write(author: "import") { transaction in
            try transaction.save(Node(id: "b"))
            try transaction.save(Node(id: "c"))
        }
        #expect(try store.operations { $0.author } == ["app", "import", "import"])
        #expect(try store.operations { $0.transaction } == [1, 2, 2])
    }

    @Test func `the only record is deleted and saved again, many times`() async throws {
        for number in 0..<50 {
            try await store.write { try $0.save(Node(id: "only")) }
            #expect(try store.read { try $0.count(Node.self) } == 1, "\(number)")
            try await store.write { try $0.delete(Node.ID("only")) }
            #expect(try store.read { try $0.fetch(Node.self) }.isEmpty, "\(number)")
        }
        try await store.expectConsistent()
    }
}
