import Backstitch
import BackstitchCore
import Foundation
import TestBudget
import Testing

@testable import BackstitchStore

@Entity private struct Parcel: Equatable {
    var id = ID()
    var labels: [String] = []
    var weights: [Int]?
    var place: GeoLocation?
}

/// Lists and places in queries: they are told apart, and have no order.
@Suite(.budgeted) struct UnorderedAttributeTests {
    private static let here = GeoLocation(latitude: 1, longitude: 1)
    private static let there = GeoLocation(latitude: -2, longitude: 5)

    private func filled() throws -> Store {
        let store = try Store.inMemory(schema: StoreSchema(Parcel.self))
        try store.write { transaction in
            try transaction.save(Parcel(id: "1", labels: ["x"], weights: [], place: Self.here))
            try transaction.save(Parcel(id: "2", labels: ["y", "z"], place: Self.there))
            try transaction.save(Parcel(id: "3", labels: ["y"], weights: [2, 1]))
            try transaction.save(Parcel(id: "4", weights: [2, 1], place: Self.here))
            try transaction.save(Parcel(id: "5", weights: [2]))
        }
        return store
    }

    @Test func `groups and distinct values tell lists and places apart`() throws {
        let store = try filled()
        try store.read { transaction in
            let all = Query<Parcel>()
            let labels = try transaction.groups(all, by: GroupKeys(\.labels), .count())
            #expect(labels.map(\.key) == [[], ["x"], ["y"], ["y", "z"]])
            #expect(labels.map(\.values) == [2, 1, 1, 1])
            let weights = try transaction.distinct(all, \.weights)
            #expect(weights == [nil, [], [2], [2, 1]])
            let places = try transaction.groups(
                all, by: GroupKeys(\.place), .count(), .count(\.weights))
            #expect(places.map(\.key) == [nil, Self.there, Self.here])
            #expect(places.map(\.values.0) == [2, 1, 2])
            #expect(places.map(\.values.1) == [2, 0, 2])
            let both = try transaction.distinct(all, \.labels, \.place)
            #expect(both.count == 5)
            let named = try transaction.groups(
                RecordQuery(entity: "Parcel"), by: ["place"], [.count("labels")])
            #expect(named.map(\.values) == [[.int64(2)], [.int64(1)], [.int64(2)]])
            #expect(
                try transaction.fetch(
                    RecordQuery(entity: "Parcel").where(
                        .equal("place", .location(Self.here)))
                ).count == 2)
        }
    }

    @Test func `an order of lists and places by names is refused with the way out`() throws {
        let store = try filled()
        let named = RecordQuery(entity: "Parcel")
        let place = RecordValue.location(Self.here)
        let questions: [(String, (borrowing ReadTransaction) throws -> Void)] = [
            ("place", { _ = try $0.groups(named, by: ["labels"], [.maximum("place")]) }),
            ("place", { _ = try $0.fetch(named.sorted(by: "place")) }),
            ("place", { _ = try $0.count(named.where(.less("place", than: place))) }),
            ("labels", { _ = try $0.count(named.where(.atLeast("labels", .list([])))) }),
            ("labels", { _ = try $0.page(named.sorted(by: "labels"), count: 2) }),
            ("weights", { _ = try $0.groups(named, [.sum("weights")]) }),
        ]
        for (name, question) in questions {
            let error = failure { try store.read { try question($0) } }
            #expect(error?.code == .invalidQuery, "\(name)")
            #expect(error?.message.contains("Parcel") == true, "\(name)")
            #expect(error?.message.contains(" \(name), which is a ") == true, "\(name)")
        }
    }
}
