import Backstitch
import Foundation
import TestBudget
import Testing
import Waiting

@testable import BackstitchCore
@testable import BackstitchLog
@testable import BackstitchStore
@testable import LMDB

/// Aggregates and groups of many rows take several threads, and come to what one thread comes to.
@Suite(.budgeted) struct ParallelAggregateTests {
    private static let count = 9_000

    /// Weights of all sizes, whose sum depends on their order if it is rounded on the way.
    private static func units(_ number: Int) -> Int64 {
        let size = Int64(1) << Int64(number * 7 % 52)
        return (size + Int64(number % 13)) * (number % 5 == 1 ? -1 : 1)
    }

    private static func sale(_ number: Int) -> Sale {
        Sale(
            id: .init("sale-\(100_000 + number)"),
            region: number % 7 == 0 ? nil : "r\(number * 31 % 23)",
            pieces: number * 17 % 1_001 - 500,
            price: number % 3 == 0 ? nil : Decimal(number) / 100,
            weight: Double(units(number)) / 1_024,
            day: Date(timeIntervalSince1970: Double(number % 30) * 86_400))
    }

    private func withStores(_ body: (_ one: Store, _ several: Store) throws -> Void) throws {
        let folder = try TemporaryFolder()
        func open(threads: Int) throws -> Store {
            var configuration = StoreConfiguration()
            configuration.readThreadsMax = threads
            return try folder.open(StoreSchema(Sale.self), configuration: configuration)
        }
        let one = try open(threads: 1)
        defer { one.close() }
        try one.write { tx in
            for number in 0..<Self.count { try tx.save(Self.sale(number)) }
        }
        let several = try open(threads: 4)
        defer { several.close() }
        try body(one, several)
    }

    @Test func `aggregates are those of one thread`() throws {
        let queries = [
            Query<Sale>(), Query<Sale>().where(#Predicate { $0.pieces > 100 }),
            Query<Sale>().where(#Predicate { $0.pieces > 1_000 }),
            Query<Sale>().sorted(by: \.day).offset(5).limit(8_500),
        ]
        try withStores { one, several throws in
            for (number, query) in queries.enumerated() {
                func answer(of store: Store) throws -> String {
                    try store.read { tx in
                        "\(try tx.aggregate(query, .count(), .count(\.region), .sum(\.pieces), .average(\.pieces)))"
                            + "\(try tx.aggregate(query, .sum(\.weight), .average(\.weight), .minimum(\.weight)))"
                            + "\(try tx.aggregate(query, .maximum(\.region), .minimum(\.price), .maximum(\.day)))"
                            + "\(try tx.aggregate(query, .sum(\.price), .sum(\.weight)))"
                    }
                }
                #expect(try answer(of: several) == answer(of: one), "query \(number)")
            }
        }
    }

    @Test func `groups and their order are those of one thread`() throws {
        try withStores { one, several throws in
            func answer(of store: Store) throws -> [String] {
                try store.read { tx in
                    let some = Query<Sale>().where(#Predicate { $0.pieces > -400 })
                    let regions = try tx.groups(
                        some, by: GroupKeys(\.region, \.day), .count(), .sum(\.weight),
                        .maximum(\.pieces))
                    let days = try tx.groups(
                        Query<Sale>(), by: GroupKeys(\.day), .sum(\.price), .average(\.weight))
                    let each = try tx.groups(Query<Sale>(), by: GroupKeys(\.weight), .count())
                    return regions.map { "\($0)" } + days.map { "\($0)" } + each.map { "\($0)" }
                }
            }
            let (expected, found) = (try answer(of: one), try answer(of: several))
            #expect(found.count > 600)
            // Few words where all differ.
            let same = found == expected
            #expect(same)
        }
    }

    @Test func `a sum of doubles is rounded once`() throws {
        let units = (0..<Self.count).reduce(Int128(0)) { $0 + Int128(Self.units($1)) }
        try withStores { one, several throws in
            for store in [one, several] {
                let sum = try store.read { try $0.aggregate(Query<Sale>(), .sum(\.weight)) }
                #expect(sum == Double(units) / 1_024)
            }
        }
    }

    @Test(.enabled(if: ParallelReads.processors > 1))
    func `several threads add up rows, unless they sum up decimals`() async throws {
        let folder = try TemporaryFolder()
        var configuration = StoreConfiguration()
        configuration.readThreadsMax = 2
        let store = try folder.open(StoreSchema(Sale.self), configuration: configuration)
        defer { store.close() }
        try await store.write { tx in
            for number in 0..<Self.count { try tx.save(Self.sale(number)) }
        }
        func ran(_ aggregate: RecordQuery.Aggregate) throws -> Bool {
            try store.read { tx in
                let number = try tx.types.binding(of: Sale.self).number
                let entity = try tx.reader.entityBinding(number)
                let plan = try QueryPlan(
                    Query<Sale>().lowered(), in: entity, on: tx.reader)
                var grouping = try Grouping(by: [], [aggregate], in: entity)
                return try plan.addAlongside(on: tx.reader, to: &grouping)
            }
        }
        #expect(try !ran(RecordQuery.Aggregate(.sum, "price")))
        // Other tests may have the helper for a moment.
        try await eventually { try ran(RecordQuery.Aggregate(.sum, "weight")) }
    }
}
