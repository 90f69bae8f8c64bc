import Backstitch
import BackstitchCore
import Foundation
import TestBudget
import Testing

@testable import BackstitchStore

@Suite(.budgeted) struct LiveQueryTests {
    let store: Store

    init() throws { store = try Store.inMemory(schema: .all) }

    private static let adults = Query<Employee>().where(#Predicate { $0.email == "adult" })

    private func employee(_ id: String, _ email: String, name: String = "") -> Employee {
        Employee(id: .init(id), name: name, email: email)
    }

    /// Writes, and tells whether the results of a query from before are touched by that.
    private func touches(
        _ query: Query<Employee> = adults,
        _ body: @Sendable @escaping (borrowing WriteTransaction) throws -> Void
    ) async throws -> Bool {
        let index = try store.footprint { _ = try $0.fetch(query) }
        var changes = store.changes().makeAsyncIterator()
        try await store.write { try body($0) }
        let change = try #require(await changes.next())
        return try store.touches(index, change)
    }

    @Test func `only records among the results or within the conditions touch a query`()
        async throws
    {
        try await store.write { transaction in
            try transaction.save(Employee(id: "in", name: "", email: "adult"))
            try transaction.save(Employee(id: "out", name: "", email: "child"))
            try transaction.save(Department(id: "d", name: ""))
        }
        #expect(try await !touches { try $0.save(Department(id: "d", name: "other")) })
        #expect(try await !touches { try $0.save(Employee(id: "new", name: "", email: "child")) })
        #expect(try await !touches { try $0.save(Employee(id: "out", name: "x", email: "child")) })
        #expect(try await !touches { _ = try $0.delete(Employee.ID("out")) })
        #expect(try await touches { try $0.save(Employee(id: "new", name: "", email: "adult")) })
        #expect(try await touches { try $0.save(Employee(id: "in", name: "x", email: "adult")) })
        #expect(try await touches { try $0.save(Employee(id: "in", name: "x", email: "child")) })
        #expect(try await touches { _ = try $0.delete(Employee.ID("new")) })
    }

    @Test func `what an offset skips, many changes and lost ones touch every query`() async throws {
        try await store.write { transaction in
            try transaction.save(Employee(id: "a", name: "", email: "adult"))
            try transaction.save(Employee(id: "b", name: "", email: "adult"))
        }
        #expect(
            try await touches(Self.adults.offset(1)) {
                try $0.save(Employee(id: "a", name: "", email: "child"))
            })
        #expect(
            try await touches { transaction in
                for number in 0..<300 {
                    try transaction.save(Employee(id: .init("\(number)"), name: "", email: "child"))
                }
            })
        let index = try store.footprint { _ = try $0.fetch(Self.adults) }
        let head = try store.head
        #expect(try store.touches(index, ChangeSet(lost: head + 1..<head + 2)))
        #expect(try !store.touches(index, ChangeSet(lost: head..<head + 1)))
        #expect(try !store.touches(index, ChangeSet()))
    }

    /// A row that the type can't read is in no results, whatever its conditions say.
    @Test func `a query that can't be answered throws to its observer`() async throws {
        let low = 1
        let broken = Query<Employee>().where(#Predicate { $0.age! > low })
        var rows = store.observe(broken).makeAsyncIterator()
        #expect(try await rows.next() == [])
        try await store.write { try $0.save(Employee(id: "x", name: "", email: "")) }
        await #expect(throws: StoreError.self) { _ = try await rows.next() }
    }

    static let queries: [Query<Employee>] = {
        let (email, text, low) = ("3", "1", 4)
        let department: Department.ID? = "d1"
        return [
            Query<Employee>(),
            Query<Employee>().where(#Predicate { $0.email == email }),
            Query<Employee>().where(#Predicate { $0.name.contains(text) }).sorted(by: \.email),
            Query<Employee>().where(#Predicate { $0.email >= email }).sorted(by: \.name).limit(3),
            Query<Employee>().where(#Predicate { ($0.age ?? 0) > low })
                .sorted(by: \.age, order: .reverse).offset(2).limit(2),
            Query<Employee>().where(#Predicate { $0.department == department }),
        ]
    }()

    @Test(arguments: queries.indices, 0..<4)
    func `whatever changes, results follow`(query index: Int, seed: UInt64) async throws {
        let query = Self.queries[index]
        var random = SeededGenerator(seed: seed)
        try await store.write { transaction in
            for name in ["d0", "d1"] {
                try transaction.save(Department(id: .init(name), name: name))
            }
        }
        var live = store.observe(query).makeAsyncIterator()
        var known = try #require(try await live.next())
        for step in 0..<60 {
            let id = Employee.ID("\(Int.random(in: 0..<12, using: &random))")
            let changed = Employee(
                id: id, name: "\(Int.random(in: 0..<20, using: &random))",
                email: "\(Int.random(in: 0..<6, using: &random))",
                age: Int.random(in: 0..<9, using: &random),
                department: .init("d\(Int.random(in: 0..<2, using: &random))"))
            let deletes = Int.random(in: 0..<4, using: &random) == 0
            try await store.write { transaction in
                if deletes { _ = try transaction.delete(id) } else { try transaction.save(changed) }
            }
            let now = try store.read { try $0.fetch(query) }
            guard now != known else { continue }
            let delivered = try #require(try await live.next())
            #expect(delivered == now, "seed \(seed), step \(step)")
            known = now
        }
    }
}
