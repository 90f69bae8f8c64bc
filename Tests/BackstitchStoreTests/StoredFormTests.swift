import Backstitch
import BackstitchCore
import Foundation
import TestBudget
import Testing

@testable import BackstitchStore

/// One value of each type that a store changes when it saves it, with an index and without.
@Entity private struct Measure: Equatable {
    var id = ID()
    @Attribute(.indexed) var at: Date
    @Attribute(.indexed) var span: Duration
    @Attribute(.indexed) var ratio: Float
    @Attribute(.indexed) var price: Decimal
    var plainAt: Date
    var plainSpan: Duration
    var plainRatio: Float
    var plainPrice: Decimal
    var days: [Date]
}

/// Queries compare values in the form that they were saved in: who saves a value finds it by that value.
@Suite(.budgeted) struct StoredFormTests {
    private static let measures: [Measure] = {
        var generator = SeededGenerator(seed: 6)
        return (0..<60).map { number in
            // Several in each millisecond and in each nanosecond, some of them halfway to the next.
            let at = Date(timeIntervalSince1970: 1_700_000_000 + Double(number) / 10_000)
            let span = Duration(
                secondsComponent: Int64(number / 20) - 1,
                attosecondsComponent: Int64(number % 20) * 250_000_000)
            let ratio = Float.random(in: -1...1, using: &generator)
            let price = Decimal(number - 30) / 3
            return Measure(
                id: Measure.ID("r\(number)"), at: at, span: span, ratio: ratio, price: price,
                plainAt: at, plainSpan: span, plainRatio: ratio, plainPrice: price, days: [at])
        }
    }()

    private let store: Store
    /// The measures as they were saved.
    private let stored: [Measure]

    init() throws {
        store = try Store.inMemory(schema: StoreSchema(Measure.self))
        try store.write { transaction in
            for measure in Self.measures { try transaction.save(measure) }
        }
        let byName = try store.read { transaction in
            try Dictionary(
                uniqueKeysWithValues: transaction.fetch(Measure.self).map { ($0.id.name, $0) })
        }
        stored = Self.measures.compactMap { byName[$0.id.name] }
        try #require(stored.count == Self.measures.count)
    }

    private func names(_ query: Query<Measure>) throws -> [String] {
        try store.read { try $0.fetch(query) }.map(\.id.name).sorted()
    }

    private typealias Path<Value> = any KeyPath<Measure, Value> & Sendable

    /// Asks for a value as it was before it was saved, and compares with what Swift says of the stored ones.
    private func check<Value: OrderedAttributeValue & Comparable>(
        _ keyPaths: [Path<Value>]
    ) throws where Value._Bound == Value {
        let all = Query<Measure>()
        for keyPath in keyPaths {
            for (saved, known) in zip(Self.measures, stored) {
                let (value, bound) = (saved[keyPath: keyPath], known[keyPath: keyPath])
                let cases: [(String, Query<Measure>, (Value) -> Bool)] = [
                    ("is", all.where(keyPath, is: value), { $0 == bound }),
                    ("is not", all.where(keyPath, isNot: value), { $0 != bound }),
                    ("less", all.where(keyPath, lessThan: value), { $0 < bound }),
                    ("at most", all.where(keyPath, atMost: value), { $0 <= bound }),
                    ("greater", all.where(keyPath, greaterThan: value), { $0 > bound }),
                    ("at least", all.where(keyPath, atLeast: value), { $0 >= bound }),
                    ("range", all.where(keyPath, in: value...value), { $0 == bound }),
                    ("values", all.where(keyPath, in: [value]), { $0 == bound }),
                ]
                for (name, query, holds) in cases {
                    let expected = stored.filter { holds($0[keyPath: keyPath]) }.map(\.id.name)
                    #expect(try names(query) == expected.sorted(), "\(name) \(value)")
                }
            }
        }
    }

    @Test func `dates are compared as they are saved`() throws {
        try check([\Measure.at, \Measure.plainAt] as [Path<Date>])
        for measure in Self.measures {
            let (at, name) = (measure.at, measure.id.name)
            let all = Query<Measure>()
            let queries = [
                all.where(#Predicate<Measure> { $0.at == at }),
                all.where(#Predicate<Measure> { $0.plainAt <= at }),
                all.where(#Predicate<Measure> { [at].contains($0.plainAt) }),
                all.where(#Predicate<Measure> { $0.days.contains(at) }),
                all.where(\.days, contains: at), all.where(\.days, is: [at]),
            ]
            for query in queries { #expect(try names(query).contains(name)) }
        }
    }

    @Test func `durations are compared as they are saved`() throws {
        try check([\Measure.span, \Measure.plainSpan] as [Path<Duration>])
        for measure in Self.measures {
            let (span, name) = (measure.span, measure.id.name)
            let equal = Query<Measure>().where(#Predicate<Measure> { $0.span == span })
            let atLeast = Query<Measure>().where(#Predicate<Measure> { $0.plainSpan >= span })
            #expect(try names(equal).contains(name))
            #expect(try names(atLeast).contains(name))
        }
    }

    @Test func `numbers are compared as they are saved`() throws {
        try check([\Measure.ratio, \Measure.plainRatio] as [Path<Float>])
        try check([\Measure.price, \Measure.plainPrice] as [Path<Decimal>])
    }

    @Test func `numbers by names are rounded as those of their attributes`() throws {
        try store.write { transaction in
            var measure = Self.measures[0]
            measure.ratio = 0.1
            measure.plainRatio = 0.1
            try transaction.save(measure)
        }
        for name in ["ratio", "plainRatio"] {
            let conditions: [RecordQuery.Condition] = [
                .equal(name, .double(0.1)), .atMost(name, .double(0.1)),
                .atLeast(name, .double(0.1)), .member(name, of: [.double(0.1)]),
            ]
            for condition in conditions {
                let found = try store.read {
                    try $0.fetch(RecordQuery(entity: "Measure").where(condition))
                }
                #expect(found.map(\.id.name).contains("r0"), "\(name)")
            }
        }
    }

    @Test func `times beyond all that can be saved are after and before all others`() throws {
        let ever = Date(timeIntervalSince1970: -1e300)
        let never = Date(timeIntervalSince1970: .infinity)
        let all = Query<Measure>()
        for query in [
            all.where(\.at, lessThan: never), all.where(\.plainAt, greaterThan: ever),
            all.where(\.span, isNot: .seconds(Int64.max)),
            all.where(\.plainSpan, atMost: .seconds(Int64.max)),
        ] {
            #expect(try names(query).count == stored.count)
        }
        #expect(try names(all.where(\.plainAt, atLeast: never)).isEmpty)
        #expect(try names(all.where(\.span, atMost: .seconds(Int64.min))).isEmpty)
    }

    @Test func `the past up to now has what was saved just before`() throws {
        let clock = FixedClock(now: Date(timeIntervalSince1970: 1_700_000_000.000_6))
        let store = try Store.inMemory(
            schema: .all, configuration: StoreConfiguration(clock: clock))
        try store.write { _ = try $0.save(Node(id: "a")) }
        #expect(try store.read(at: clock.now) { try $0.count(Node.self) } == 1)
    }
}

/// A clock that shows one time, between two milliseconds.
private struct FixedClock: StoreClock {
    let now: Date
    func sleep(for duration: Duration) async throws { try Task.checkCancellation() }
    func random() -> Double { 0.5 }
}
