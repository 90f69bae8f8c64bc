import Backstitch
import Foundation
import TestBudget
import Testing

@testable import BackstitchStore

/// Queries over related records in a store: what is included, updated and deleted by them.
@Suite(.budgeted) struct RelatedReadingTests {
    private let store: Store

    init() async throws {
        store = try Store.inMemory(schema: .all)
        try await store.write { transaction in
            for (name, budget) in [("Sales", 5), ("Research", 20), ("Empty", 1)] {
                try transaction.save(
                    Department(id: .init(name), name: name, budget: budget))
            }
            for number in 0..<40 {
                let department: Department.ID? =
                    number % 10 == 9
                    ? nil : number % 10 == 8 ? "gone" : number % 2 == 0 ? "Sales" : "Research"
                try transaction.save(
                    Employee(
                        id: .init("e\(10 + number)"), name: "\(number)", email: "e\(number)",
                        age: number, department: department))
            }
            try transaction.save(
                Badge(id: "b", number: 1, employee: "e10", department: "Sales"))
        }
    }

    @Test func `related records are included once, and those that are not there are not`() throws {
        try store.read { transaction in
            let old = Query<Employee>().where(\.age, atLeast: 30).sorted(by: \.age)
            let (staff, departments) = try transaction.fetch(old, including: \.department)
            #expect(staff.count == 10)
            #expect(departments.count == 2)
            #expect(departments[staff[0].department]?.budget == 5)
            #expect(departments[staff[1].department]?.name == "Research")
            #expect(departments[staff[8].department] == nil)
            #expect(departments[staff[9].department] == nil)

            let (badges, ends) = try transaction.fetch(
                Query<Badge>(), including: \.employee, \.department)
            #expect(ends.0[badges[0].employee]?.name == "0")
            #expect(ends.1[badges[0].department]?.name == "Sales")

            let (all, members) = try transaction.fetch(
                Query<Department>().sorted(by: \.name), includingAll: \Employee.department)
            #expect(all.map { members[$0.id].count } == [0, 16, 16])
            #expect(members["Research"].map(\.id) == members["Research"].map(\.id).sorted())

            let (records, included) = try transaction.fetch(
                RecordQuery(entity: "Employee").where(.atLeast("age", .int64(37))),
                including: ["department"])
            #expect(records.count == 3)
            #expect(included.values.map { $0.values["name"] } == [.string("Research")])
            #expect(throws: QueryError.self) {
                try transaction.fetch(RecordQuery(entity: "Employee"), including: ["age"])
            }
        }
    }

    @Test func `a condition on related records is answered from the inverse index`() throws {
        try store.read { transaction in
            let rich = QueryCondition<Department>().where(\.budget, greaterThan: 10)
            let staff = Query<Employee>().where(\.department, fulfils: rich)
            let lines = try transaction.explain(staff, running: true).steps
            #expect(lines[0] == "look up 1 Department record: scan Department, filter 1 condition")
            #expect(lines[1].hasPrefix("inverse department = "))
            #expect(lines.last == "read 16 index entries and 16 rows for 16 records")
            #expect(try transaction.count(staff) == 16)
            let named = RecordQuery(entity: "Employee")
                .where(.greater("department.budget", than: .int64(10)))
                .sorted(by: "department.name", order: .reverse).limit(3)
            #expect(try transaction.fetch(named).count == 3)
            #expect(
                try transaction.explain(named).steps.contains(
                    "sort in memory by department.name descending"))
            let empty = Query<Department>().where(\.employees, isEmpty: true)
            #expect(try transaction.fetch(empty).map(\.name) == ["Empty"])
        }
    }

    @Test func `a delete and an update by related records are as of their beginning`() async throws
    {
        // Each node's parent is the one before it, so that deleting one cuts the condition of the next.
        let friends = Query<Node>().where(\.friend, fulfils: QueryCondition<Node>())
        let count = try await store.write { transaction in
            for number in 0..<30 {
                try transaction.save(
                    Node(
                        id: .init("n\(10 + number)"), parent: nil,
                        friend: number == 0 ? nil : .init("n\(9 + number)")))
            }
            return try transaction.delete(friends)
        }
        #expect(count == 29)
        #expect(try store.read { try $0.fetch(Node.self).map(\.id) } == ["n10"])

        let sales = Query<Employee>().where(
            \.department, fulfils: QueryCondition().where(\.name, is: "Sales"))
        let changed = try await store.update(sales, inPartsOf: 3) { $0.department = "Research" }
        #expect(changed == 16)
        #expect(try store.read { try $0.count(sales) } == 0)
    }

    @Test func `a related record that was deleted or unreadable counts no more`() async throws {
        let any = Query<Employee>().where(\.department, fulfils: QueryCondition<Department>())
        #expect(try store.read { try $0.count(any) } == 32)
        _ = try await store.write { try $0.delete(Department.ID("Research")) }
        #expect(try store.read { try $0.count(any) } == 16)
    }
}
