import Backstitch
import BackstitchCore
import BackstitchSync
import TestBudget
import Testing

@testable import BackstitchStore

@Suite(.budgeted) struct UndoTests {
    let store: Store

    init() throws { store = try Store.inMemory(schema: .all) }

    private func transaction(
        _ body: @escaping @Sendable (borrowing BackstitchStore.WriteTransaction) throws -> Void
    ) async throws -> UInt64 {
        let first = try store.head + 1
        try await store.write { try body($0) }
        return first
    }

    private func department(_ id: String) throws -> Department? {
        try store.read { try $0.find(Department.self, .init(id)) }
    }

    @Test func `insert, update and delete are undone, and redone`() async throws {
        _ = try await transaction { tx in
            try tx.save(Department(id: "edited", name: "old", budget: 1))
            try tx.save(Department(id: "gone", name: "gone", budget: 2))
        }
        let id = try await transaction { tx in
            try tx.save(Department(id: "edited", name: "new"))
            try tx.save(Department(id: "new", name: "new"))
            try tx.delete(Department.ID("gone"))
        }
        let undo = try await store.undo(transaction: id, author: "ada", context: "undo")
        #expect(Set(undo.undone.map(\.name)) == ["edited", "gone", "new"])
        #expect(undo.skipped.isEmpty)
        #expect(undo.transaction == id + 3)
        #expect(try department("edited") == Department(id: "edited", name: "old", budget: 1))
        #expect(try department("gone") == Department(id: "gone", name: "gone", budget: 2))
        #expect(try department("new") == nil)
        #expect(try store.operations(from: id + 3) { $0.origin } == [.local, .local, .local])
        let logged = try store.operations(from: id + 3, limit: 3)
        #expect(logged.allSatisfy { $0.author == "ada" && $0.context == "undo" })
        let redo = try await store.redo(undo)
        #expect(redo.undone.count == 3)
        #expect(try department("edited") == Department(id: "edited", name: "new"))
        #expect(try department("gone") == nil)
        #expect(try department("new")?.name == "new")
        try await store.expectConsistent()
    }

    @Test func `fields that others changed stay`() async throws {
        _ = try await transaction { try $0.save(Department(id: "d", name: "old", budget: 1)) }
        let id = try await transaction { try $0.save(Department(id: "d", name: "new", budget: 1)) }
        _ = try await transaction { try $0.save(Department(id: "d", name: "new", budget: 2)) }
        try await store.undo(transaction: id)
        #expect(try department("d") == Department(id: "d", name: "old", budget: 2))
    }

    @Test func `records that were changed since are named, and nothing is done`() async throws {
        _ = try await transaction { try $0.save(Department(id: "a", name: "old")) }
        let id = try await transaction { tx in
            try tx.save(Department(id: "a", name: "new"))
            try tx.save(Department(id: "b", name: "new"))
        }
        _ = try await transaction { try $0.save(Department(id: "a", name: "newer")) }
        let image = try store.image()
        do {
            try await store.undo(transaction: id)
            Issue.record("the undo was not refused")
        } catch let error as StoreError {
            #expect(error.code == .changedSince)
            #expect(error.message.contains("Department a"))
            #expect(!error.message.contains("Department b"))
        }
        #expect(try store.image() == image)
        let report = try await store.undo(transaction: id, .skippingChanged)
        #expect(report.skipped.map(\.name) == ["a"])
        #expect(report.undone.map(\.name) == ["b"])
        #expect(try department("a")?.name == "newer")
        #expect(try department("b") == nil)
    }

    @Test func `a cascade comes back whole, and an undo takes nothing else along`() async throws {
        _ = try await transaction { tx in
            try tx.save(Department(id: "d", name: "d"))
            try tx.save(Employee(id: "e", name: "e", email: "e", department: "d"))
            try tx.save(Project(id: "p", title: "p", lead: "e"))
        }
        let tables = try store.read { try $0.fetch(Employee.self) }
        let id = try await transaction { try $0.delete(Department.ID("d")) }
        #expect(try store.read { try $0.fetch(Project.self) }.first?.lead == nil)
        let undo = try await store.undo(transaction: id)
        #expect(undo.undone.count == 3)
        #expect(try store.read { try $0.fetch(Employee.self) } == tables)
        #expect(try store.read { try $0.fetch(Project.self) }.first?.lead == "e")

        // The employee moves to a department of the same transaction, and back before that goes.
        let move = try await transaction { tx in
            try tx.save(Employee(id: "e", name: "e", email: "e", department: "new"))
            try tx.save(Department(id: "new", name: "new"))
        }
        try await store.undo(transaction: move)
        #expect(try store.read { try $0.fetch(Employee.self) } == tables)
    }

    @Test func `a delete that a rule denies fails the undo, or is skipped`() async throws {
        let id = try await transaction { tx in
            try tx.save(Employee(id: "e", name: "e", email: "e"))
            try tx.save(Node(id: "n"))
        }
        _ = try await transaction { try $0.save(Badge(id: "b", number: 1, employee: "e")) }
        let image = try store.image()
        await #expect(throws: StoreError.self) { try await store.undo(transaction: id) }
        #expect(try store.image() == image)
        let report = try await store.undo(transaction: id, .skippingChanged)
        #expect(report.skipped.map(\.entity) == ["Employee"])
        #expect(report.undone.map(\.entity) == ["Node"])
    }

    @Test func `a name that was taken meanwhile keeps a record from coming back`() async throws {
        _ = try await transaction { try $0.save(Node(id: "x")) }
        let id = try await transaction { try $0.delete(Node.ID("x")) }
        _ = try await transaction { try $0.save(Department(id: "x", name: "x")) }
        do {
            try await store.undo(transaction: id)
            Issue.record("the undo was not refused")
        } catch let error as StoreError {
            #expect(error.code == .invalidName)
        }
        let swap = try await transaction { tx in
            try tx.delete(Department.ID("x"))
            try tx.save(Node(id: "x"))
        }
        try await store.undo(transaction: swap)
        #expect(try department("x")?.name == "x")
    }

    @Test func `what came to nothing needs no undo`() async throws {
        let id = try await transaction { tx in
            try tx.save(Node(id: "n"))
            try tx.delete(Node.ID("n"))
        }
        let head = try store.head
        let report = try await store.undo(transaction: id)
        #expect(report == UndoReport(transaction: nil, undone: [], skipped: []))
        #expect(try await store.redo(report) == report)
        #expect(try store.head == head)
    }

    @Test(arguments: [0, 2, 4, .max] as [UInt64])
    func `no transaction begins there`(id: UInt64) async throws {
        _ = try await transaction { tx in
            try tx.save(Node(id: "a"))
            try tx.save(Node(id: "b"))
            try tx.save(Node(id: "c"))
        }
        do {
            try await store.undo(transaction: id)
            Issue.record("the undo was not refused")
        } catch let error as StoreError {
            #expect(error.code == .notInLog)
        }
    }

    @Test func `a transaction that was compacted can't be undone`() async throws {
        let id = try await transaction { tx in
            try tx.save(Node(id: "a"))
            try tx.save(Node(id: "b"))
        }
        try await store.withLogWriter { context in
            for change in try OutboxFolder(context.reader).fold(recordsMax: .max).changes {
                try context.marks.acknowledge(
                    change.entity, change.key, through: change.through,
                    version: ServerVersion(changeTag: "t", modifiedMilliseconds: 1))
            }
            try context.marks.setOutboxFloor(context.head)
        }
        _ = try await transaction { try $0.save(Node(id: "c")) }
        try await store.compact(.keepUnsyncedOnly)
        do {
            try await store.undo(transaction: id)
            Issue.record("the undo was not refused")
        } catch let error as StoreError {
            #expect(error.code == .notInLog)
            #expect(error.message.contains("compacted"))
        }
    }

    @Test func `the last transactions of an author are listed`() async throws {
        for index in 0..<4 {
            try await store.write(author: index % 2 == 0 ? "ada" : "bob", context: "c\(index)") {
                try $0.save(Node(id: .init("n\(index)")))
                try $0.save(Node(id: .init("m\(index)")))
            }
        }
        let all = try store.read { try $0.transactions(limit: 9) }
        #expect(all.map(\.id) == [7, 5, 3, 1])
        #expect(all.map(\.operationCount) == [2, 2, 2, 2])
        let ada = try store.read { try $0.transactions(limit: 1, by: "ada") }
        #expect(ada.map(\.context) == ["c2"])
        #expect(try store.read { try $0.transactions(limit: 0) }.isEmpty)
        try await store.undo(transaction: try #require(ada.first).id)
        #expect(try store.read { try $0.count(Node.self) } == 6)
    }

    /// Undoing all transactions from the last one back passes through all states.
    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func `undo goes back through every state, and redo forward`(seed: UInt64) async throws {
        var model = StoreModel(seed: seed)
        var ids: [UInt64] = []
        var states: [[String]] = [try state()]
        for _ in 0..<12 {
            let steps = model.stepsWithoutDanglingReferences()
            let id = try await transaction { tx in for step in steps { try step.perform(tx) } }
            guard try store.head >= id else { continue }
            ids.append(id)
            states.append(try state())
        }
        let comment = Comment(rawValue: "seed \(seed)")
        var undone: [UndoReport] = []
        for (index, id) in ids.enumerated().reversed() {
            undone.append(try await store.undo(transaction: id))
            #expect(try state() == states[index], comment)
        }
        for (index, undo) in undone.reversed().enumerated() {
            try await store.redo(undo)
            #expect(try state() == states[index + 1], comment)
        }
        try await store.expectConsistent()
    }

    private func state() throws -> [String] {
        try store.read { transaction in
            try transaction.fetch(Department.self).map { "\($0)" }
                + transaction.fetch(Employee.self).map { "\($0)" }
                + transaction.fetch(Project.self).map { "\($0)" }
        }
    }
}

extension StoreModel {
    /// The next steps of one transaction, done here. No reference is to a record that is not there,
    /// because a delete rule would take the referrer along when an insert of that record is undone.
    fileprivate mutating func stepsWithoutDanglingReferences() -> [Step] {
        steps().map { step in
            var step = step
            if case .saveEmployee(var employee) = step {
                employee.department = employee.department.flatMap { departments[$0]?.id }
                step = .saveEmployee(employee)
            }
            if case .saveProject(var project) = step {
                project.lead = project.lead.flatMap { employees[$0]?.id }
                step = .saveProject(project)
            }
            perform([step])
            return step
        }
    }
}
