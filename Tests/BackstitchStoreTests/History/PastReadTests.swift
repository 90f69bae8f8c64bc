import Backstitch
import BackstitchCore
import Foundation
import LMDB
import TestBudget
import Testing

@testable import BackstitchStore

@Suite(.budgeted) struct PastReadTests {
    /// A store whose log ends with an operation, and whose tables follow from that.
    private func truncated(_ store: Store, at sequence: UInt64) async throws -> Store {
        let copy = try Store.inMemory(schema: .all)
        let content = try store.content()
        try copy.environment.tamper { access, databases in
            for (name, database) in [("log", databases.log), ("meta", databases.meta)] {
                for (key, value) in content[name] ?? [] {
                    try key.withUnsafeBytes { key in
                        guard name == "meta" || key.sequence <= sequence else { return }
                        try value.withUnsafeBytes { try access.put(key, $0, in: database) }
                    }
                }
            }
        }
        _ = try await copy.rebuild()
        return copy
    }

    /// The entries of all tables, through the reader.
    private func tables(_ transaction: borrowing BackstitchStore.ReadTransaction) throws
        -> [[UInt8]]
    {
        var prefixes: [[UInt8]] = [[TableKey.journal], [TableKey.parked]]
        for table in transaction.reader.catalog.tables {
            let entity = withUnsafeBytes(of: table.number.rawValue.bigEndian) { Array($0) }
            prefixes += [[TableKey.rows] + entity, [TableKey.unreadable] + entity]
            for attribute in table.indexed {
                let field = withUnsafeBytes(of: attribute.field.rawValue.bigEndian) { Array($0) }
                prefixes.append([TableKey.indexes] + entity + field)
            }
        }
        var entries: [[UInt8]] = []
        for prefix in prefixes {
            try prefix.withUnsafeBytes { prefix in
                try transaction.reader.visit(prefix: prefix) { key, value in
                    // Rows of then are folded from the log, and have the form that baselines carry.
                    let row = key.first == TableKey.rows ? RowView(value) : nil
                    let content = row.map { Array("\($0.header)".utf8) + Array($0.bodyBytes) }
                    entries += [Array(key), content ?? Array(value)]
                    return true
                }
            }
        }
        return entries
    }

    /// What queries, look-ups and the dynamic interface answer.
    private func answers(_ transaction: borrowing BackstitchStore.ReadTransaction) throws
        -> [String]
    {
        var answers = try transaction.fetch(Department.self).map { "\($0)" }
        answers += try transaction.fetch(Project.self).map { "\($0)" }
        let mail = Query<Employee>().where(#Predicate { $0.email >= "m1" && $0.email < "m3" })
        for query in [
            Query<Employee>(), mail, mail.limit(2),
            Query<Employee>().where(#Predicate { $0.email == "m2" }),
            Query<Employee>().sorted(by: \.email),
            Query<Employee>().sorted(by: \.email, order: .reverse),
            Query<Employee>().sorted(by: \.email, order: .reverse).limit(3),
            Query<Employee>().where(#Predicate { $0.age == nil }).sorted(by: \.name),
        ] {
            answers.append("\(try transaction.fetch(query)), \(try transaction.count(query))")
        }
        for index in 0..<8 {
            let department = Department(id: .init("d\(index)"), name: "")
            answers.append("\(try transaction.fetch(department.employees))")
            answers.append("\(try transaction.count(department.employees))")
            let employee = try? transaction.find(Employee.self, .init("e\(index)"))
            answers.append("\(String(describing: employee))")
            answers += try transaction.history(
                of: RecordID(entity: "Employee", name: "e\(index)")
            ).map { "\($0.sequence) \($0.kind) \($0.values?.count ?? -1)" }
        }
        for entity in ["Department", "Employee", "Project"] {
            answers.append("\(try transaction.count(of: entity))")
            answers += try transaction.records(of: entity, limit: .max, includesDeleted: true).map {
                "\($0.id) \($0.state) \($0.lastSequence) \($0.syncedSequence) \($0.values.count)"
            }
        }
        answers += try transaction.conflicts(limit: .max).map { "\($0.sequence)" }
        answers += try transaction.operations(limit: .max).map { "\($0.sequence)" }
        answers += try transaction.lastOperations(limit: 3).map { "\($0.sequence)" }
        return answers
    }

    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func `a past state answers as a store whose log ends there`(seed: UInt64) async throws {
        let history = try CompactionHistory(seed: seed)
        try await history.run(6)
        let store = history.store
        if seed % 3 == 0 {
            try await history.settle()
            _ = try await StoreCompaction(store, operationsPerChunk: 20).run(
                through: try store.head / 3)
        }
        let oldest = try store.read { try LogHorizon($0.reader).compaction.through }
        var random = SeededGenerator(seed: seed)
        var moments: Set<UInt64> = [oldest, try store.head]
        for _ in 0..<5 {
            moments.insert(UInt64.random(in: oldest...(try store.head), using: &random))
        }
        for moment in moments.sorted() {
            let comment = Comment(rawValue: "seed \(seed), after operation \(moment)")
            let expected = try await truncated(store, at: moment)
            #expect(try store.read(at: moment) { try $0.lastSequence } == moment, comment)
            #expect(
                try store.read(at: moment) { try tables($0) } == expected.read { try tables($0) },
                comment)
            #expect(
                try store.read(at: moment) { try answers($0) } == expected.read { try answers($0) },
                comment)
        }
    }

    @Test func `what a compacted log does not tell is refused with the oldest moment`() async throws
    {
        let history = try CompactionHistory(seed: 9)
        try await history.run(5)
        try await history.settle()
        let store = history.store
        _ = try await StoreCompaction(store, operationsPerChunk: 100).run(through: 20)
        let oldest = try store.read { try LogHorizon($0.reader).compaction.through }
        let error = failure { try store.read(at: oldest - 1) { _ in } }
        #expect(error?.code == .notInLog)
        #expect(error?.message.contains("after operation \(oldest).") == true)
        #expect(try store.read(at: oldest) { try $0.lastSequence } == oldest)
    }

    @Test func `the empty store before the first operation can be read, the future can't`()
        async throws
    {
        let store = try Store.inMemory(schema: .all)
        try await store.write { _ = try $0.save(Node(id: "a")) }
        #expect(try store.read(at: 0) { try $0.count(Node.self) } == 0)
        #expect(try store.read(at: 1) { try $0.count(Node.self) } == 1)
        let error = failure { try store.read(at: 2) { _ in } }
        #expect(error?.code == .notInLog)
        #expect(error?.message.contains("the log ends with 1") == true)
        store.close()
        #expect(failure { try store.read(at: 0) { _ in } }?.code == .closed)
    }

    @Test func `a past read is a snapshot: later writes don't show, and none can begin in it`()
        async throws
    {
        let store = try Store.inMemory(schema: .all)
        for name in ["one", "two"] {
            try await store.write { _ = try $0.save(Department(id: "d", name: name)) }
        }
        let (name, error) = try store.read(at: 1) { past in
            let error = failure { try store.write { _ = try $0.save(Node(id: "n")) } }
            return (try past.find(Department.self, "d")?.name, error)
        }
        #expect(name == "one")
        #expect(error?.code == .nestedWrite)
        #expect(throws: Planned.self) { try store.read(at: 1) { _ in throw Planned() } }
    }
}
