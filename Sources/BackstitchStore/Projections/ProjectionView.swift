package import BackstitchCore
package import BackstitchLog
import LMDB

/// The view of a projection at one moment. Valid only inside the closure of the read or write.
///
/// A projection's own ways to read its view are extensions of this:
///
/// ```swift
/// extension ProjectionView where Source == NamesInUse {
///     func count(of name: String) throws -> Int {
///         Int(try integer(for: ViewKey(.string(name))) ?? 0)
///     }
/// }
/// ```
public struct ProjectionView<Source: RecordProjection>: ~Copyable, ViewReading {
    /// The projection.
    public let projection: Source
    /// The sequence of the last operation that the view has; 0 for none.
    public let checkpoint: UInt64
    /// The entries.
    public let source: _ViewSource
    package let types: TypeTable
    package let reader: TableReader
}

extension ReadTransaction {
    /// The view of a projection, at the moment of this transaction.
    ///
    /// The view of an `inline` projection is as current as the records. If another process wrote
    /// without updating the view, this read applies the missing operations in memory, on this
    /// thread: up to 16,384 of them, with 16 MiB and 131,072 entries of the view, about a second at
    /// most. Soon after, the stored view has them too. The view of a `catchingUp` projection has
    /// the operations up to its ``ProjectionView/checkpoint``.
    ///
    /// - Parameter allowsBehind: Whether to accept an outdated view: one that was complete once,
    ///   but has failed or, though it is `inline`, lacks operations.
    /// - Throws: `unknownProjection` if no such view is stored; `projectionNotReady` while it is
    ///   built, if it is `inline` and lacks more than a read applies, or of another version;
    ///   `projectionFailed` with the reason; `invalidQuery` in a read of a past state, of which there
    ///   are no views.
    public func view<Source: RecordProjection>(
        of projection: Source, allowsBehind: Bool = false
    ) throws -> ProjectionView<Source> {
        try ViewReader(reader: reader, types: types).view(
            of: projection, StoredProjections(reader.unnoted).state(projection.name),
            allowsBehind: allowsBehind)
    }
}

extension WriteTransaction {
    /// The view of a projection, as this transaction left it; as
    /// ``ReadTransaction/view(of:allowsBehind:)``.
    ///
    /// The view of an `inline` projection contains the transaction's own changes.
    public func view<Source: RecordProjection>(
        of projection: Source, allowsBehind: Bool = false
    ) throws -> ProjectionView<Source> {
        let active = context.projections.inlineState(of: projection.name)
        var state = try active ?? StoredProjections(reader).state(projection.name)
        if state?.failure == nil, active != nil { state?.checkpoint = log.head }
        return try ViewReader(reader: reader, types: types).view(
            of: projection, state, allowsBehind: allowsBehind)
    }
}

extension TableReader {
    /// The conditions of a query as a test of single records, which answers false for one that is not there.
    ///
    /// - Throws: `invalidQuery` if the query has an order, a limit or an offset, which one record can't
    ///   answer, or can't be answered.
    package func filter<Model: Entity>(
        by query: Query<Model>, _ binding: TypeBinding
    ) throws -> (RecordKey) throws -> Bool {
        let lowered = try query.lowered()
        guard lowered.limitCount == nil, lowered.offsetCount == 0, lowered.sortSteps.isEmpty else {
            throw StoreError(
                .invalidQuery,
                "A query that narrows another answer has conditions only. Give the limit to the search."
            )
        }
        let filter = try QueryFilter(lowered, in: entityBinding(binding.number))
        return { record in
            try unsafe record.bytes.withUnsafeBytes { key in
                try unsafe withRow(of: binding.number, key: key) {
                    try unsafe filter.holds(key: key, body: $0, on: self)
                } ?? false
            }
        }
    }
}
