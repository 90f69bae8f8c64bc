import Backstitch
import BackstitchRepair
import BackstitchCore
import BackstitchViews
import LMDB
import TestBudget
import Testing

@testable import BackstitchStore

/// Views of projections are not salvaged but built anew.
@Suite(.budgeted) struct RepairingViewsTests {
    private let folder: TemporaryFolder
    private let totals = GroupedTotals(
        "totals", of: Department.self, by: \.name, sum: \.budget, mode: .inline)

    init() throws { folder = try TemporaryFolder() }

    private func open() throws -> Store {
        try folder.open(
            configuration: StoreConfiguration(durability: .relaxed, projections: [totals]))
    }

    /// Damages what a closed store holds at a key of a database.
    private func damage(_ database: @Sendable @escaping (Databases) -> Database, _ key: [UInt8])
        throws
    {
        try folder.tamper { access, databases in
            let bytes = try key.withUnsafeBytes { try access.get($0, in: database(databases)) }
            var value = try #require(bytes.map { Array($0) })
            value[value.count / 2] ^= 1
            try key.withUnsafeBytes { key in
                try value.withUnsafeBytes { try access.put(key, $0, in: database(databases)) }
            }
        }
    }

    @Test func `a repaired store has its views from what was salvaged`() async throws {
        let store = try open()
        try await store.prepareProjections()
        for number in 0..<40 {
            try await store.write {
                try $0.save(
                    Department(id: .init("d\(number)"), name: "n\(number % 3)", budget: number))
            }
        }
        store.close()
        // An operation in the middle of the log, with its row intact.
        try damage({ $0.log }, [0, 0, 0, 0, 0, 0, 0, 20])
        let report = try StoreRepair(folder.store).repair(milliseconds: 5)
        #expect(report.salvage != nil)
        let repaired = try open()
        defer { repaired.close() }
        try await repaired.prepareProjections()
        try repaired.read { transaction in
            let view = try transaction.view(of: totals)
            for group in 0..<3 {
                let numbers = (0..<40).filter { $0 % 3 == group }
                let found = try #require(try view.totals(of: "n\(group)"))
                #expect(found.count == numbers.count)
                #expect(found.sum == numbers.reduce(0, +))
            }
        }
        #expect(try repaired.verify().isConsistent)
    }
}
