import Backstitch
import BackstitchCore
import BackstitchViews
import Foundation
import TestBudget
import Testing
import Threading

@testable import BackstitchStore

extension Store {
    /// What a read looked at, as an index of one observation.
    func footprint(
        of read: (borrowing ReadTransaction) throws -> Void
    ) throws -> ObservationIndex {
        let footprint = ReadFootprint()
        return try self.read(footprint: footprint) { transaction in
            try read(transaction)
            return try ObservationIndex(footprint, of: 1, transaction.reader)
        }
    }

    /// Whether a change concerns an index.
    func touches(_ index: ObservationIndex, _ change: ChangeSet) throws -> Bool {
        var work = ObservationIndex.Work()
        return try read { try !index.touched(by: change, in: $0.reader, &work).isEmpty }
    }
}

@Suite(.budgeted) struct ObservationTests {
    typealias Read = @Sendable (borrowing ReadTransaction) throws -> Void
    typealias Write = @Sendable (borrowing WriteTransaction) throws -> Void

    static let ages = GroupedTotals("ages", of: Employee.self, by: \.email, sum: \.age)
    static let late = GroupedTotals(
        "late", of: Employee.self, by: \.email, sum: \.age, mode: .catchingUp)

    let store: Store

    init() throws {
        store = try Store.inMemory(
            schema: .all, configuration: StoreConfiguration(projections: [Self.ages, Self.late]))
        try store.write { transaction in
            try transaction.save(Department(id: "d", name: "One", budget: 5))
            try transaction.save(Department(id: "e", name: "Two"))
            try transaction.save(
                Employee(id: "a", name: "A", email: "x", age: 3, department: "d"))
            try transaction.save(
                Employee(id: "b", name: "B", email: "y", age: 7, department: "e"))
            try transaction.save(Project(id: "p", title: "P", lead: "a"))
        }
    }

    private func touches(_ read: Read, _ write: @escaping Write) async throws -> Bool {
        let index = try store.footprint(of: read)
        var changes = store.changes().makeAsyncIterator()
        try await store.write(write)
        return try store.touches(index, try #require(await changes.next()))
    }

    // MARK: What is noted

    private static func edit<Model: Entity>(
        _ id: EntityID<Model>, in transaction: borrowing WriteTransaction,
        _ change: (inout Model) -> Void
    ) throws {
        guard var model = try transaction.find(id) else { return }
        change(&model)
        try transaction.save(model)
    }

    static let x = Query<Employee>().where(\.email, is: "x")
    static let changesX: Write = { try edit(Employee.ID("a"), in: $0) { $0.name = "Other" } }
    static let changesY: Write = { try edit(Employee.ID("b"), in: $0) { $0.name = "Other" } }
    static let movesY: Write = { try edit(Employee.ID("b"), in: $0) { $0.email = "x" } }
    static let changesDepartment: Write = {
        try edit(Department.ID("d"), in: $0) { $0.name = "Other" }
    }

    /// Reads, each with a write that concerns it and one that does not.
    static let reads: [(name: String, read: Read, concerns: Write, other: Write)] = [
        ("find", { _ = try $0.find(Employee.ID("a")) }, changesX, changesY),
        (
            "find none", { _ = try $0.find(Employee.ID("n")) },
            { try $0.save(Employee(id: "n", name: "", email: "")) }, changesX
        ),
        (
            "exists", { _ = try $0.exists(Employee.ID("a")) },
            { _ = try $0.delete(Employee.ID("a")) }, changesY
        ),
        ("fetch", { _ = try $0.fetch(x) }, movesY, changesY),
        ("first", { _ = try $0.first(x) }, changesX, changesY),
        ("any", { _ = try $0.exists(x) }, changesX, changesY),
        ("count", { _ = try $0.count(x) }, movesY, changesY),
        ("count of all", { _ = try $0.count(Employee.self) }, changesY, changesDepartment),
        ("select", { _ = try $0.select(x, \.name) }, changesX, changesY),
        ("page", { _ = try $0.page(x, count: 5) }, changesX, changesY),
        ("aggregate", { _ = try $0.aggregate(x, .sum(\.age)) }, movesY, changesY),
        ("extreme", { _ = try $0.aggregate(x, .maximum(\.email)) }, changesX, changesY),
        ("groups", { _ = try $0.groups(x, by: GroupKeys(\.age), .count()) }, movesY, changesY),
        ("distinct", { _ = try $0.distinct(x, \.name) }, changesX, changesY),
        (
            "referrers", { _ = try $0.fetch(Department(id: "d", name: "").employees) },
            changesX, changesY
        ),
        (
            "past an offset", { _ = try $0.fetch(x.offset(1)) },
            { _ = try $0.delete(Employee.ID("a")) }, changesY
        ),
        ("record by name", { _ = try $0.record("a", of: "Employee") }, changesX, changesY),
        (
            "query by name",
            {
                _ = try $0.fetch(
                    RecordQuery(entity: "Employee").where(.equal("email", "x")))
            }, movesY, changesY
        ),
        ("view", { _ = try $0.view(of: ages).count() }, changesY, changesDepartment),
        ("explain", { _ = try $0.explain(x, running: true) }, changesX, changesDepartment),
        (
            "two entities",
            {
                _ = try $0.find(Department.ID("d"))
                _ = try $0.count(x)
            }, changesDepartment, changesY
        ),
    ]

    @Test(arguments: reads.map(\.name))
    func `a read is concerned by what it looked at only`(name: String) async throws {
        let read = try #require(Self.reads.first { $0.name == name })
        #expect(try await !touches(read.read, read.other))
        #expect(try await touches(read.read, read.concerns))
    }

    @Test func `a read of the log is concerned by any commit`() async throws {
        #expect(try await touches({ _ = try $0.lastSequence }, Self.changesDepartment))
    }

    @Test func `what is noted is bounded, and then any change of the entity counts`() throws {
        var records = ReadFootprint.Records()
        for number in 0...ReadFootprint.Records.conditionsMax {
            #expect(!records.isWhole)
            records.add(
                Condition.comparison(
                    .attribute("a"), .equal, .constant(.int64(Int64(number)))))
        }
        #expect(records.isWhole && records.conditions.isEmpty)
        records = ReadFootprint.Records()
        for number in 0...ReadFootprint.Records.keysMax {
            #expect(!records.isWhole)
            withUnsafeBytes(of: number) { records.add($0) }
        }
        #expect(records.isWhole && records.keys.isEmpty)
    }

    // MARK: Streams

    @Test func `a read of several entities runs again when one of them changed`() async throws {
        var results = store.observe { transaction in
            [try transaction.count(Self.x), try transaction.count(Project.self)]
        }.makeAsyncIterator()
        #expect(try await results.next() == [1, 1])
        try await store.write(Self.movesY)
        #expect(try await results.next() == [2, 1])
        try await store.write { _ = try $0.delete(Project.ID("p")) }
        #expect(try await results.next() == [2, 0])
    }

    @Test func `one record is observed by its id, before it is there and after`() async throws {
        var results = store.observe(Employee.ID("n")).makeAsyncIterator()
        #expect(try await results.next() == .some(nil))
        let employee = Employee(id: "n", name: "N", email: "n")
        try await store.write { try $0.save(employee) }
        #expect(try await results.next() == employee)
        try await store.write { _ = try $0.delete(employee.id) }
        #expect(try await results.next() == .some(nil))
    }

    @Test func `a slow reader gets the newest result`() async throws {
        var results = store.observe { try $0.find(Department.ID("d"))?.budget }
            .makeAsyncIterator()
        #expect(try await results.next() == 5)
        for budget in 6...200 {
            try await store.write { try $0.save(Department(id: "d", name: "One", budget: budget)) }
        }
        #expect(try await results.next() == 200)
    }

    @Test func `equal results are left out`() async throws {
        var results = store.observe { try $0.count(Self.x) }.makeAsyncIterator()
        #expect(try await results.next() == 1)
        try await store.write(Self.changesX)
        try await store.write(Self.movesY)
        #expect(try await results.next() == 2)
    }

    @Test func `a view that catches up is observed`() async throws {
        try await store.prepareProjections()
        var results = store.observe { try $0.view(of: Self.late).totals(of: "x")?.count }
            .makeAsyncIterator()
        #expect(try await results.next() == 1)
        try await store.write(Self.movesY)
        #expect(try await results.next() == 2)
    }

    @Test func `an error is thrown, and the read can be tried again`() async throws {
        let fails = Locked(true)
        var results = store.observe { transaction in
            if fails.withLock({ $0 }) { throw Planned(number: 1) }
            return try transaction.count(Self.x)
        }.makeAsyncIterator()
        await #expect(throws: Planned(number: 1)) { try await results.next() }
        fails.withLock { $0 = false }
        #expect(try await results.next() == 1)
    }

    @Test func `closing the store and cancelling the task end a stream`() async throws {
        var results = store.observe { try $0.count(Self.x) }.makeAsyncIterator()
        #expect(try await results.next() == 1)
        let stream = store.observe { try $0.count(Project.self) }
        let first = Locked(false)
        let task = Task {
            var count = 0
            for try await _ in stream {
                count += 1
                first.withLock { $0 = true }
            }
            return count
        }
        while !first.withLock({ $0 }) { await Task.yield() }
        task.cancel()
        #expect(try await task.value == 1)
        store.close()
        #expect(try await results.next() == nil)
    }

    @Test func `commits of another handle count`() async throws {
        let folder = try TemporaryFolder()
        let (one, other) = (try folder.open(), try folder.open())
        var results = one.observe { try $0.count(Employee.self) }.makeAsyncIterator()
        #expect(try await results.next() == 0)
        try await other.write { try $0.save(Employee(id: "a", name: "", email: "")) }
        #expect(try await results.next() == 1)
        other.close()
        one.close()
    }

    @Test func `those whom a commit does not concern do not run`() async throws {
        try await store.write { transaction in
            for number in 0..<200 {
                try transaction.save(
                    Department(id: .init("\(number)"), name: "", budget: 1000 + number))
            }
        }
        var live: [ReadStream<[Int?]>.Iterator] = []
        for number in 0..<200 {
            let query = Query<Department>().where(\.budget, is: 1000 + number)
            var iterator = store.observe { try $0.fetch(query).map(\.budget) }.makeAsyncIterator()
            #expect(try await iterator.next() == [1000 + number])
            live.append(iterator)
        }
        let before = store.observers.work
        for step in 0..<50 {
            try await store.write { transaction in
                try transaction.save(Department(id: "7", name: "\(step)", budget: 1007))
            }
        }
        try await store.write { try $0.save(Department(id: "7", name: "", budget: 1008)) }
        #expect(try await live[8].next()?.count == 2)
        #expect(try await live[7].next() == [])
        let work = store.observers.work
        #expect(work.runs - before.runs <= 4)
        #expect(work.rows - before.rows <= 51)
        #expect(work.conditions - before.conditions <= 51 * 200)
    }
}
