import Backstitch
import TestBudget
import Testing

@testable import BackstitchLog
@testable import BackstitchStore

/// Scans find some rows ahead of the one that is visited.
@Suite(.budgeted) struct ScanTests {
    private static func employee(_ number: Int) -> Employee {
        Employee(id: .init("e\(1_000 + number)"), name: "n\(number)", email: "m", age: number)
    }

    @Test func `a scan gives each row once, wherever it begins and ends`() throws {
        let folder = try TemporaryFolder()
        let store = try folder.open(.all)
        defer { store.close() }
        try store.write { transaction in
            for number in 0..<100 where number % 3 > 0 {
                try transaction.save(Self.employee(number))
            }
        }
        // Most of these wait in the journal.
        for number in stride(from: 0, to: 100, by: 3) {
            try store.write { try $0.save(Self.employee(number)) }
        }
        for number in [0, 50, 99] {
            try store.write { _ = try $0.delete(Self.employee(number).id) }
        }
        let expected = (1..<99).filter { $0 != 50 }
        let all = Query<Employee>()
        for size in [1, 2, 15, 16, 17, 31, 32, 96, 97, 98] {
            try store.read { transaction in
                let part = try transaction.fetch(all.offset(3).limit(size)).compactMap(\.age)
                #expect(part == Array(expected.dropFirst(3).prefix(size)))
                #expect(try transaction.fetch(all).compactMap(\.age) == expected)
                var (paged, cursor): ([Int], QueryCursor?) = ([], nil)
                repeat {
                    let page = try transaction.page(all, after: cursor, count: size)
                    paged += page.rows.compactMap(\.age)
                    cursor = page.next
                } while cursor != nil
                #expect(paged == expected)
            }
        }
        // A write changes what it scans.
        try store.write { transaction in
            for number in expected where number % 2 == 0 {
                _ = try transaction.delete(Self.employee(number).id)
            }
            #expect(try transaction.fetch(all).compactMap(\.age) == expected.filter { $0 % 2 == 1 })
        }
    }

    @Test func `how many rows there are is told without reading them`() throws {
        let folder = try TemporaryFolder()
        let store = try folder.open(.all)
        defer { store.close() }
        func count(at sequence: UInt64? = nil) throws -> Int? {
            try store.read { transaction in
                let number = try transaction.types.binding(of: Employee.self).number
                let reader = transaction.reader
                return try (sequence.map { try reader.at($0) } ?? reader).rowCount(of: number)
            }
        }
        #expect(try count() == 0)
        for number in 0..<20 { try store.write { try $0.save(Self.employee(number)) } }
        #expect(try count() == 20)
        try store.write { transaction in
            for number in 20..<5_000 { try transaction.save(Self.employee(number)) }
        }
        #expect(try #require(try count()) >= 5_000)
        // The past is read from the log.
        #expect(try count(at: 7) == nil)
    }
}
