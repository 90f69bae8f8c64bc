/// A source that counts what is read from it, and ends what reads too much.
package struct MeasuredSource<Source: RowSource>: RowSource {
    final class Counts {
        var entries = 0
        var rows = 0
    }

    let source: Source
    let counts = Counts()
    /// Asked with the number of entries and rows before each of them; nil if anything may be read.
    private let goesOn: ((Int) -> Bool)?
    package var footprint: ReadFootprint? { source.footprint }

    package init(_ source: Source, while goesOn: ((Int) -> Bool)? = nil) {
        (self.source, self.goesOn) = (source, goesOn)
    }

    private func count(_ part: ReferenceWritableKeyPath<Counts, Int>) throws {
        counts[keyPath: part] += 1
        if let goesOn, !goesOn(counts.entries + counts.rows) { throw ReadTooLong() }
    }

    package func visitRows(
        of entity: EntityNumber, within range: KeyRange, reversed: Bool,
        _ visit: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        try unsafe source.visitRows(of: entity, within: range, reversed: reversed) { key, body in
            try count(\.rows)
            return try unsafe visit(key, body)
        }
    }

    package func visitIndex(
        of entity: EntityNumber, attribute: AttributeBinding, within range: KeyRange,
        reversed: Bool, readsRows: Bool,
        _ visit: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        try unsafe source.visitIndex(
            of: entity, attribute: attribute, within: range, reversed: reversed,
            readsRows: readsRows
        ) { value, key in
            try count(\.entries)
            return try unsafe visit(value, key)
        }
    }

    package func visitReferrers(
        of entity: EntityNumber, attribute: AttributeBinding, target: RecordKey,
        from start: [UInt8], readsRows: Bool, _ visit: (UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        try unsafe source.visitReferrers(
            of: entity, attribute: attribute, target: target, from: start, readsRows: readsRows
        ) { key in
            try count(\.entries)
            return try unsafe visit(key)
        }
    }

    package func withRow(
        of entity: EntityNumber, key: UnsafeRawBufferPointer,
        _ body: (UnsafeRawBufferPointer) throws -> Bool
    ) throws -> Bool? {
        try count(\.rows)
        return try unsafe source.withRow(of: entity, key: key, body)
    }
}

extension QueryPlan {
    /// The plan in words, with what a run of it reads.
    ///
    /// - Parameter goesOn: As for ``MeasuredSource``.
    /// - Throws: ``ReadTooLong``, or what the source throws.
    package func explanation<Source: RowSource>(
        runningOn source: Source, while goesOn: ((Int) -> Bool)? = nil
    ) throws -> RecordQuery.Explanation {
        let measured = MeasuredSource(source, while: goesOn)
        var count = 0
        try unsafe QueryExecutor.run(self, on: measured) { _, _ in
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

/// A read was ended because it looked at more than it may.
package struct ReadTooLong: Error {}
