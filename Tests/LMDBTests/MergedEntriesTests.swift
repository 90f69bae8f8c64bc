import Testing

@testable import LMDB

@Suite struct MergedEntriesTests {
    private func merged(_ parts: [[UInt8]]) throws -> [[UInt8]] {
        let environments = try parts.map { keys in
            let environment = try Environment.temporary(options: Fixture.options())
            let database = try environment.database("one")
            try environment.save { access throws in
                for key in keys { try access.put([key], [key, 7], in: database) }
            }
            return environment
        }
        var found: [[UInt8]] = []
        func visit(_ others: [(access: Access, database: Database)]) throws {
            if others.count < environments.count {
                let environment = environments[others.count]
                let database = try environment.database("one")
                return try environment.read { transaction throws in
                    try visit(others + [(transaction.access, database)])
                }
            }
            var entries = try MergedEntries(others)
            while entries.isOnEntry {
                found.append(Array(entries.key) + Array(entries.value))
                try entries.next()
            }
            // It stays behind the last.
            try entries.next()
            #expect(!entries.isOnEntry)
        }
        try visit([])
        return found
    }

    @Test func `entries of several databases are in one order`() throws {
        for parts in [
            [[3, 1, 9], [2, 8], [4]], [[1, 2, 3]], [[], [5]], [[1, 2], [3, 4], []], [[], []],
        ] as [[[UInt8]]] {
            let expected = parts.joined().sorted().map { [$0, $0, 7] }
            #expect(try merged(parts) == expected)
        }
    }
}
