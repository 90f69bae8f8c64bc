import Backstitch
import BackstitchLog
import Foundation
import TestBudget
import Testing

@testable import BackstitchStore

@Suite(.budgeted) struct StoreModelTests {
    @Test(arguments: 0..<20 as Range<UInt64>)
    func `a store agrees with plain dictionaries`(tens: UInt64) async throws {
        for seed in (tens * 10)..<(tens * 10 + 10) { try await run(seed: seed) }
    }

    private func run(seed: UInt64) async throws {
        let store = try Store.inMemory(schema: .all)
        var model = StoreModel(seed: seed)
        for _ in 0..<25 {
            let steps = model.steps()
            let isKept = !Int.random(in: 0..<5, using: &model.generator).isMultiple(of: 5)
            do {
                try await store.write { transaction in
                    for step in steps { try step.perform(transaction) }
                    if !isKept { throw Planned() }
                }
                model.perform(steps)
            } catch is Planned {}
            let violation = try store.read { try TableInvariants($0.reader).violation() }
            #expect(violation == nil, "seed \(seed)")
        }
        let (departments, employees, projects) = try store.read { transaction in
            (
                try transaction.fetch(Department.self), try transaction.fetch(Employee.self),
                try transaction.fetch(Project.self)
            )
        }
        let comment = Comment(rawValue: "seed \(seed)")
        #expect(departments == model.departments.values.sorted { $0.id < $1.id }, comment)
        #expect(employees == model.employees.values.sorted { $0.id < $1.id }, comment)
        #expect(projects == model.projects.values.sorted { $0.id < $1.id }, comment)
        for index in 0..<8 {
            let team = Department(id: .init("d\(index)"), name: "").employees
            let found = try store.read { try $0.fetch(team) }
            #expect(found == employees.filter { $0.department == .init("d\(index)") }, comment)
            let mail = "m\(index)"
            let query = Query<Employee>().where(#Predicate { $0.email == mail })
            #expect(
                try store.read { try $0.count(query) }
                    == employees.filter { $0.email == mail }.count, comment)
        }
        try await store.expectConsistent()
    }
}
