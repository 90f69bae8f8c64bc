/// A source that counts what is read from it.
struct MeasuredSource<Source: RowSource>: RowSource {
    final class Counts {
        var entries = 0
        var rows = 0
    }

    let source: Source
    let counts = Counts()
    var footprint: ReadFootprint? { source.footprint }

    func visitRows(
        of entity: EntityNumber, within range: KeyRange, reversed: Bool,
        _ visit: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        try source.visitRows(of: entity, within: range, reversed: reversed) { key, body in
            counts.rows += 1
            return try visit(key, body)
        }
    }

    func visitIndex(
        of entity: EntityNumber, attribute: AttributeBinding, within range: KeyRange,
        reversed: Bool, readsRows: Bool,
        _ visit: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        try source.visitIndex(
            of: entity, attribute: attribute, within: range, reversed: reversed,
            readsRows: readsRows
        ) { value, key in
            counts.entries += 1
            return try visit(value, key)
        }
    }

    func visitReferrers(
        of entity: EntityNumber, attribute: AttributeBinding, target: RecordKey,
        from start: [UInt8], readsRows: Bool, _ visit: (UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        try source.visitReferrers(
            of: entity, attribute: attribute, target: target, from: start, readsRows: readsRows
        ) { key in
            counts.entries += 1
            return try visit(key)
        }
    }

    func withRow<Result>(
        of entity: EntityNumber, key: UnsafeRawBufferPointer,
        _ body: (UnsafeRawBufferPointer) throws -> Result
    ) throws -> Result? {
        counts.rows += 1
        return try source.withRow(of: entity, key: key, body)
    }
}

extension QueryPlan {
    /// The plan in words, with what a run of it reads.
    package func explanation<Source: RowSource>(
        runningOn source: Source
    ) throws -> RecordQuery.Explanation {
        let measured = MeasuredSource(source: source)
        var count = 0
        try QueryExecutor.run(self, on: measured) { _, _ in
            count += 1
            return true
        }
        let (entries, rows) = (measured.counts.entries, measured.counts.rows)
        return RecordQuery.Explanation(
            steps: explanation.steps + [
                "read \(entries) index entries and \(rows) rows for \(count) records"
            ])
    }
}
