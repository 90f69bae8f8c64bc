import Backstitch
import Foundation
import TestBudget
import Testing

@testable import BackstitchStore

@Suite(.budgeted) struct RecordReadingTests {
    /// A read that works in both kinds of transactions.
    private func summary(_ tx: borrowing some RecordReading & ~Copyable) throws -> [String] {
        let query = Query<Employee>().sorted(by: \.name)
        let page = try tx.page(query, count: 2)
        let (count, oldest) = try tx.aggregate(query, .count(), .maximum(\.age))
        var lines = try tx.select(query, \.name, \.email).map { "\($0.0) \($0.1)" }
        lines.append("\(page.rows.count) \(page.next != nil) \(count) \(oldest ?? 0)")
        lines.append(try tx.first(query)?.name ?? "nobody")
        lines.append("\(try tx.exists(query)) \(try tx.count(Employee.self))")
        lines += try tx.distinct(query, \.age).map { "\($0 ?? -1)" }
        lines += try tx.history(of: Employee.ID("a")).map { "\($0.kind)" }
        lines.append(
            try tx.record("a", of: "Employee")?.values["name"].map { "\($0)" } ?? "")
        return lines
    }

    private func employee(_ name: String, _ age: Int) -> Employee {
        Employee(
            id: .init(name.lowercased()), name: name, email: name + "@x", age: age,
            department: nil)
    }

    @Test func `a write reads as a read does, what it wrote included`() async throws {
        let store = try Store.inMemory(schema: .all)
        let (a, b, c) = (employee("A", 1), employee("B", 2), employee("C", 3))
        let inside = try await store.write { tx in
            for employee in [a, b, c] { try tx.save(employee) }
            try tx.save(Employee(id: a.id, name: "A", email: "a@y", age: 7, department: nil))
            return try summary(tx)
        }
        #expect(try store.read { try summary($0) } == inside)
        #expect(inside.first == "A a@y")
        #expect(inside.contains("2 true 3 7"))
    }

    @Test func `nothing is found where there is nothing`() throws {
        let store = try Store.inMemory(schema: .all)
        try store.read { tx throws in
            #expect(try tx.first(Query<Employee>()) == nil)
            #expect(try !tx.exists(Query<Employee>()))
            #expect(try !tx.exists(Employee.ID("a")))
            #expect(try tx.first(Query<Employee>().limit(0)) == nil)
        }
        try store.save(employee("A", 1))
        try store.read { tx throws in
            #expect(try tx.first(Query<Employee>().limit(0)) == nil)
            #expect(try !tx.exists(Query<Employee>().limit(0)))
            #expect(try tx.first(Query<Employee>().offset(1)) == nil)
            #expect(throws: QueryError.self) { try tx.first(Query<Employee>().limit(-1)) }
        }
    }

    @Test func `a record is saved, changed, read and deleted without a closure`() async throws {
        let store = try Store.inMemory(schema: .all)
        var ada = employee("Ada", 36)
        let first = try await store.save(ada, author: "ada", context: "request 1")
        #expect(first == WriteResult(value: .inserted, transaction: 1, lastSequence: 1))
        ada.age = 37
        #expect(try await store.save(ada).value == .updated)
        #expect(
            try await store.save(ada)
                == WriteResult(value: .unchanged, transaction: nil, lastSequence: 2))
        #expect(try store.read { try $0.find(ada.id) } == ada)
        #expect(
            try store.read { try $0.transactions(limit: 9, by: "ada") }.map(\.context) == [
                "request 1"
            ])
        let deleted = try await store.delete(ada.id)
        #expect(deleted == WriteResult(value: true, transaction: 3, lastSequence: 3))
        #expect(try await store.delete(ada.id).value == false)
        _ = try await store.undo(transaction: try #require(deleted.transaction))
        #expect(try store.read { try $0.find(ada.id) } == ada)
    }

    @Test func `the past is read by date as by sequence`() async throws {
        let clock = ManualClock(milliseconds: 1_000_000)
        var configuration = StoreConfiguration(durability: .relaxed)
        configuration.clock = clock
        let store = try Store.inMemory(schema: .all, configuration: configuration)
        for age in 1...5 {
            clock.set(1_000_000 + Int64(age) * 1000)
            try await store.save(employee("A", age))
        }
        func age(at milliseconds: Int64) throws -> Int? {
            let date = Date(timeIntervalSince1970: Double(milliseconds) / 1000)
            return try store.read(at: date) { try $0.find(Employee.self, "a")?.age }
        }
        #expect(try age(at: 1_000_999) == nil)
        #expect(try age(at: 1_001_000) == 1)
        #expect(try age(at: 1_003_999) == 3)
        #expect(try age(at: 1_005_000) == 5)
        #expect(try store.read(at: .distantFuture) { try $0.find(Employee.self, "a")?.age } == 5)
        #expect(try store.read(at: .distantPast) { try $0.find(Employee.self, "a")?.age } == nil)
    }
}
