import Backstitch
import Foundation
import Glibc
import TestBudget
import Testing
import Threading
import Waiting

@testable import BackstitchCore
@testable import BackstitchLog
@testable import BackstitchStore
@testable import LMDB

/// Reads of many rows take several threads, and give what one thread gives.
@Suite(.budgeted) struct ParallelReadTests {
    private static let count = 12_000

    private static func employee(_ number: Int, round: Int = 0) -> Employee {
        Employee(
            id: .init("employee-\(100_000 + number)"), name: "n\(number * 7_919 % 5_003)",
            email: "m\(number % 97)", age: number % 11 == 0 ? nil : (number * 31 + round) % 1_000)
    }

    private func configuration(threads: Int) -> StoreConfiguration {
        var configuration = StoreConfiguration()
        configuration.readThreadsMax = threads
        return configuration
    }

    /// A store whose rows are in the data file, in the journal and in both, with holes.
    private func fill(_ store: Store) throws {
        try store.write { tx in
            for number in 0..<Self.count { try tx.save(Self.employee(number)) }
        }
        for number in stride(from: 5, to: Self.count, by: 997) {
            try store.write { try $0.save(Self.employee(number, round: 3)) }
            try store.write { _ = try $0.delete(Self.employee(number + 1).id) }
            try store.write { try $0.save(Self.employee(Self.count + number)) }
        }
    }

    @Test func `answers, their order and counts are those of one thread`() throws {
        let folder = try TemporaryFolder()
        let one = try folder.open(configuration: configuration(threads: 1))
        defer { one.close() }
        try fill(one)
        let several = try folder.open(configuration: configuration(threads: 4))
        defer { several.close() }
        let all = Query<Employee>()
        let some = all.where(#Predicate { $0.name.contains("7") })
        let queries = [
            all, some, all.where(#Predicate { $0.name == "nothing" }),
            all.sorted(by: \.age), all.sorted(by: \.age, order: .reverse).limit(50),
            some.sorted(by: \.name).offset(7).limit(33), some.sorted(by: \.age).sorted(by: \.name),
            some.offset(3), some.limit(4), all.sorted(by: \.name).limit(0),
        ]
        for (number, query) in queries.enumerated() {
            let expected = try one.read { try ($0.fetch(query), $0.count(query)) }
            let found = try several.read { try ($0.fetch(query), $0.count(query)) }
            // Few words where all differ.
            let same = found.0 == expected.0
            #expect(same, "query \(number)")
            let counts = [[found.0.count, found.1], [expected.0.count, expected.1]]
            #expect(counts[0] == counts[1], "query \(number)")
        }
    }

    /// Runs a closure with the reader of a snapshot, and the pieces of its employees.
    private func withParts<Result>(
        of store: Store, _ body: (TableReader, [KeyRange]) throws -> Result
    ) throws -> Result {
        try store.read { tx in
            let number = try tx.types.binding(of: Employee.self).number
            return try body(tx.reader, tx.reader.rowParts(of: number))
        }
    }

    @Test(.enabled(if: ParallelReads.processors > 1))
    func `pieces are read on two threads, each once`()
        async throws
    {
        let folder = try TemporaryFolder()
        let store = try folder.open(configuration: configuration(threads: 2))
        defer { store.close() }
        try fill(store)
        // Other tests may have the helper for a moment.
        try await eventually {
            let seen = Locked((threads: Set<UInt>(), numbers: [Int]()))
            let ran = try withParts(of: store) { reader, parts in
                #expect(parts.count > 1)
                return try reader.alongside(count: parts.count) { number, _ in
                    seen.withLock {
                        $0.threads.insert(UInt(pthread_self()))
                        $0.numbers.append(number)
                    }
                    // The first thread leaves a piece for the other one, however late that wakes.
                    blockUntil { seen.withLock { $0.threads.count } > 1 }
                }
            }
            guard ran else { return false }
            let numbers = seen.withLock { $0.numbers }
            #expect(numbers.sorted() == Array(0..<numbers.count))
            #expect(seen.withLock { $0.threads.count } == 2)
            return true
        }
    }

    @Test(.enabled(if: ParallelReads.processors > 1))
    func `the failure of the first piece is thrown`()
        async throws
    {
        let folder = try TemporaryFolder()
        let store = try folder.open(configuration: configuration(threads: 2))
        defer { store.close() }
        try fill(store)
        try await eventually {
            let begun = Locked<[Int]>([])
            do {
                let ran = try withParts(of: store) { reader, _ in
                    try reader.alongside(count: 50) { number, _ in
                        begun.withLock { $0.append(number) }
                        // The other thread fails too.
                        if number == 3 { blockUntil { begun.withLock { $0.contains(4) } } }
                        if number >= 3 { throw Planned(number: number) }
                    }
                }
                #expect(!ran)
                return false
            } catch {
                #expect(error as? Planned == Planned(number: 3))
                // No more were given out.
                #expect(begun.withLock { $0.count } <= 6)
                return true
            }
        }
    }

    @Test(.enabled(if: ParallelReads.processors > 1))
    func `all threads of a read end with its task`()
        async throws
    {
        let folder = try TemporaryFolder()
        let store = try folder.open(configuration: configuration(threads: 2))
        defer { store.close() }
        try fill(store)
        try await eventually {
            let (begun, cancelled) = (Locked(0), Locked(0))
            let reading = Locked<Task<Bool, any Error>?>(nil)
            let task = Task {
                while reading.withLock({ $0 == nil }) { await Task.yield() }
                return try store.read(interruption: ReadInterruption()) { tx in
                    try tx.reader.alongside(count: 2) { _, reader in
                        let isSecond = begun.withLock { begun in
                            begun += 1
                            return begun == 2
                        }
                        if isSecond { reading.withLock { $0?.cancel() } }
                        while true {
                            do {
                                _ = try reader.meta.value("none")
                            } catch let error as LMDBError where error.code == .cancelled {
                                cancelled.withLock { $0 += 1 }
                                throw error
                            }
                        }
                    }
                }
            }
            reading.withLock { $0 = task }
            let result = await task.result
            guard begun.withLock({ $0 }) == 2 else {
                let isAlongside = try? result.get()
                #expect(isAlongside == false)
                return false
            }
            #expect(throws: CancellationError.self) { try result.get() }
            #expect(cancelled.withLock { $0 } == 2)
            return true
        }
    }

    @Test func `a read of an earlier state takes one thread, and sees that state`() throws {
        let folder = try TemporaryFolder()
        let store = try folder.open(configuration: configuration(threads: 4))
        defer { store.close() }
        try fill(store)
        let before = try store.read { try $0.fetch(Employee.self) }
        try store.read { tx in
            let written = DispatchSemaphore(value: 0)
            SystemThread.detach {
                for number in [17, 9_000] {
                    _ = try? store.write { try $0.delete(Self.employee(number).id) }
                }
                written.signal()
            }
            written.wait()
            let ran = try tx.reader.alongside(count: 2) { _, _ in }
            #expect(!ran)
            #expect(try tx.fetch(Employee.self) == before)
            #expect(try tx.count(Employee.self) == before.count)
        }
        #expect(try store.read { try $0.count(Employee.self) } == before.count - 2)
    }

    @Test func `small entities, writes and past states take one thread`() throws {
        let folder = try TemporaryFolder()
        let store = try folder.open(configuration: configuration(threads: 4))
        defer { store.close() }
        try fill(store)
        try store.save(Department(id: "d", name: "One"))
        try store.read { tx in
            let number = try tx.types.binding(of: Department.self).number
            #expect(try tx.reader.rowParts(of: number).isEmpty)
            let employees = try tx.types.binding(of: Employee.self).number
            #expect(try !tx.reader.rowParts(of: employees).isEmpty)
            #expect(try tx.reader.at(50).rowParts(of: employees).isEmpty)
        }
        try store.write { tx in
            let employees = try tx.types.binding(of: Employee.self).number
            #expect(try tx.reader.rowParts(of: employees).isEmpty)
            try tx.save(Self.employee(50_000))
            #expect(try tx.fetch(Employee.self).contains { $0.id == Self.employee(50_000).id })
        }
    }

    @Test func `many readers beside a writer see whole states`() async throws {
        let folder = try TemporaryFolder()
        let store = try folder.open(configuration: configuration(threads: 2))
        defer { store.close() }
        try await store.write { tx in
            for number in 0..<9_000 {
                try tx.save(
                    Employee(id: .init("e\(10_000 + number)"), name: "a", email: "", age: 1))
            }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<20 {
                        // Each write takes from one what it gives to another.
                        let ages = try await store.asyncRead {
                            try $0.fetch(Query<Employee>().where(#Predicate { $0.name == "a" }))
                                .compactMap(\.age)
                        }
                        #expect(ages.count == 9_000 && ages.reduce(0, +) == 9_000)
                    }
                }
            }
            group.addTask {
                for round in 0..<60 {
                    try await store.write { tx in
                        for number in [round * 149 % 9_000, 8_999 - round] {
                            guard
                                var employee = try tx.find(
                                    Employee.ID("e\(10_000 + number)")),
                                let age = employee.age
                            else { continue }
                            employee.age = age + (number == 8_999 - round ? 1 : -1)
                            try tx.save(employee)
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func `pieces have about as many rows, however keys are spread`() throws {
        let folder = try TemporaryFolder()
        let store = try folder.open(configuration: configuration(threads: 2))
        defer { store.close() }
        // Nearly all of them close to each other, between two that are far away.
        try store.write { tx in
            for number in 0..<Self.count { try tx.save(Self.employee(number)) }
            try tx.save(Employee(id: .init("a"), name: "first", email: "", age: 1))
            try tx.save(Employee(id: .init("z"), name: "last", email: "", age: 1))
        }
        try withParts(of: store) { reader, parts in
            let number = try #require(reader.catalog.tables.first { $0.name == "Employee" }).number
            let counts = try parts.map { part in
                var count = 0
                try reader.visitRows(of: number, within: part, reversed: false) { _, _ in
                    count += 1
                    return true
                }
                return count
            }
            #expect(parts.count == 8)
            #expect(counts.reduce(0, +) == Self.count + 2)
            #expect(counts.allSatisfy { $0 < Self.count / 8 * 3 / 2 }, "\(counts)")
        }
    }

    @Test func `pages are parted evenly`() {
        func nodes(_ counts: [Int], _ parts: Int) -> [[Int]] {
            ParallelReads.beginnings(of: parts, inBranches: counts).map { [$0.page, $0.node] }
        }
        #expect(nodes([], 4).isEmpty)
        #expect(nodes([1], 4).isEmpty)
        #expect(nodes([8], 1).isEmpty)
        #expect(nodes([8], 4) == [[0, 2], [0, 4], [0, 6]])
        #expect(nodes([9], 4) == [[0, 2], [0, 4], [0, 6]])
        #expect(nodes([11], 4) == [[0, 2], [0, 5], [0, 8]])
        #expect(nodes([4], 4) == [[0, 1], [0, 2], [0, 3]])
        #expect(nodes([3], 8) == [[0, 1], [0, 2]])
        #expect(nodes([4, 4], 4) == [[0, 2], [1, 1], [1, 2]])
        #expect(nodes([1, 1, 6], 8) == [[2, 1], [2, 2], [2, 3], [2, 4], [2, 5]])
    }
}
