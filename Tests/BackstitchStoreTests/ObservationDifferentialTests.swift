import Backstitch
import BackstitchCore
import Foundation
import TestBudget
import Testing

@testable import BackstitchStore

/// Random histories of writes beside random reads: whenever running a read again gives something else,
/// the change concerns what it had looked at.
///
/// `OBSERVED_HISTORIES` is the number of histories, 10 unless given.
@Suite(.budgeted) struct ObservationDifferentialTests {
    typealias Read = (borrowing ReadTransaction) throws -> [String]

    static var histories: Int {
        Load.count("OBSERVED_HISTORIES", else: 10)
    }

    /// A random query of employees.
    private func query(_ random: inout SeededGenerator) -> Query<Employee> {
        var query = Query<Employee>()
        for _ in 0..<Int.random(in: 0...2, using: &random) {
            let (number, text) = (
                Int.random(in: 0..<6, using: &random), "\(Int.random(in: 0..<4, using: &random))"
            )
            switch Int.random(in: 0..<7, using: &random) {
            case 5:
                query = query.where(
                    \.department, fulfils: QueryCondition().where(\.name, lessThan: text))
            case 6:
                // Which records refer to a record decides about others that refer to it.
                let crowded = QueryCondition<Department>().where(
                    \.employees, count: 3...,
                    of: QueryCondition().where(\.age, atLeast: number))
                query = query.where(
                    .not(QueryCondition().where(\.department, fulfils: crowded)))
            case 0: query = query.where(\.email, is: text)
            case 1: query = query.where(\.age, in: number..<number + 2)
            case 2: query = query.where(#Predicate { $0.name.contains(text) })
            case 3: query = query.where(#Predicate { $0.age == nil || $0.email > text })
            default:
                let department: Department.ID? = .init("d\(number % 2)")
                query = query.where(\.department, is: department)
            }
        }
        switch Int.random(in: 0..<5, using: &random) {
        case 4: query = query.sorted(by: \.department, \.name).limit(4)
        case 0: query = query.sorted(by: \.email)
        case 1: query = query.sorted(by: \.age, order: .reverse).limit(3)
        case 2: query = query.offset(1).limit(2)
        default: break
        }
        return query
    }

    /// A random read of some kind.
    private func read(_ random: inout SeededGenerator) -> Read {
        let query = query(&random)
        let id = Employee.ID("\(Int.random(in: 0..<12, using: &random))")
        let number = Int.random(in: 0..<6, using: &random)
        switch Int.random(in: 0..<12, using: &random) {
        case 9:
            let departments = Query<Department>().where(
                \.employees, containsWhere: #Predicate { $0.age == number })
            return { try $0.fetch(departments).map { "\($0.name)" } }
        case 10:
            return { transaction in
                let (staff, departments) = try transaction.fetch(query, including: \.department)
                return staff.map { "\($0.name) \(departments[$0.department]?.name ?? "none")" }
            }
        case 11:
            return { transaction in
                let all = Query<Department>().where(\.employees, isEmpty: false)
                let (departments, staff) = try transaction.fetch(
                    all, includingAll: \Employee.department)
                return departments.map { "\($0.name) \(staff[$0.id].map(\.name))" }
            }
        case 0: return { try $0.fetch(query).map { "\($0)" } }
        case 1: return { ["\(try $0.count(query))"] }
        case 2: return { ["\(try $0.aggregate(query, .sum(\.age), .maximum(\.email)))"] }
        case 3:
            return { try $0.groups(query, by: GroupKeys(\.department), .count()).map { "\($0)" } }
        case 4: return { try $0.select(query, \.name, \.age).map { "\($0)" } }
        case 5: return { [try $0.find(id).map { "\($0)" } ?? "none"] }
        case 6: return { ["\(try $0.exists(query))", "\(try $0.exists(id))"] }
        case 7: return { try $0.page(query, count: 2).rows.map { "\($0)" } }
        default:
            // What is found decides what is read next.
            return { transaction in
                guard let department = try transaction.first(query)?.department,
                    let found = try transaction.find(department)
                else { return [] }
                return [found.name, "\(try transaction.count(found.employees))"]
            }
        }
    }

    private func write(_ store: Store, _ random: inout SeededGenerator) async throws {
        let id = "\(Int.random(in: 0..<12, using: &random))"
        let department = "d\(Int.random(in: 0..<2, using: &random))"
        let employee = Employee(
            id: .init(id), name: "\(Int.random(in: 0..<20, using: &random))",
            email: "\(Int.random(in: 0..<4, using: &random))",
            age: Int.random(in: -1..<7, using: &random) < 0
                ? nil : Int.random(in: 0..<7, using: &random),
            department: .init(department))
        let (kind, name) = (
            Int.random(in: 0..<6, using: &random), "\(Int.random(in: 0..<9, using: &random))"
        )
        try await store.write { transaction in
            switch kind {
            case 0:
                _ = try transaction.delete(employee.id)
                if name == "0" { _ = try transaction.delete(Department.ID(department)) }
            case 1: try transaction.save(Department(id: .init(department), name: name))
            default: try transaction.save(employee)
            }
        }
    }

    @Test(arguments: 0..<histories)
    func `a result that differs was announced`(seed: Int) async throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let store = try Store.inMemory(schema: .all)
        try await store.write { transaction in
            for name in ["d0", "d1"] {
                try transaction.save(Department(id: .init(name), name: name))
            }
        }
        let reads = (0..<8).map { _ in read(&random) }
        var known = try reads.map { read in try store.read { try read($0) } }
        var indexes = try reads.map { read in try store.footprint { _ = try read($0) } }
        var changes = store.changes().makeAsyncIterator()
        var (touched, changed) = (0, 0)
        for step in 0..<40 {
            let head = try store.head
            try await write(store, &random)
            guard try store.head > head else { continue }
            let change = try #require(await changes.next())
            for at in reads.indices {
                let now = try store.read { try reads[at]($0) }
                let isTouched = try store.touches(indexes[at], change)
                if now != known[at] {
                    changed += 1
                    #expect(isTouched, "seed \(seed), step \(step), read \(at)")
                }
                guard isTouched else { continue }
                touched += 1
                known[at] = now
                indexes[at] = try store.footprint { _ = try reads[at]($0) }
            }
        }
        // More than the answers changed, and far less than each read with each commit.
        #expect(touched >= changed && changed > 0)
    }
}
