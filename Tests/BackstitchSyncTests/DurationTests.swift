import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchTesting
import Foundation
import TestBudget
import Testing

@Entity private struct Lap: Equatable {
    var id = ID()
    var runner: String
    @Attribute(.indexed) var time: Duration
    var best: Duration?
    var splits: [Duration] = []
}

/// `Duration` as an attribute, through everything that an attribute goes through.
@Suite(.budgeted) struct DurationTests {
    private let cloud = SimulatedCloud()
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func device(_ name: String) throws -> Device {
        Device(
            store: try folder.store(name, StoreSchema(Lap.self)),
            service: cloud.connection(device: name))
    }

    private let laps = [
        Lap(id: "a", runner: "x", time: .seconds(-1), best: nil, splits: []),
        Lap(
            id: "b", runner: "y", time: .nanoseconds(1), best: .seconds(2),
            splits: [.zero, .milliseconds(1_500)]),
        Lap(id: "c", runner: "y", time: .nanoseconds(Int64.max), best: .zero),
    ]

    private func fill(_ device: Device, _ laps: [Lap]) async throws {
        try await device.store.write { transaction in
            for lap in laps { try transaction.save(lap) }
        }
    }

    @Test func `it is saved, found, sorted, grouped and summed up`() async throws {
        let device = try device("s")
        try await fill(device, laps)
        let limit = Duration.zero
        try device.store.read { transaction in
            #expect(try transaction.fetch(Query<Lap>().sorted(by: \.time)) == laps)
            #expect(
                try transaction.fetch(
                    Query<Lap>().where(#Predicate { $0.time > limit }).sorted(by: \.time))
                    == Array(laps.dropFirst()))
            #expect(
                try transaction.fetch(Query<Lap>().where(#Predicate { $0.best == limit }))
                    == [laps[2]])
            let (sum, least, most, mean) = try transaction.aggregate(
                Query<Lap>().where(#Predicate { $0.time <= limit || $0.runner == "x" }),
                .sum(\.time), .minimum(\.time), .maximum(\.best), .average(\.time))
            #expect(sum == .seconds(-1) && least == .seconds(-1) && most == nil)
            #expect(mean == .seconds(-1))
            let groups = try transaction.groups(
                Query<Lap>(), by: GroupKeys(\.best), .count())
            #expect(groups.count == 3)
        }
        let error = #expect(throws: (any Error).self) {
            _ = try device.store.read {
                try $0.aggregate(Query<Lap>().where(#Predicate { $0.runner == "y" }), .sum(\.time))
            }
        }
        #expect("\(error.map { "\($0)" } ?? "")".contains("64 bits"))
        #expect(try device.store.verify().problems == [])
        #expect(try await device.store.rebuild().isIdentical)
    }

    @Test func `what 64 bits of nanoseconds do not hold is refused at the save`() async throws {
        let device = try device("s")
        let bad: [Lap] = [
            Lap(id: "a", runner: "x", time: .seconds(9_223_372_037)),
            Lap(id: "b", runner: "x", time: .seconds(-9_223_372_037)),
            Lap(id: "c", runner: "x", time: .zero, best: .seconds(Int64.max)),
            Lap(id: "d", runner: "x", time: .zero, splits: [.zero, .seconds(Int64.min)]),
        ]
        for lap in bad {
            let error = await #expect(throws: StoreError.self) {
                try await device.store.write { try $0.save(lap) }
            }
            #expect(error?.description.contains("outside the range") == true)
        }
        #expect(try device.store.read { try $0.fetch(Query<Lap>()) } == [])
    }

    @Test func `it travels as nanoseconds, and comes back`() async throws {
        let one = try device("one")
        try await fill(one, laps)
        try await one.sync()
        #expect(
            cloud.record(named: "b", in: scenarioZone)?.fields == [
                "runner": .string("y"), "time": .int64(1), "best": .int64(2_000_000_000),
                "splits": .list([.int64(0), .int64(1_500_000_000)]),
            ])
        let other = try device("other")
        try await other.sync()
        #expect(
            try other.store.read { try $0.fetch(Query<Lap>().sorted(by: \.time)) } == laps)
        var lines = ""
        try one.store.export { lines += String(decoding: $0, as: UTF8.self) }
        let copy = try folder.store("copy", StoreSchema(Lap.self))
        var parts = [Array(lines.utf8)]
        let report = try await copy.importRecords(from: { parts.popLast() })
        #expect(report.failed == 0)
        #expect(try copy.read { try $0.fetch(Query<Lap>().sorted(by: \.time)) } == laps)
    }

    @Test(
        arguments: [
            (1.0, "ns", 1), (1.5, "us", 1_500), (-2, "ms", -2_000_000), (90, "s", 90_000_000_000),
            (1.5, "min", 90_000_000_000), (2, "h", 7_200_000_000_000),
        ] as [(Double, String, Int64)])
    func `a literal has a unit`(number: Double, unit: String, nanoseconds: Int64) {
        let traits = AttributeType.duration.traits
        #expect(
            traits?.literal("\(number)\(unit)", isQuoted: false)
                == .duration(nanoseconds: nanoseconds))
        #expect(traits?.literal("\(number)", isQuoted: false) == nil)
        #expect(traits?.literal("\(number)\(unit)", isQuoted: true) == nil)
        #expect(traits?.literal("1e30\(unit)", isQuoted: false) == nil)
    }

    @Test func `less than a nanosecond is rounded`() {
        let half = Duration(secondsComponent: 0, attosecondsComponent: 500_000_000)
        #expect(half._recordValue == .duration(nanoseconds: 1))
        #expect((.zero - half)._recordValue == .duration(nanoseconds: -1))
        #expect(Duration.nanoseconds(Int64.min)._recordValue == .duration(nanoseconds: .min))
    }
}
