import Backstitch
import BackstitchCore
import BackstitchViews
import Foundation
import LMDB
import TestBudget
import Testing

@testable import BackstitchStore

@Entity struct Sale: Equatable {
    var id = ID()
    var region: String?
    var pieces: Int
    var price: Decimal?
    var weight: Double
    var day: Date
}

@Suite(.budgeted) struct GroupedTotalsTests {
    private let pieces = GroupedTotals(
        "pieces", of: Sale.self, by: \.region, sum: \.pieces, keepsExtremes: true)
    private let prices = GroupedTotals(
        "prices", of: Sale.self, by: \.region, sum: \.price, keepsExtremes: true)
    private let weights = GroupedTotals(
        "weights", of: Sale.self, by: { $0.pieces % 3 }, sum: \.weight, mode: .catchingUp)
    private let days = GroupedTotals(counting: "days", of: Sale.self, by: \.day)

    private func open() throws -> Store {
        try Store.projecting(pieces, prices, weights, days, schema: StoreSchema(Sale.self))
    }

    private func sale(
        _ id: String, _ region: String?, _ pieces: Int, _ price: Decimal? = nil, weight: Double = 0,
        day: Int64 = 0
    ) -> Sale {
        Sale(
            id: .init(id), region: region, pieces: pieces, price: price, weight: weight,
            day: Date(timeIntervalSince1970: Double(day)))
    }

    @Test func `records come, move between groups and go`() async throws {
        let store = try open()
        let sales = [
            sale("a", "north", 3, 1.10), sale("b", "north", 5, 2.20), sale("c", nil, 7),
        ]
        try await store.write { transaction in
            for sale in sales { try transaction.save(sale) }
        }
        try store.read { transaction in
            let view = try transaction.view(of: pieces)
            let north = try #require(try view.totals(of: "north"))
            #expect(north.count == 2 && north.sum == 8 && north.average == 4)
            #expect(try view.minimum(of: "north") == 3)
            #expect(try view.maximum(of: "north") == 5)
            #expect(try view.totals().map(\.group) == [nil, "north"])
            let price = try transaction.view(of: prices)
            #expect(try price.totals(of: "north")?.sum == Decimal(string: "3.3"))
            #expect(try price.totals(of: nil)?.numbers == 0)
            #expect(try price.totals(of: nil)?.average == nil)
            #expect(try price.minimum(of: nil) == nil)
            #expect(try transaction.view(of: days).totals().map(\.count) == [3])
        }
        let moved = sale("a", "south", 4, 1.10)
        try await store.write { transaction in
            try transaction.save(moved)
            _ = try transaction.delete(Sale.ID("c"))
        }
        try store.read { transaction in
            let view = try transaction.view(of: pieces)
            #expect(try view.totals(of: nil) == nil)
            #expect(try view.totals(of: "north")?.sum == 5)
            #expect(try view.totals(of: "south")?.sum == 4)
            #expect(try view.minimum(of: "north") == 5)
        }
        #expect(try store.verify().problems == [])
    }

    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func `totals are those of a query after any history`(seed: UInt64) async throws {
        let store = try open()
        var random = SeededGenerator(seed: seed)
        let regions: [String?] = [
            nil, "", "n", "north", String(repeating: "x", count: 300),
            String(repeating: "x", count: 299) + "y", "caf\u{E9}", "cafe\u{301}", "a\u{0}b",
        ]
        for _ in 0..<12 {
            var sales: [Sale] = []
            for _ in 0..<Int.random(in: 1...12, using: &random) {
                let number = Int.random(in: -50...50, using: &random)
                let hasPrice = Bool.random(using: &random)
                sales.append(
                    sale(
                        "s\(Int.random(in: 0..<20, using: &random))",
                        regions.randomElement(using: &random) ?? nil, number,
                        hasPrice ? Decimal(number) / 8 : nil,
                        weight: Double(number) * 0.1, day: Int64(number % 3)))
            }
            let (saved, deleted) = (sales, Int.random(in: 0..<20, using: &random))
            try await store.write { transaction in
                for sale in saved { try transaction.save(sale) }
                let id = Sale.ID("s\(deleted)")
                if try transaction.find(Sale.self, id) != nil { _ = try transaction.delete(id) }
            }
            try store.read { transaction in
                let expected = try transaction.groups(
                    Query<Sale>(), by: GroupKeys(\.region), .count(), .sum(\.pieces),
                    .average(\.pieces), .minimum(\.pieces), .maximum(\.pieces))
                let view = try transaction.view(of: pieces)
                let found = try view.totals()
                #expect(found.count == expected.count, "seed \(seed)")
                for group in expected {
                    let totals = try #require(try view.totals(of: group.key), "seed \(seed)")
                    #expect(totals.count == group.values.0, "seed \(seed)")
                    #expect(totals.sum == group.values.1, "seed \(seed)")
                    #expect(totals.average == group.values.2, "seed \(seed)")
                    #expect(try view.minimum(of: group.key) == group.values.3, "seed \(seed)")
                    #expect(try view.maximum(of: group.key) == group.values.4, "seed \(seed)")
                }
                let prices = try transaction.view(of: prices)
                let sums = try transaction.groups(
                    Query<Sale>(), by: GroupKeys(\.region), .sum(\.price), .count(\.price))
                for group in sums {
                    let totals = try #require(try prices.totals(of: group.key))
                    #expect(totals.sum == group.values.0, "seed \(seed)")
                    #expect(totals.numbers == group.values.1, "seed \(seed)")
                }
            }
        }
        try await store.prepareProjections()
        #expect(try store.verify().problems == [], "seed \(seed)")
        let content = try store.content()["meta"]?.filter { $0.key.first == ViewEntries.prefixByte }
        for name in ["pieces", "prices", "weights", "days"] {
            try await store.rebuildProjection(named: name)
        }
        let again = try store.content()["meta"]?.filter { $0.key.first == ViewEntries.prefixByte }
        #expect(content?.map(\.key) == again?.map(\.key), "seed \(seed)")
        #expect(content?.map(\.value) == again?.map(\.value), "seed \(seed)")
    }

    @Test func `doubles are summed up exactly in any order`() async throws {
        let store = try open()
        try await store.write { transaction in
            for (index, weight) in [1e18, 0.5, -1e18, 0.25].enumerated() {
                try transaction.save(sale("s\(index)", nil, 3, weight: weight))
            }
        }
        try await store.prepareProjections()
        #expect(try store.read { try $0.view(of: weights).totals(of: 0)?.sum } == 0.75)
        try await store.write { _ = try $0.delete(Sale.ID("s0")) }
        try await store.write { _ = try $0.delete(Sale.ID("s2")) }
        try await store.prepareProjections()
        #expect(try store.read { try $0.view(of: weights).totals(of: 0)?.sum } == 0.75)
    }

    @Test func `a sum beyond 64 bits is told when it is read, and comes back`() async throws {
        let store = try open()
        try await store.write { transaction in
            try transaction.save(sale("a", nil, .max))
            try transaction.save(sale("b", nil, .max))
        }
        let error = failure { try store.read { _ = try $0.view(of: pieces).totals(of: nil) } }
        #expect(error?.code == .invalidQuery)
        try await store.write { _ = try $0.delete(Sale.ID("b")) }
        #expect(try store.read { try $0.view(of: pieces).totals(of: nil)?.sum } == .max)
    }

    @Test func `extremes that are not kept are no answer`() throws {
        let store = try open()
        let error = failure {
            try store.read { _ = try $0.view(of: days).minimum(of: Date.distantPast) }
        }
        #expect(error?.code == .invalidQuery)
    }
}
