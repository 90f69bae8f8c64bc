import Backstitch
import BackstitchCore
import BackstitchViews
import Foundation
import TestBudget
import Testing

@testable import BackstitchStore

@Suite(.budgeted) struct ErasingTests {
    /// Occurs in each value of the record to erase, and nowhere else.
    private let secret = "qvxzj"

    private let index = TextIndex("search", TextSource(Employee.self, \.name))
    private let totals = GroupedTotals(
        "ages", of: Employee.self, by: \.email, sum: \.age, keepsExtremes: true)

    private func secretEmployee(_ version: Int) -> Employee {
        Employee(
            id: "e", name: "\(secret)\(version) \(secret)", email: "\(secret)\(version)@x.example",
            age: version, department: "d")
    }

    /// A store with a record of several versions between other records.
    private func fill(_ store: Store) throws {
        try store.write { try $0.save(Department(id: "d", name: "One")) }
        for version in 0..<3 {
            try store.write(context: "version \(version)") { transaction in
                try transaction.save(secretEmployee(version))
                try transaction.save(
                    Employee(id: "other", name: "Ada \(version)", email: "ada@x.example"))
            }
        }
    }

    /// Whether any key or value that the store has holds the secret.
    private func holdsSecret(_ store: Store) throws -> Bool {
        let secret = Data(secret.utf8)
        return try store.image().contains { Data($0).range(of: secret) != nil }
    }

    private func filesHoldSecret(_ folder: TemporaryFolder) throws -> Bool {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.store)
        return names.contains { name in
            let bytes = FileManager.default.contents(atPath: folder.store + "/" + name)
            return bytes?.range(of: Data(secret.utf8)) != nil
        }
    }

    @Test func `no key and no value of the store holds what was erased`() async throws {
        let store = try Store.projecting(index, totals)
        try fill(store)
        #expect(try holdsSecret(store))
        #expect(try await store.erase(Employee.ID("e")) == 4)
        #expect(try !holdsSecret(store))
        #expect(try store.read { try $0.fetch(Employee.self).map(\.id) } == ["other"])
        let words = try store.read { try $0.view(of: index).matches(TextQuery(secret)).count }
        #expect(words == 0)
        try await store.expectConsistent()
    }

    @Test func `a record that was deleted before is erased too`() async throws {
        let store = try Store.projecting(index)
        try fill(store)
        try await store.write { _ = try $0.delete(Employee.ID("e")) }
        #expect(try holdsSecret(store))
        #expect(try await store.erase(Employee.ID("e")) == 4)
        #expect(try !holdsSecret(store))
        #expect(try await store.erase(Employee.ID("e")) == 0)
        try await store.expectConsistent()
    }

    @Test func `views that lag behind the log are built again`() async throws {
        let lagging = GroupedTotals(
            "lagging", of: Employee.self, by: \.email, sum: \.age, mode: .catchingUp)
        let store = try Store.projecting(lagging)
        try await store.prepareProjections()
        try fill(store)
        try await store.prepareProjections()
        await store.stopProjections()
        try await store.write { try $0.save(Department(id: "later", name: "Later")) }
        #expect(try await store.erase(Employee.ID("e")) == 4)
        try await store.prepareProjections()
        #expect(try !holdsSecret(store))
        try await store.expectConsistent()
    }

    @Test func `the log keeps its operations, and the history their times alone`() async throws {
        let store = try Store.inMemory(schema: .all)
        try fill(store)
        let kinds = try store.operations { $0.kind }
        let times = try store.operations { $0.clock }
        let record = RecordID(entity: "Employee", name: "e")
        try await store.erase(record)
        #expect(try store.operations { $0.kind } == kinds + [.delete])
        #expect(try store.operations { $0.clock }.prefix(times.count) == times[...])
        #expect(try store.operations { $0.context }.contains("version 2"))
        let history = try store.history(of: record)
        #expect(history.allSatisfy { $0.values?.isEmpty ?? true })
        // The other record's history is whole.
        let other = try store.history(of: RecordID(entity: "Employee", name: "other"))
        #expect(other.compactMap { $0.values?["name"] } == ["Ada 2", "Ada 1", "Ada 0"])
        let names = try store.read(at: 5) { try $0.fetch(Employee.self).map(\.name) }
        #expect(names == ["Ada 1"])
    }

    @Test func `nothing brings the record back`() async throws {
        let store = try Store.inMemory(schema: .all)
        try fill(store)
        try await store.erase(Employee.ID("e"))
        let last = try store.head
        for transaction in [UInt64(2), 4, 6, last] {
            let report = try await store.undo(transaction: transaction, .skippingChanged)
            #expect(!report.undone.contains(RecordID(entity: "Employee", name: "e")))
        }
        await #expect(throws: StoreError.self) { try await store.undo(transaction: last) }
        #expect(try await !store.revert(Employee.ID("e")))
        #expect(try store.read { try $0.find(Employee.ID("e")) } == nil)
        try await store.expectConsistent()
        // A record of its name is another one.
        try await store.write { try $0.save(Employee(id: "e", name: "New", email: "new")) }
        #expect(try store.read { try $0.find(Employee.ID("e")) }?.name == "New")
        #expect(try await store.revert(Employee.ID("e")))
        try await store.expectConsistent()
    }

    @Test func `delete rules are followed, and a refusal changes nothing`() async throws {
        let store = try Store.inMemory(schema: .all)
        try fill(store)
        try await store.write { transaction in
            _ = try transaction.save(Badge(id: "b", number: 1, employee: "e"))
        }
        let before = try store.image()
        let error = await #expect(throws: StoreError.self) {
            try await store.erase(Employee.ID("e"))
        }
        #expect(error?.code == .deleteDenied)
        #expect(try store.image() == before)
        try await store.write { _ = try $0.delete(Badge.ID("b")) }
        try await store.erase(Employee.ID("e"))
        #expect(try !holdsSecret(store))
    }

    @Test func `what there never was is told`() async throws {
        let store = try Store.inMemory(schema: .all)
        try fill(store)
        let error = await #expect(throws: StoreError.self) {
            try await store.erase(Employee.ID("nobody"))
        }
        #expect(error?.code == .notFound)
        await #expect(throws: StoreError.self) {
            try await store.erase(RecordID(entity: "Nothing", name: "e"))
        }
    }

    @Test func `a commit that fails erases nothing, and it can be done again`() async throws {
        let store = try Store.inMemory(schema: .all)
        try fill(store)
        let before = try store.image()
        store.setCommitFault { throw Planned() }
        await #expect(throws: Planned.self) { try await store.erase(Employee.ID("e")) }
        store.setCommitFault(nil)
        #expect(try store.image() == before)
        #expect(try await store.erase(Employee.ID("e")) == 4)
        #expect(try !holdsSecret(store))
    }

    @Test func `the file holds nothing of it once it is written anew`() async throws {
        let folder = try TemporaryFolder()
        let store = try folder.open()
        try fill(store)
        try await store.erase(Employee.ID("e"))
        let image = try store.image()
        let busy = failure { try Store.rewriteFile(at: folder.store) }
        #expect(busy?.code == .busy || busy?.code == .openOtherwise)
        store.close()
        #expect(try filesHoldSecret(folder))
        try Store.rewriteFile(at: folder.store)
        #expect(try !filesHoldSecret(folder))
        let again = try folder.open()
        #expect(try again.image() == image)
        try await again.expectConsistent()
        try await again.write { try $0.save(Department(id: "new", name: "New")) }
        #expect(try again.read { try $0.count(Department.self) } == 2)
    }

    @Test func `a file is written anew in many parts`() async throws {
        let folder = try TemporaryFolder(inMemory: true)
        let store = try folder.open()
        for part in 0..<12 {
            try await store.write { transaction in
                for number in 0..<20 {
                    try transaction.save(
                        Department(
                            id: .init("\(part)-\(number)"),
                            name: String(repeating: "\(part)", count: 20_000)))
                }
            }
        }
        try await store.write { _ = try $0.delete(Department.ID("3-3")) }
        let image = try store.image()
        store.close()
        try Store.rewriteFile(at: folder.store)
        let again = try folder.open()
        #expect(try again.image() == image)
        #expect(try again.verify().problems == [])
    }

    @Test func `what is no store is not written anew`() throws {
        let folder = try TemporaryFolder()
        #expect(failure { try Store.rewriteFile(at: folder.store) }?.code == .notAStore)
        #expect(!FileManager.default.fileExists(atPath: folder.store))
    }
}
