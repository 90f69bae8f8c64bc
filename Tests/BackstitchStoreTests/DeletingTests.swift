import Backstitch
import BackstitchCore
import TestBudget
import Testing

@testable import BackstitchStore

@Suite(.budgeted) struct DeletingTests {
    let store: Store

    init() throws { store = try Store.inMemory(schema: .all) }

    private func deleted(from first: UInt64) throws -> [String] {
        try store.operations(from: first) { operation in
            operation.kind == .delete ? try operation.key.description : ""
        }
    }

    @Test func `a cascade deletes referrers first`() async throws {
        try await store.write { transaction in
            try transaction.save(Department(id: "d", name: "One"))
            try transaction.save(Employee(id: "e1", name: "", email: "", department: "d"))
            try transaction.save(Employee(id: "e2", name: "", email: "", department: "d"))
            try transaction.save(Employee(id: "free", name: "", email: ""))
        }
        #expect(try await store.write { try $0.delete(Department.ID("d")) })
        let order = try deleted(from: 5)
        #expect(order.count == 3)
        #expect(order.last == "d")
        #expect(try store.read { try $0.fetch(Employee.self).map(\.id) } == ["free"])
        try await store.expectConsistent()
    }

    @Test func `a referrer of two deleted records goes before both`() async throws {
        try await store.write { transaction in
            try transaction.save(Department(id: "d", name: ""))
            try transaction.save(Employee(id: "e", name: "", email: "", department: "d"))
            try transaction.save(Badge(id: "b", number: 1, employee: "e", department: "d"))
        }
        try await store.write { _ = try $0.delete(Department.ID("d")) }
        let order = try deleted(from: 4)
        #expect(order.last == "d")
        try await store.expectConsistent()
    }

    @Test func `cycles of cascades end`() async throws {
        try await store.write { transaction in
            try transaction.save(Node(id: "a", parent: "c"))
            try transaction.save(Node(id: "b", parent: "a"))
            try transaction.save(Node(id: "c", parent: "b"))
            try transaction.save(Node(id: "self", parent: "self"))
        }
        try await store.write { _ = try $0.delete(Node.ID("b")) }
        #expect(try store.read { try $0.fetch(Node.self).map(\.id) } == ["self"])
        try await store.write { _ = try $0.delete(Node.ID("self")) }
        #expect(try store.read { try $0.count(Node.self) } == 0)
        try await store.expectConsistent()
    }

    @Test func `a chain of 100,000 cascades ends without a deep stack`() throws {
        let count = 100_000
        try store.write { transaction in
            for index in 0..<count {
                let parent = index == 0 ? nil : Node.ID("n\(index - 1)")
                try transaction.save(Node(id: .init("n\(index)"), parent: parent))
            }
        }
        try store.write { _ = try $0.delete(Node.ID("n0")) }
        #expect(try store.read { try $0.count(Node.self) } == 0)
        #expect(try store.head == UInt64(2 * count))
        #expect(try deleted(from: UInt64(2 * count)) == ["n0"])
    }

    @Test func `nullify clears the reference and keeps the record`() async throws {
        try await store.write { transaction in
            try transaction.save(Employee(id: "e", name: "", email: ""))
            try transaction.save(Project(id: "p", title: "Bridge", lead: "e"))
        }
        try await store.write { _ = try $0.delete(Employee.ID("e")) }
        #expect(
            try store.read { try $0.find(Project.self, "p") } == Project(id: "p", title: "Bridge"))
        try await store.expectConsistent()
    }

    @Test func `deny keeps everything`() throws {
        try store.write { transaction in
            try transaction.save(Department(id: "d", name: ""))
            try transaction.save(Employee(id: "e", name: "", email: "", department: "d"))
            try transaction.save(Project(id: "p", title: "", lead: "e"))
            try transaction.save(Badge(id: "b", number: 1, employee: "e"))
        }
        let before = try store.image()
        for name in ["d", "e"] {
            let error = failure {
                try store.write { transaction in
                    if name == "d" { try transaction.delete(Department.ID("d")) }
                    if name == "e" { try transaction.delete(Employee.ID("e")) }
                }
            }
            #expect(error?.code == .deleteDenied)
            #expect(error?.message.contains("Badge.employee of b") == true)
        }
        #expect(try store.image() == before)
    }

    @Test func `a refused delete leaves the rest of its write usable`() async throws {
        try await store.write { transaction in
            try transaction.save(Employee(id: "e", name: "", email: ""))
            try transaction.save(Badge(id: "b", number: 1, employee: "e"))
            #expect(throws: StoreError.self) { try transaction.delete(Employee.ID("e")) }
            try transaction.save(Node(id: "n"))
        }
        #expect(try store.head == 3)
        try await store.expectConsistent()
    }

    @Test func `deny is met where the referrer is deleted too`() async throws {
        try await store.write { transaction in
            try transaction.save(Department(id: "d", name: ""))
            try transaction.save(Employee(id: "e", name: "", email: "", department: "d"))
            try transaction.save(Badge(id: "b", number: 1, employee: "e", department: "d"))
        }
        try await store.write { _ = try $0.delete(Department.ID("d")) }
        #expect(try store.read { try $0.count(Badge.self) + $0.count(Employee.self) } == 0)
        try await store.expectConsistent()
    }

    @Test func `noAction leaves a dangling reference, which finds its target again`() async throws {
        try await store.write { transaction in
            try transaction.save(Node(id: "a"))
            try transaction.save(Node(id: "b", friend: "a"))
        }
        try await store.write { _ = try $0.delete(Node.ID("a")) }
        #expect(try store.read { try $0.find(Node.self, "b") }?.friend == "a")
        #expect(try store.read { try $0.find(Node.self, "a") } == nil)
        try await store.write { try $0.save(Node(id: "a")) }
        try await store.expectConsistent()
    }

    @Test func `very long names of targets are told apart`() async throws {
        let stem = String(repeating: "x", count: 254)
        try await store.write { transaction in
            for end in ["a", "b"] {
                try transaction.save(Node(id: .init(stem + end)))
                try transaction.save(Node(id: .init("of-" + end), parent: .init(stem + end)))
            }
        }
        try await store.write { _ = try $0.delete(Node.ID(stem + "a")) }
        #expect(try store.read { try $0.find(Node.self, "of-a") } == nil)
        #expect(try store.read { try $0.find(Node.self, "of-b") } != nil)
        try await store.expectConsistent()
    }
}
