import Backstitch

@testable import BackstitchStore

/// Random operations on a store and on plain dictionaries, which must agree.
struct StoreModel {
    var generator: SeededGenerator
    var departments: [Department.ID: Department] = [:]
    var employees: [Employee.ID: Employee] = [:]
    var projects: [Project.ID: Project] = [:]

    init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    enum Step: Sendable {
        case saveDepartment(Department)
        case saveEmployee(Employee)
        case saveProject(Project)
        case deleteDepartment(Department.ID)
        case deleteEmployee(Employee.ID)
        case deleteProject(Project.ID)

        func perform(_ transaction: borrowing BackstitchStore.WriteTransaction) throws {
            switch self {
            case .saveDepartment(let value): try transaction.save(value)
            case .saveEmployee(let value): try transaction.save(value)
            case .saveProject(let value): try transaction.save(value)
            case .deleteDepartment(let id): try transaction.delete(id)
            case .deleteEmployee(let id): try transaction.delete(id)
            case .deleteProject(let id): try transaction.delete(id)
            }
        }
    }

    private mutating func below(_ count: Int) -> Int {
        Int.random(in: 0..<count, using: &generator)
    }

    /// The next steps of one transaction.
    mutating func steps() -> [Step] {
        (0...below(6)).map { _ in
            let id = below(8)
            switch below(9) {
            case 0, 1:
                let budget = below(3)
                return .saveDepartment(
                    Department(
                        id: .init("d\(id)"), name: "n\(below(3))",
                        budget: budget == 0 ? nil : budget))
            case 2, 3, 4:
                let department = below(9)
                return .saveEmployee(
                    Employee(
                        id: .init("e\(id)"), name: "n\(below(3))", email: "m\(below(4))",
                        age: below(2) == 0 ? nil : below(5),
                        department: department == 8 ? nil : .init("d\(department)")))
            case 5:
                let lead = below(9)
                return .saveProject(
                    Project(
                        id: .init("p\(id)"), title: "t\(below(3))",
                        lead: lead == 8 ? nil : .init("e\(lead)")))
            case 6: return .deleteDepartment(.init("d\(id)"))
            case 7: return .deleteEmployee(.init("e\(id)"))
            default: return .deleteProject(.init("p\(id)"))
            }
        }
    }

    mutating func perform(_ steps: [Step]) {
        for step in steps {
            switch step {
            case .saveDepartment(let value): departments[value.id] = value
            case .saveEmployee(let value): employees[value.id] = value
            case .saveProject(let value): projects[value.id] = value
            case .deleteDepartment(let id):
                guard departments.removeValue(forKey: id) != nil else { continue }
                for employee in employees.values where employee.department == id {
                    delete(employee.id)
                }
            case .deleteEmployee(let id): delete(id)
            case .deleteProject(let id): projects[id] = nil
            }
        }
    }

    private mutating func delete(_ id: Employee.ID) {
        guard employees.removeValue(forKey: id) != nil else { return }
        for project in projects.values where project.lead == id { projects[project.id]?.lead = nil }
    }
}
