import Backstitch
import BackstitchCore
import BackstitchLog
import LMDB
import TestBudget
import Testing
import Threading

@testable import BackstitchStore

/// Damage of each kind, planted behind the store's back.
@Suite(.budgeted) struct VerificationTests {
    let store: Store

    init() throws {
        store = try Store.inMemory(schema: .all)
        try store.write { transaction in
            try transaction.save(Department(id: "d", name: "One"))
            for index in 0..<5 {
                let id = Employee.ID("e\(index)")
                try transaction.save(
                    Employee(id: id, name: "x", email: "mail\(index)", department: "d"))
            }
        }
        try store.write { _ = try $0.delete(Employee.ID("e0")) }
    }

    /// Finds the first entry of a table and lets the closure change it.
    private func tamper(
        _ table: UInt8,
        _ change: @escaping @Sendable (Access, Databases, [UInt8], [UInt8]) throws -> Void
    ) throws {
        try store.environment.tamper { access, databases in
            let entry = try #require(try access.firstEntry(of: table, databases))
            try change(access, databases, entry.key, entry.value)
        }
    }

    private func expectTableDamage(_ text: String) async throws {
        let problems = try store.verify().problems
        #expect(problems.count == 1)
        #expect(problems.first?.contains(text) == true, "\(problems)")
        #expect(try await store.rebuild().isIdentical == false)
        #expect(try store.verify().problems == [])
        #expect(try await store.rebuild().isIdentical)
    }

    @Test func `a rebuild of a whole store is identical`() async throws {
        let image = try store.image()
        let report = try await store.rebuild()
        #expect(report.isIdentical)
        #expect(report.operations == 7)
        #expect(try store.image() == image)
        #expect(try store.verify().entries == report.entries)
    }

    @Test(arguments: [TableKey.rows, TableKey.indexes, TableKey.inverses])
    func `a missing entry is found and mended`(table: UInt8) async throws {
        try tamper(table) { access, databases, key, _ in
            try key.withUnsafeBytes { try databases.delete($0, access) }
        }
        try await expectTableDamage("The tables lack")
    }

    @Test(arguments: [TableKey.rows, TableKey.indexes, TableKey.inverses, TableKey.journal, 200])
    func `an entry too many is found and mended`(table: UInt8) async throws {
        try store.environment.tamper { access, databases in
            let key: [UInt8] = [table, 0, 2, 0, 1, 1, 1]
            try key.withUnsafeBytes { try databases.put($0, $0, access) }
        }
        try await expectTableDamage("does not follow from the log")
    }

    @Test func `every flipped bit of a row is found`() async throws {
        let store = store
        var bit = 0
        var isDone = false
        while !isDone {
            let flipped = bit
            let count = Locked(0)
            try tamper(TableKey.rows) { access, databases, key, value in
                count.withLock { $0 = value.count * 8 }
                var value = value
                value[flipped / 8] ^= 1 << UInt8(flipped % 8)
                try key.withUnsafeBytes { key in
                    try value.withUnsafeBytes { try databases.put(key, $0, access) }
                }
            }
            let problems = try store.verify().problems
            #expect(problems.count == 1 && problems[0].contains("another value"), "bit \(bit)")
            // Reading damaged rows throws or gives other values; it never traps.
            _ = try? store.read { _ = try $0.find(Department.self, "d") }
            _ = try? store.read { try $0.fetch(Department.self) }
            // The log must not take over what a damaged row says.
            for name in ["One", "Two"] {
                let error = await #expect(throws: StoreError.self) {
                    try await store.write { _ = try $0.save(Department(id: "d", name: name)) }
                }
                #expect(error?.code == .damaged, "bit \(bit)")
            }
            let error = await #expect(throws: StoreError.self) {
                try await store.write { _ = try $0.delete(Department.ID("d")) }
            }
            #expect(error?.code == .damaged, "bit \(bit)")
            #expect(try store.read { try $0.reader.log.head } == 7)
            #expect(try await store.rebuild().isIdentical == false)
            bit += 7
            isDone = bit >= count.withLock { $0 }
        }
        #expect(try store.verify().problems == [])
    }

    @Test func `a row under the key of another record is damaged`() async throws {
        let store = store
        try tamper(TableKey.rows) { access, databases, key, value in
            var other = key
            other[other.count - 1] ^= 1
            try other.withUnsafeBytes { other in
                try value.withUnsafeBytes { try databases.put(other, $0, access) }
            }
        }
        let error = await #expect(throws: StoreError.self) {
            try await store.write { _ = try $0.save(Department(id: "e", name: "Two")) }
        }
        #expect(error?.code == .damaged)
    }

    @Test func `a row without a checksum is read, and is not what follows from the log`()
        async throws
    {
        let image = try store.image()
        try tamper(TableKey.rows) { access, databases, key, value in
            let old = try value.withUnsafeBytes { value in
                let row = try #require(RowView(value))
                var output = ByteBuffer()
                row.header.appendUnchecked(to: &output)
                output.append(row.bodyBytes)
                return Array(output.bytes)
            }
            try key.withUnsafeBytes { key in
                try old.withUnsafeBytes { try databases.put(key, $0, access) }
            }
        }
        #expect(try store.image() != image)
        #expect(try store.read { try $0.find(Department.self, "d") }?.name == "One")
        try await expectTableDamage("another value")
        #expect(try store.image() == image)
    }

    @Test func `every flipped bit of an operation is found, and nothing is rebuilt from it`()
        async throws
    {
        let image = try store.image()
        for bit in stride(from: 0, to: 400, by: 3) {
            try flip(bit, of: 1)
            let problems = try store.verify().problems
            #expect(problems.first?.contains("Operation 1") == true, "bit \(bit): \(problems)")
            let error = await #expect(throws: StoreError.self) { try await store.rebuild() }
            #expect(error?.code == .damaged)
            try flip(bit, of: 1)
        }
        #expect(try store.image() == image)
        #expect(try store.verify().problems == [])
    }

    private func flip(_ bit: Int, of sequence: UInt64) throws {
        try store.environment.tamper { access, databases in
            try TableKey.withSequence(sequence) { key in
                guard var bytes = try access.get(key, in: databases.log).map({ Array($0) }) else {
                    return
                }
                bytes[bit / 8 % bytes.count] ^= 1 << UInt8(bit % 8)
                try bytes.withUnsafeBytes { try access.put(key, $0, in: databases.log) }
            }
        }
    }

    @Test(arguments: [1, 3, 7] as [UInt64])
    func `a gap in the log and a lost end are found`(sequence: UInt64) throws {
        try store.environment.tamper { access, databases in
            try TableKey.withSequence(sequence) { _ = try access.delete($0, in: databases.log) }
        }
        let problems = try store.verify().problems
        #expect(!problems.isEmpty)
        if sequence < 7 {
            #expect(problems.first?.contains("Operation \(sequence) is missing") == true)
        }
    }

    @Test(arguments: [0, 8, .max] as [UInt64])
    func `an operation too many is found, and writing goes on or says why not`(
        sequence: UInt64
    ) throws {
        try store.environment.tamper { access, databases in
            let first = try TableKey.withSequence(1) { try access.get($0, in: databases.log) }
            let bytes = try #require(first.map { Array($0) })
            try TableKey.withSequence(sequence) { key in
                try bytes.withUnsafeBytes { try access.put(key, $0, in: databases.log) }
            }
        }
        #expect(try !store.verify().problems.isEmpty)
        let error = failure { _ = try store.write { try $0.save(Node(id: "n")) } }
        #expect(error == nil || error?.code == .damaged)
    }

    @Test(arguments: [nil, [1, 2, 3]] as [[UInt8]?])
    func `a value of meta without its checksum, or with another one, is found`(
        checksum: [UInt8]?
    ) throws {
        try store.environment.tamper { access, databases in
            try Array(MetaChecksum.name(of: MetaName.catalog).utf8).withUnsafeBytes { key in
                _ = try access.delete(key, in: databases.meta)
                try checksum?.withUnsafeBytes { try access.put(key, $0, in: databases.meta) }
            }
        }
        let problem = "What is kept under 'catalog' is damaged: its checksum does not match."
        #expect(try store.verify().problems == [problem])
    }

    @Test func `an operation moved to another place is found`() throws {
        try store.environment.tamper { access, databases in
            let second = try TableKey.withSequence(2) { try access.get($0, in: databases.log) }
            let bytes = try #require(second.map { Array($0) })
            try TableKey.withSequence(3) { key in
                try bytes.withUnsafeBytes { try access.put(key, $0, in: databases.log) }
            }
        }
        #expect(try store.verify().problems.first?.contains("Operation 3") == true)
    }
}
