import Foundation
import Testing

@testable import BackstitchCore

/// Rows and indexes of samples in memory, with counts of what was read.
final class MemorySource: RowSource {
    struct Entry {
        var value: [UInt8]
        var key: [UInt8]
        var whole: [UInt8]
    }

    let binding: EntityBinding
    private var rows: [(key: [UInt8], body: [UInt8])] = []
    private var positions: [[UInt8]: Int] = [:]
    private var indexes: [FieldID: [Entry]] = [:]
    private var compounds: [UInt16: [(key: [UInt8], whole: [UInt8])]] = [:]
    private(set) var rowReadCount = 0
    private(set) var entryReadCount = 0

    init(_ samples: [Sample], binding: EntityBinding = Sample.binding()) throws {
        self.binding = binding
        for sample in samples {
            var writer = _FieldWriter(layout: Sample.layout)
            var body = ByteBuffer()
            try sample.write(to: &writer)
            writer.finish(into: &body)
            rows.append((sample.id.key.bytes, [UInt8](body.bytes)))
        }
        rows.sort { $0.key.lexicographicallyPrecedes($1.key) }
        for (position, row) in rows.enumerated() { positions[row.key] = position }
        for attribute in binding.attributes where attribute.isIndexed {
            var entries: [Entry] = []
            for row in rows {
                let value = try row.body.withUnsafeBytes { body in
                    let fields = try #require(PackedFields(body))
                    var buffer = ByteBuffer()
                    try attribute.appendKey(of: fields, to: &buffer)
                    return [UInt8](buffer.bytes)
                }
                entries.append(Entry(value: value, key: row.key, whole: value + row.key))
            }
            indexes[attribute.field] = entries.sorted {
                $0.whole.lexicographicallyPrecedes($1.whole)
            }
        }
        for index in binding.indexes {
            var entries: [(key: [UInt8], whole: [UInt8])] = []
            for row in rows {
                let values = try row.body.withUnsafeBytes { body in
                    let fields = try #require(PackedFields(body))
                    var buffer = ByteBuffer()
                    for part in index.parts {
                        try part.appendKey(
                            of: fields, to: &buffer, textBytesMax: index.textBytesMax)
                    }
                    return [UInt8](buffer.bytes)
                }
                // LMDB's limit, with the longest record key.
                try #require(5 + values.count + 258 <= 511)
                entries.append((row.key, values + row.key))
            }
            compounds[index.number] = entries.sorted {
                $0.whole.lexicographicallyPrecedes($1.whole)
            }
        }
    }

    func visitRows(
        of entity: EntityNumber, within range: KeyRange, reversed: Bool,
        _ visit: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        for row in reversed ? rows.reversed() : rows {
            if row.key.lexicographicallyPrecedes(range.lower) { continue }
            if let upper = range.upper, !row.key.lexicographicallyPrecedes(upper) { continue }
            rowReadCount += 1
            let goesOn = try row.key.withUnsafeBytes { key in
                try row.body.withUnsafeBytes { try visit(key, $0) }
            }
            if !goesOn { return }
        }
    }

    func visitIndex(
        of entity: EntityNumber, attribute: AttributeBinding, within range: KeyRange,
        reversed: Bool, readsRows: Bool,
        _ visit: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        if let place = attribute.place {
            return try visitCompound(
                place, of: attribute.type, within: range, reversed: reversed, visit)
        }
        let entries = try #require(indexes[attribute.field])
        for entry in reversed ? entries.reversed() : entries {
            let whole = entry.whole
            if whole.lexicographicallyPrecedes(range.lower) { continue }
            if let upper = range.upper, !whole.lexicographicallyPrecedes(upper) { continue }
            entryReadCount += 1
            // What a store does: the record key starts where the value ends.
            let end = try #require(
                whole.withUnsafeBytes { OrderedKey.byteCount(of: attribute.type, in: $0) })
            try #require(end == entry.value.count)
            let goesOn = try whole.withUnsafeBytes { bytes in
                try visit(bytes.part(0..<end), bytes.part(end..<bytes.count))
            }
            if !goesOn { return }
        }
    }

    private func visitCompound(
        _ place: IndexPlace, of type: AttributeType, within range: KeyRange, reversed: Bool,
        _ visit: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        let entries = try #require(compounds[place.number])
        for entry in reversed ? entries.reversed() : entries {
            guard entry.whole.starts(with: place.prefix) else { continue }
            let whole = Array(entry.whole.dropFirst(place.prefix.count))
            if whole.lexicographicallyPrecedes(range.lower) { continue }
            if let upper = range.upper, !whole.lexicographicallyPrecedes(upper) { continue }
            entryReadCount += 1
            let goesOn = try whole.withUnsafeBytes { bytes in
                var end = 0
                var first = 0
                for (position, type) in ([type] + place.rest).enumerated() {
                    end += try #require(
                        OrderedKey.byteCount(
                            of: type, in: bytes.part(end..<bytes.count),
                            textBytesMax: place.textBytesMax))
                    if position == 0 { first = end }
                }
                let key = bytes.part(end..<bytes.count)
                try #require(key.elementsEqual(entry.key))
                return try visit(bytes.part(0..<first), key)
            }
            if !goesOn { return }
        }
    }

    func visitReferrers(
        of entity: EntityNumber, attribute: AttributeBinding, target: RecordKey,
        from start: [UInt8], readsRows: Bool,
        _ visit: (UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        for row in rows {
            let isReferrer = try row.body.withUnsafeBytes { body in
                let value = try PackedFields(body)?.value(of: attribute.field)
                return try value?.reference() == target
            }
            guard isReferrer, !row.key.lexicographicallyPrecedes(start) else { continue }
            entryReadCount += 1
            if try !row.key.withUnsafeBytes({ try visit($0) }) { return }
        }
    }

    func withRow(
        of entity: EntityNumber, key: UnsafeRawBufferPointer,
        _ body: (UnsafeRawBufferPointer) throws -> Bool
    ) throws -> Bool? {
        guard let position = positions[[UInt8](key)] else { return nil }
        rowReadCount += 1
        return try rows[position].body.withUnsafeBytes { try body($0) }
    }

    /// The answer of a query, decoded.
    func fetch(_ query: RecordQuery, counting costs: PlanningCosts? = nil) throws -> [Sample] {
        let plan =
            try costs.map { try QueryPlan(query, in: binding, costs: $0, on: self) }
            ?? QueryPlan(query, in: binding)
        var result: [Sample] = []
        try QueryExecutor.run(plan, on: self) { key, body in
            let fields = try #require(PackedFields(body))
            let key = try #require(RecordKey(reading: key))
            var reader = _FieldReader(fields: fields, layout: Sample.layout)
            result.append(try Sample(id: EntityID(key: key), fields: &reader))
            return true
        }
        return result
    }

    func fetch(_ query: Query<Sample>) throws -> [Sample] { try fetch(query.lowered()) }

    /// All pages of a query, one behind another; each cursor goes through its stored form.
    func pages(_ query: RecordQuery, size: Int) throws -> [Sample] {
        var result: [Sample] = []
        var cursor: QueryCursor?
        repeat {
            let before = result.count
            let next = try QueryExecutor.page(
                of: query, in: binding, after: cursor, count: size, on: self
            ) { key, body in
                let fields = try #require(PackedFields(body))
                let key = try #require(RecordKey(reading: key))
                var reader = _FieldReader(fields: fields, layout: Sample.layout)
                result.append(try Sample(id: EntityID(key: key), fields: &reader))
            }
            if next != nil { try #require(result.count == before + size) }
            cursor = try next.map { try #require(QueryCursor(bytes: $0.bytes)) }
        } while cursor != nil
        return result
    }

    func count(_ query: Query<Sample>) throws -> Int {
        try QueryExecutor.count(try QueryPlan(query.lowered(), in: binding), on: self)
    }
}
