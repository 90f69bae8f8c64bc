import Backstitch
import Foundation
import TestBudget
import Testing

@testable import BackstitchStore

/// Pages, projections, aggregates, and changes by query.
@Suite(.budgeted) struct QueryBatchTests {
    private func filled(_ count: Int = 40) throws -> Store {
        let store = try Store.inMemory(schema: .all)
        try store.write { transaction in
            for name in ["a", "b"] {
                try transaction.save(Department(id: Department.ID(name), name: name, budget: nil))
            }
            for number in 0..<count {
                try transaction.save(
                    Employee(
                        id: Employee.ID("e\(1000 + number)"), name: "n\(number % 7)",
                        email: "m\(number)", age: number % 5 == 0 ? nil : number,
                        department: number % 3 == 0
                            ? nil : Department.ID(number % 3 == 1 ? "a" : "b")))
            }
        }
        return store
    }

    @Test(arguments: [1, 3, 40, 100])
    func `pages give each record once, also after the cursor was stored`(size: Int) throws {
        let store = try filled()
        let queries: [Query<Employee>] = [
            Query(), Query().sorted(by: \.email), Query().sorted(by: \.email, order: .reverse),
            Query().sorted(by: \.name).sorted(by: \.age, order: .reverse),
            Query().where(#Predicate { $0.age != nil }).offset(2).limit(17),
            Query().sorted(by: \.id, order: .reverse),
        ]
        for query in queries {
            let all = try store.read { try $0.fetch(query) }
            var found: [Employee] = []
            var cursor: QueryCursor?
            repeat {
                let page = try store.read { try $0.page(query, after: cursor, count: size) }
                found += page.rows
                cursor = try page.next.map {
                    try JSONDecoder().decode(
                        QueryCursor.self, from: try JSONEncoder().encode($0))
                }
            } while cursor != nil
            #expect(found == all)
        }
    }

    @Test func `records that stay are given once, whatever is written between the pages`()
        async throws
    {
        let store = try filled()
        let query = Query<Employee>().sorted(by: \.email)
        let stay = try store.read { try $0.fetch(query) }.filter { $0.name != "n1" }
        var found: [Employee] = []
        for try await page in store.pages(query, size: 4) {
            found += page
            let number = found.count
            try await store.write { transaction in
                _ = try transaction.delete(
                    Query<Employee>().where(#Predicate { $0.name == "n1" }).limit(1))
                try transaction.save(
                    Employee(
                        id: Employee.ID("new\(number)"), name: "new", email: "m\(number)x",
                        age: 1, department: nil))
            }
        }
        #expect(found.filter { $0.name != "n1" && $0.name != "new" } == stay)
    }

    @Test func `a cursor of another query or a damaged one is refused`() throws {
        let store = try filled()
        try store.read { transaction in
            let page = try transaction.page(Query<Employee>(), count: 5)
            let cursor = try #require(page.next)
            let other = Query<Employee>().sorted(by: \.name)
            let error = failure {
                _ = try store.read { try $0.page(other, after: cursor, count: 5) }
            }
            #expect(error?.code == .invalidQuery)
            #expect(error?.message.contains("another query") == true)
            let none = failure { _ = try store.read { try $0.page(other, count: 0) } }
            #expect(none?.code == .invalidQuery)
            var text = try #require(
                String(data: try JSONEncoder().encode([cursor]), encoding: .utf8))
            text.replace("A", with: "B", maxReplacements: 1)
            #expect(throws: DecodingError.self) {
                try JSONDecoder().decode([QueryCursor].self, from: Data(text.utf8))
            }
        }
    }

    @Test func `projections and distinct values hold what the records do`() throws {
        let store = try filled()
        try store.read { transaction in
            let query = Query<Employee>().where(#Predicate { $0.department == "a" })
                .sorted(by: \.email)
            let all = try transaction.fetch(query)
            let rows = try transaction.select(query, \.name, \.age, \.id)
            #expect(rows.map(\.0) == all.map(\.name))
            #expect(rows.map(\.1) == all.map(\.age))
            #expect(rows.map(\.2) == all.map(\.id))
            #expect(try transaction.select(query, \.email) == all.map(\.email))
            let departments: [Department.ID?] = [nil, "a", "b"]
            #expect(try transaction.distinct(Query<Employee>(), \.department) == departments)
            let named = RecordQuery(entity: "Employee").where(.equal("age", .int64(7)))
            #expect(
                try transaction.select(named, ["name", "age"]) == [[.string("n0"), .int64(7)]])
            #expect(try transaction.fetch(named).map(\.id.key) == [Employee.ID("e1007").key])
            #expect(try transaction.count(named) == 1)
        }
        let unknown = failure {
            _ = try store.read { try $0.select(RecordQuery(entity: "Employee"), ["x"]) }
        }
        #expect(unknown?.code == .invalidQuery)
    }

    @Test func `aggregates leave nil out and know what nothing adds up to`() throws {
        let store = try filled()
        try store.read { transaction in
            let query = Query<Employee>()
            let ages = try transaction.fetch(query).compactMap(\.age)
            let (count, known, sum, least, most, mean) = try transaction.aggregate(
                query, .count(), .count(\.age), .sum(\.age), .minimum(\.age), .maximum(\.email),
                .average(\.age))
            #expect(count == 40)
            #expect(known == ages.count)
            #expect(sum == ages.reduce(0, +))
            #expect(least == ages.min())
            #expect(most == "m9")
            #expect(mean == Double(ages.reduce(0, +)) / Double(ages.count))
            let none = query.where(#Predicate { $0.name == "none" })
            let nothing = try transaction.aggregate(
                none, .count(), .sum(\.age), .maximum(\.age), .average(\.age))
            #expect(nothing.0 == 0)
            #expect(nothing.1 == 0)
            #expect(nothing.2 == nil)
            #expect(nothing.3 == nil)
            let groups = try transaction.groups(
                query, by: GroupKeys(\.department), .count(), .sum(\.age))
            let departments: [Department.ID?] = [nil, "a", "b"]
            #expect(groups.map(\.key) == departments)
            #expect(groups.map(\.values.0) == [14, 13, 13])
            #expect(groups.map(\.values.1).reduce(0, +) == sum)
            let named = try transaction.groups(
                RecordQuery(entity: "Employee"), by: ["department"], [.count])
            #expect(named.map(\.values) == [[.int64(14)], [.int64(13)], [.int64(13)]])
        }
    }

    @Test func `sums are exact or an error`() throws {
        let store = try Store.inMemory(schema: .all)
        try store.write { transaction in
            for (number, text) in ["0.1", "0.2", "12345678901234567890.03"].enumerated() {
                var record = Everything(id: Everything.ID("x\(number)"))
                record.decimal = try #require(Decimal(string: text))
                record.int = Int.max - number
                try transaction.save(record)
            }
        }
        let query = Query<Everything>()
        let sum = try store.read { try $0.aggregate(query, .sum(\.decimal)) }
        #expect(sum == Decimal(string: "12345678901234567890.33"))
        let error = failure { _ = try store.read { try $0.aggregate(query, .sum(\.int)) } }
        #expect(error?.code == .invalidQuery)
        #expect(error?.message.contains("64 bits") == true)
        let text = failure {
            _ = try store.read {
                try $0.groups(RecordQuery(entity: "Everything"), [.sum("string")])
            }
        }
        #expect(text?.message.contains("Only numbers") == true)
    }

    @Test func `an update by query changes each record once, with an operation each`()
        async throws
    {
        let store = try filled()
        let before = try store.head
        // Raises the very values that the query is read by.
        let count = try await store.write { transaction in
            try transaction.update(Query<Employee>().where(#Predicate { $0.email < "m3" })) {
                $0.email += "5"
            }
        }
        #expect(count == 23)
        #expect(try store.head == before + 23)
        let unchanged = try await store.write { transaction in
            try transaction.update(
                Query<Employee>().where(#Predicate { $0.name == "n1" }), set: \.name, to: "n1")
        }
        #expect(unchanged == 0)
        #expect(try store.head == before + 23)
        let set = try await store.write { transaction in
            try transaction.update(Query<Employee>(), set: \.age, to: nil)
        }
        #expect(set == 32)
        try await store.expectConsistent()
    }

    @Test func `more records than one part holds are all changed and deleted`() async throws {
        let store = try filled(WriteTransaction.partCountMax + 10)
        let updated = try await store.write { transaction in
            try transaction.update(Query<Employee>().where(#Predicate { $0.name != "n9" })) {
                $0.name = "n9"
            }
        }
        #expect(updated == WriteTransaction.partCountMax + 10)
        let deleted = try await store.write { try $0.delete(Query<Employee>()) }
        #expect(deleted == WriteTransaction.partCountMax + 10)
        #expect(try store.read { try $0.count(Employee.self) } == 0)
    }

    @Test func `an update that replaces the id is refused and nothing is kept`() throws {
        let store = try filled()
        let before = try store.head
        let error = failure {
            try store.write { transaction in
                _ = try transaction.update(Query<Employee>()) { employee in
                    if employee.email == "m9" { employee.id = "other" } else { employee.age = 1 }
                }
            }
        }
        #expect(error?.code == .invalidValue)
        #expect(try store.head == before)
    }

    @Test func `a delete by query obeys delete rules and counts what went with others`()
        async throws
    {
        let store = try filled()
        let gone = try await store.write { transaction in
            try transaction.delete(Query<Department>().where(#Predicate { $0.name == "a" }))
        }
        #expect(gone == 1)
        #expect(try store.read { try $0.count(Employee.self) } == 27)
        try await store.write { transaction in
            try transaction.save(Node(id: "top", parent: nil, friend: nil))
            for name in ["x", "y", "z"] {
                try transaction.save(Node(id: Node.ID(name), parent: "top", friend: nil))
            }
            try transaction.save(Badge(id: "g", number: 1, employee: "e1000", department: nil))
        }
        #expect(try await store.write { try $0.delete(Query<Node>()) } == 4)
        let denied = failure { try store.write { _ = try $0.delete(Query<Employee>()) } }
        #expect(denied?.code == .deleteDenied)
        #expect(try store.read { try $0.count(Employee.self) } == 27)
        try await store.expectConsistent()
    }
}
