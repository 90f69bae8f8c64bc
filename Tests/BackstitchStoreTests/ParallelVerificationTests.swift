import Backstitch
import TestBudget
import Testing
import Threading

@testable import BackstitchCore
@testable import BackstitchLog
@testable import BackstitchStore
@testable import LMDB

/// The log is applied in parts of the records, and found what it is found to be as a whole.
@Suite(.budgeted) struct ParallelVerificationTests {
    private static let count = 7_000

    private func configuration(threads: Int) -> StoreConfiguration {
        var configuration = StoreConfiguration.quick
        configuration.readThreadsMax = threads
        return configuration
    }

    /// Inserts, updates and deletes, of records that refer to each other.
    private func fill(_ store: Store) throws {
        try store.write { tx in
            for number in 0..<20 {
                try tx.save(Department(id: .init("d\(number)"), name: "\(number)"))
            }
            for number in 0..<Self.count {
                try tx.save(
                    Employee(
                        id: .init("e\(number)"), name: "n\(number % 91)", email: "m\(number)",
                        age: number % 70, department: .init("d\(number % 25)")))
            }
            for number in stride(from: 0, to: Self.count, by: 2) {
                try tx.save(
                    Employee(
                        id: .init("e\(number)"), name: "o\(number % 91)", email: "k\(number)",
                        age: nil, department: .init("d\(number % 3)")))
            }
            for number in stride(from: 0, to: Self.count, by: 9) {
                _ = try tx.delete(Employee.ID("e\(number)"))
            }
        }
    }

    /// The reports of a store's verification by one thread and by several.
    private func reports(
        of folder: TemporaryFolder,
        _ progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void
    ) throws -> [VerificationReport] {
        try [1, 2, 3].map { threads in
            let store = try folder.open(configuration: configuration(threads: threads))
            defer { store.close() }
            return try store.verify(progress: progress)
        }
    }

    @Test func `a whole store is found whole, entry by entry`() throws {
        let folder = try TemporaryFolder()
        let store = try folder.open(configuration: configuration(threads: 2))
        try fill(store)
        let entries = try store.read { try TablesDigest($0.reader).entries }
        store.close()
        let told = Locked<[(done: Int, total: Int)]>([])
        let found = try reports(of: folder) { done, total in
            told.withLock { $0.append((done, total)) }
        }
        for report in found {
            #expect(report.problems == [])
            #expect(report.operations > 11_000)
            #expect(report.entries == entries)
        }
        let done = told.withLock { $0 }
        #expect(done.allSatisfy { $0.done <= $0.total && $0.total > 22_000 })
        // It goes back at the beginning of a run only.
        #expect(zip(done, done.dropFirst()).count { $0.done > $1.done } == 2)
    }

    @Test func `one count of operations goes through the log, the tables and the views`() throws {
        var configuration = StoreConfiguration(projections: [Mirror()])
        configuration.readThreadsMax = 1
        let store = try Store.inMemory(schema: .all, configuration: configuration)
        try fill(store)
        let told = Locked<[(done: Int, total: Int)]>([])
        let report = try store.verify { done, total in
            told.withLock { $0.append((done, total)) }
        }
        #expect(report.problems == [])
        let found = told.withLock { $0 }
        #expect(found.allSatisfy { $0.total == 3 * report.operations })
        #expect(zip(found, found.dropFirst()).allSatisfy { $0.done < $1.done })
        let last = try #require(found.last)
        #expect(last.done > 2 * report.operations)
    }

    @Test(arguments: [TableKey.rows, TableKey.indexes, TableKey.inverses])
    func `an entry that is missing, too much or different is found`(table: UInt8) throws {
        let folder = try TemporaryFolder()
        let filled = try folder.open(configuration: configuration(threads: 2))
        try fill(filled)
        filled.close()
        let first = Locked<(key: [UInt8], value: [UInt8])>(([], []))
        try folder.tamper { access, databases in
            guard let entry = try access.firstEntry(of: table, databases) else { return }
            first.withLock { $0 = entry }
            try entry.key.withUnsafeBytes { try databases.delete($0, access) }
        }
        for report in try reports(of: folder, { _, _ in }) {
            #expect(report.problems.count == 1)
            #expect(report.problems.first?.contains("lack") == true)
            #expect(!report.isLogDamaged)
        }
        let (key, value) = first.withLock { $0 }
        try folder.tamper { access, databases in
            try key.withUnsafeBytes { key in
                try (value + [0]).withUnsafeBytes { try databases.put(key, $0, access) }
            }
        }
        for report in try reports(of: folder, { _, _ in }) {
            #expect(report.problems.count == 1)
            #expect(report.problems.first?.contains("another value") == true)
        }
        try folder.tamper { access, databases in
            try key.withUnsafeBytes { key in
                try value.withUnsafeBytes { try databases.put(key, $0, access) }
            }
            var other = key
            other[other.count - 1] ^= 1
            other += [0]
            try other.withUnsafeBytes { other in
                try value.withUnsafeBytes { try databases.put(other, $0, access) }
            }
        }
        for report in try reports(of: folder, { _, _ in }) {
            #expect(report.problems.count == 1)
            #expect(report.problems.first?.contains("does not follow") == true)
        }
    }

    /// At the end of an operation, in its key, and in what its beginning says it is.
    @Test(arguments: [9_001, 9_002] as [UInt64], [nil, 40, 1, 0] as [Int?])
    func `damage of the log is found`(sequence: UInt64, offset: Int?) throws {
        let folder = try TemporaryFolder()
        let filled = try folder.open(configuration: configuration(threads: 2))
        try fill(filled)
        filled.close()
        try folder.tamper { access, databases in
            try TableKey.withSequence(sequence) { key in
                guard var bytes = try access.get(key, in: databases.log).map(Array.init) else {
                    return
                }
                bytes[offset ?? bytes.count / 2] ^= 0x44
                try bytes.withUnsafeBytes { try access.put(key, $0, in: databases.log) }
            }
        }
        for report in try reports(of: folder, { _, _ in }) {
            #expect(report.isLogDamaged)
            // An operation that follows it is told too.
            #expect((1...2) ~= report.problems.count)
            #expect(report.problems.first?.contains("\(sequence)") == true)
        }
    }

    @Test func `each part of the records has its share of all tables`() throws {
        let folder = try TemporaryFolder()
        let store = try folder.open(configuration: configuration(threads: 2))
        defer { store.close() }
        try fill(store)
        try store.read { tx throws in
            let verifier = Verifier(reader: tx.reader)
            let all = try TablesDigest(tx.reader).entries
            for count in [1, 2, 7] {
                let parts = try RecordParts(tx.reader.log, count: count)
                #expect(parts.count == count)
                let replays = try (0..<count).map {
                    try verifier.replay(part: $0, of: parts, progress: { _ in })
                }
                let shares = replays.map { $0.rows.values.reduce(0, +) + $0.entries.count }
                #expect(shares.reduce(0, +) == all)
                #expect(shares.allSatisfy { $0 > all / count / 2 })
                #expect(replays.allSatisfy { $0.problem == nil })
            }
        }
    }

    @Test(arguments: [false, true])
    func `the operations of a record are visited together, in their order`(copies: Bool) throws {
        let folder = try TemporaryFolder()
        let store = try folder.open(configuration: configuration(threads: 1))
        defer { store.close() }
        try fill(store)
        try store.read { tx throws in
            let log = tx.reader.log
            for parts in try [RecordParts(log, count: 1), RecordParts(log, count: 5)] {
                var last: (entity: UInt16, key: [UInt8]) = (0, [])
                var (records, count) = (0, 0)
                for part in 0..<parts.count {
                    let part = try PartOperations(log, part: part, of: parts, copies: copies)
                    try part.visitRecords { entity, key, operations in
                        let record = (entity: entity.rawValue, key: Array(key))
                        #expect(
                            last.entity < record.entity
                                || last.entity == record.entity
                                    && last.key.lexicographicallyPrecedes(record.key)
                        )
                        last = record
                        records += 1
                        var sequence: UInt64 = 0
                        for index in operations.indices {
                            let operation = try operations[index]
                            #expect(
                                operation.keyBytes.elementsEqual(key)
                                    && operation.entity == entity)
                            #expect(operation.sequence > sequence)
                            sequence = operation.sequence
                            count += 1
                        }
                    }
                }
                #expect(records == Self.count + 20)
                #expect(try count == tx.reader.access.count(of: tx.reader.databases.log))
            }
        }
    }

    @Test(arguments: [100, 3_000, 1 << 18])
    func `a rebuild in parts makes the same tables`(operationsPerPart: Int) async throws {
        let folder = try TemporaryFolder()
        let store = try folder.open(configuration: configuration(threads: 2))
        defer { store.close() }
        try fill(store)
        let report = try await store.withLogWriter {
            try TablesRebuild(log: $0, operationsPerPart: operationsPerPart).report { _, _ in }
        }
        #expect(report.isIdentical)
        #expect(report.operations > 11_000)
        #expect(try store.verify().problems == [])
    }

    @Test func `entries are found to differ in any order`() {
        func sums(_ entries: [(String, String)], ignoring: [[UInt8]] = []) -> EntrySums {
            var sums = EntrySums(ignoring: ignoring)
            for (key, value) in entries {
                Array(key.utf8).withUnsafeBytes { key in
                    Array(value.utf8).withUnsafeBytes { sums.add(key, $0) }
                }
            }
            return sums
        }
        let all = [("2abc", ""), ("2abd", "x"), ("3abc", ""), ("4", "")]
        #expect(sums(all).difference(from: sums(all.reversed())) == nil)
        #expect(sums(all).count == 4)
        for index in all.indices {
            var fewer = all
            fewer.remove(at: index)
            #expect(sums(all).difference(from: sums(fewer))?.kind == .lacks)
            #expect(sums(fewer).difference(from: sums(all))?.kind == .hasOthers)
            var others = all
            others[index].1 += "y"
            #expect(sums(all).difference(from: sums(others))?.kind == .hasOtherValues)
            others = all
            others[index].0 += "y"
            let difference = sums(all).difference(from: sums(others))
            #expect(difference?.kind == .hasOthers)
            #expect(difference?.table == Array(all[index].0.utf8)[0])
        }
        let swapped = [("2abc", "x"), ("2abd", ""), ("3abc", ""), ("4", "")]
        #expect(sums(all).difference(from: sums(swapped))?.kind == .hasOtherValues)
        #expect(sums(all, ignoring: [Array("2ab".utf8)]).count == 2)
    }

    @Test func `a record's own tables follow from its puts and deletes`() {
        let record = InMemoryRecord()
        func bytes(_ text: String, _ body: (UnsafeRawBufferPointer) -> Void) {
            Array(text.utf8).withUnsafeBytes(body)
        }
        var random = SeededGenerator(seed: 7)
        var model: [String: String] = [:]
        var (wanted, found) = (EntrySums(ignoring: []), EntrySums(ignoring: []))
        for _ in 0..<3 {
            for round in 0..<4_000 {
                let key = "2ab\(Int.random(in: 0..<30, using: &random))"
                if Bool.random(using: &random) {
                    let value = String(repeating: "v", count: round % 90)
                    bytes(key) { key in bytes(value) { record.put(key, $0) } }
                    model[key] = value
                } else {
                    bytes(key) { record.delete($0) }
                    model[key] = nil
                }
            }
            for (key, value) in model {
                bytes(key) { key in bytes(value) { wanted.add(key, $0) } }
            }
            model = [:]
            record.finish { found.add($0, $1) }
            #expect(wanted.difference(from: found) == nil)
            #expect(wanted.count == found.count)
        }
    }
}
