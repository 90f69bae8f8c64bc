import Foundation
import TestBudget
import Testing

@testable import BackstitchCore

/// Every form of a query on attributes of every type, lists and places included: it gives what Swift
/// makes of the values, or an error that names the attribute and says what to do.
@Suite(.budgeted) struct QueryFormTests {
    static let functions = RecordQuery.Aggregate.Function.allCases

    /// A source with indexes and one without, of the same samples.
    struct World {
        var samples: [Sample]
        var sources: [MemorySource]
        var generator: SeededGenerator

        init(seed: Int, count: Int = 60) throws {
            generator = SeededGenerator(seed: UInt64(seed) &* 104_729 &+ 5)
            samples = generator.samples(count: count)
            sources = [
                try MemorySource(samples),
                try MemorySource(samples, binding: Sample.binding(isIndexed: false)),
            ]
        }

        func groups(
            _ query: RecordQuery, by columns: [SampleColumn],
            _ aggregates: [RecordQuery.Aggregate] = [],
            _ source: Int
        ) throws -> [RecordQuery.Group] {
            try QueryExecutor.groups(
                of: query, by: columns.map(\.name), aggregates, in: sources[source].binding,
                on: sources[source])
        }
    }

    /// What an aggregate of rows is; nil where it is an error, or the order of rows decides.
    static func model(
        _ function: RecordQuery.Aggregate.Function, _ column: SampleColumn, _ rows: [Sample]
    ) -> RecordValue? {
        let values = rows.map(column.value).filter { $0 != .null }
        let known = rows.filter { column.value($0) != .null }
        switch function {
        case .count: return .int64(Int64(values.count))
        case .minimum: return known.min { column.order($0, $1) < 0 }.map(column.value) ?? .null
        case .maximum: return known.max { column.order($0, $1) < 0 }.map(column.value) ?? .null
        case .sum, .average: break
        }
        switch column.type {
        case .int16, .int32, .int64:
            let sum = values.reduce(Int128(0)) { sum, value in
                if case .int64(let number) = value { sum + Int128(number) } else { sum }
            }
            if function == .sum { return Int64(exactly: sum).map { .int64($0) } }
            return values.isEmpty ? .null : .double(Double(sum) / Double(values.count))
        case .decimal:
            var sum = Decimal(0)
            for value in values {
                guard case .decimal(var number) = value else { continue }
                var result = Decimal()
                guard NSDecimalAdd(&result, &sum, &number, .plain) == .noError else { return nil }
                sum = result
            }
            if function == .sum { return .decimal(sum) }
            return values.isEmpty ? .null : .decimal(sum / Decimal(values.count))
        default:
            if values.isEmpty { return function == .sum ? .double(0) : .null }
            return nil
        }
    }

    @Test(arguments: 0..<12)
    func `groups and distinct values are those of ==, with their aggregates`(seed: Int) throws {
        var world = try World(seed: seed)
        for round in 0..<60 {
            // Rows have no other dates than rounded ones, so those of a query count as rounded.
            var rounding = world.generator
            rounding.roundsDates = true
            let (predicate, meant) = (world.generator.predicate(), rounding.predicate())
            let query = try Query<Sample>().where(predicate).lowered()
            let rows = try world.samples.filter { try meant.evaluate($0) }
            var columns = [world.generator.pick(SampleColumn.all)]
            if world.generator.chance(0.3) {
                columns.append(world.generator.pick(SampleColumn.all))
            }
            let expected = rows.grouped(by: columns)
            let what = "seed \(seed), round \(round), \(columns.map(\.name))"
            let counted = try world.groups(query, by: columns, [.count], round % 2)
            #expect(
                counted.map(\.keys)
                    == expected.map { group in
                        columns.map { $0.value(group[0]) }
                    }, "\(what)")
            #expect(
                counted.map(\.values) == expected.map { [.int64(Int64($0.count))] }, "\(what)")
            let distinct = try world.groups(query, by: columns, [], 1 - round % 2)
            #expect(distinct.map(\.keys) == counted.map(\.keys), "\(what)")

            let aggregated = world.generator.pick(SampleColumn.all)
            let function = world.generator.pick(Self.functions)
            let isRefused: Bool =
                switch function {
                case .count: false
                case .minimum, .maximum: !aggregated.isOrdered
                case .sum, .average: !aggregated.isNumber
                }
            let aggregate = RecordQuery.Aggregate(function, aggregated.name)
            guard !isRefused else {
                let error = #expect(throws: QueryError.self, "\(what)") {
                    try world.groups(query, by: columns, [aggregate], round % 2)
                }
                #expect(error?.code == .typeMismatch)
                #expect(error?.message.contains(aggregated.name) == true)
                continue
            }
            let values = expected.map { Self.model(function, aggregated, $0) }
            guard values.allSatisfy({ $0 != nil }) else { continue }
            let found = try world.groups(query, by: columns, [aggregate], round % 2)
            #expect(found.map { $0.values.first } == values, "\(what) \(aggregate)")
        }
    }

    @Test(arguments: SampleColumn.all.map(\.name))
    func `sorts, ranges, minima and maxima of each type are right or refused`(name: String) throws {
        let column = try #require(SampleColumn.all.first { $0.name == name })
        let world = try World(seed: 77, count: 80)
        let all = RecordQuery(entity: "Sample")
        for (index, source) in world.sources.enumerated() {
            let constants = Array(world.samples.prefix(25)).filter { column.value($0) != .null }
            let ranges = constants.flatMap { Self.ranges(name, column.value($0)) }
            let sorted = all.sorted(by: name)
            let ends: [RecordQuery.Aggregate] = [.minimum(name), .maximum(name)]
            if let typed = column.typed {
                #expect(try typed.sort(Query<Sample>()).lowered() == sorted)
                #expect(try [typed.minimum(), typed.maximum()] == ends)
            }
            #expect(column.isOrdered || column.typed == nil)
            guard column.isOrdered else {
                var refused = [sorted, sorted.limit(0)]
                for range in ranges { refused.append(all.where(range.condition)) }
                for query in refused {
                    let error = #expect(throws: QueryError.self) { _ = try source.fetch(query) }
                    Self.expectRefusal(error, of: name)
                }
                for aggregate in ends {
                    let error = #expect(throws: QueryError.self) {
                        _ = try world.groups(all, by: [], [aggregate], index)
                    }
                    Self.expectRefusal(error, of: name)
                }
                continue
            }
            let expected = world.samples.sorted { left, right in
                let order = column.order(left, right)
                return order != 0 ? order < 0 : left.id < right.id
            }
            #expect(try source.fetch(sorted).map(\.id) == expected.map(\.id))
            for (position, range) in ranges.enumerated() {
                let constant = constants[position / 4]
                let ids = world.samples.filter { sample in
                    column.value(sample) != .null && range.holds(column.order(sample, constant))
                }.map(\.id)
                let found = try source.fetch(all.where(range.condition)).map(\.id)
                #expect(Set(found) == Set(ids), "\(range.condition)")
                #expect(found.count == ids.count)
            }
            let found = try world.groups(all, by: [], ends, index)
            let models = [RecordQuery.Aggregate.Function.minimum, .maximum].map {
                Self.model($0, column, world.samples) ?? .null
            }
            #expect(found.map(\.values) == [models])
        }
    }

    /// A range by names, and what it says of the order of a value and the constant.
    private struct Range {
        var condition: RecordQuery.Condition
        var holds: (Int) -> Bool
    }

    private static func ranges(_ name: String, _ value: RecordValue) -> [Range] {
        [
            Range(condition: .less(name, than: value), holds: { $0 < 0 }),
            Range(condition: .atMost(name, value), holds: { $0 <= 0 }),
            Range(condition: .greater(name, than: value), holds: { $0 > 0 }),
            Range(condition: .atLeast(name, value), holds: { $0 >= 0 }),
        ]
    }

    private static func expectRefusal(_ error: QueryError?, of name: String) {
        #expect(error?.code == .typeMismatch)
        #expect(error?.message.contains(" \(name), which is a") == true)
        #expect(error?.message.contains("in an attribute of its own") == true)
    }

    @Test(arguments: SampleColumn.all.map(\.name))
    func `equality and membership of each type are those of ==`(name: String) throws {
        let column = try #require(SampleColumn.all.first { $0.name == name })
        let world = try World(seed: 78, count: 80)
        let all = RecordQuery(entity: "Sample")
        for source in world.sources {
            for pair in zip(world.samples.prefix(30), world.samples.dropFirst(30)) {
                let (one, other) = (pair.0, pair.1)
                let equal = world.samples.filter { column.isSame($0, one) }
                let either = world.samples.filter {
                    column.isSame($0, one) || column.isSame($0, other)
                }
                func ids(_ condition: RecordQuery.Condition) throws -> Set<Sample.ID> {
                    Set(try source.fetch(all.where(condition)).map(\.id))
                }
                #expect(try ids(.equal(name, column.value(one))) == Set(equal.map(\.id)))
                #expect(
                    try ids(.notEqual(name, column.value(one)))
                        == Set(world.samples.map(\.id)).subtracting(equal.map(\.id)))
                #expect(
                    try ids(.member(name, of: [column.value(one), column.value(other)]))
                        == Set(either.map(\.id)))
            }
        }
    }

    @Test func `stored elements count as what their type reads`() throws {
        var writer = _FieldWriter()
        try writer.write(.list([.bool(true), .int64(2)]), of: FieldID(1))
        try writer.write(.list([.double(0.1)]), of: FieldID(2))
        try writer.write(.list([.string("00000000-0000-0000-0000-000000000001")]), of: FieldID(3))
        var buffer = ByteBuffer()
        writer.finish(into: &buffer)
        let fields = try #require(PackedFields(buffer.bytes))
        func value(_ number: UInt16, _ type: AttributeType) throws -> RecordValue {
            try AttributeBinding(name: "x", field: FieldID(number), type: type).value(of: fields)
        }
        #expect(try value(1, .int64List) == .list([.int64(1), .int64(2)]))
        #expect(try value(1, .stringList) == .null)
        #expect(try value(2, .floatList) == .list([.double(Double(Float(0.1)))]))
        let id = try #require(UUID(uuidString: "00000000-0000-0000-0000-000000000001"))
        #expect(try value(3, .uuidList) == .list([.uuid(id)]))
    }

    @Test func `a number that a Float attribute is compared with is rounded as the attribute is`()
        throws
    {
        var sample = Sample(id: "a")
        sample.ratio = 0.1
        let source = try MemorySource([sample])
        let all = RecordQuery(entity: "Sample")
        #expect(try source.fetch(all.where(.equal("ratio", .double(0.1)))).count == 1)
        #expect(try source.fetch(all.where(.greater("ratio", than: .double(0.1)))).isEmpty)
    }
}
