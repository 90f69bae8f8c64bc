import Backstitch
import Testing
import Threading

@testable import BackstitchCore
@testable import BackstitchLog
@testable import BackstitchStore
@testable import LMDB

/// The log is applied in parts of the records, and found what it is found to be as a whole.
@Suite struct ParallelVerificationTests {
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
        // A store whose first row is damaged does not open.
        if table != TableKey.rows {
            for report in try reports(of: folder, { _, _ in }) {
                #expect(report.problems.count == 1)
                #expect(report.problems.first?.contains("another value") == true)
            }
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

    @Test func `damage of the log is found`() throws {
        let folder = try TemporaryFolder()
        let filled = try folder.open(configuration: configuration(threads: 2))
        try fill(filled)
        filled.close()
        try folder.tamper { access, databases in
            try TableKey.withSequence(9_002) { key in
                guard var bytes = try access.get(key, in: databases.log).map(Array.init) else {
                    return
                }
                bytes[bytes.count / 2] ^= 4
                try bytes.withUnsafeBytes { try access.put(key, $0, in: databases.log) }
            }
        }
        for report in try reports(of: folder, { _, _ in }) {
            #expect(report.isLogDamaged)
            #expect(report.problems.count == 1)
            #expect(report.problems.first?.contains("9002") == true)
        }
    }

    @Test func `each part of the records has its share of all tables`() throws {
        struct Ended: Error {}
        let folder = try TemporaryFolder()
        let store = try folder.open(configuration: configuration(threads: 2))
        defer { store.close() }
        try fill(store)
        let place = try VerificationPlace(configuration(threads: 2))
        #expect(throws: Ended.self) {
            try place.withTables(2) { tables throws in
                try store.read { tx throws in
                    let all = try TablesDigest(tx.reader).entries
                    let shares = try tables.indices.map { part in
                        let target = tables[part].reader(tx.reader.catalog)
                        try Verifier(reader: tx.reader).project(
                            part: part, of: 2, into: target, progress: { _ in })
                        return try TablesDigest(target).entries
                    }
                    #expect(shares.reduce(0, +) == all)
                    #expect(shares.allSatisfy { $0 > all / 3 })
                }
                throw Ended()
            }
        }
        // Nothing of it stays.
        #expect(throws: Ended.self) {
            try place.withTables(3) { tables throws in
                for part in tables {
                    let reader = part.reader(try store.read { $0.reader.catalog })
                    #expect(try TablesDigest(reader).entries == 0)
                }
                throw Ended()
            }
        }
    }
}
