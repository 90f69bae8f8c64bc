import BackstitchCore
package import BackstitchLog
import LMDB

/// The view of a projection at one moment, to read from. Valid inside the closure of the read or
/// write only.
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
    public let source: ViewSource
    package let types: TypeTable
    package let reader: TableReader
}

extension ReadTransaction {
    /// The view of a projection, at the moment of this transaction.
    ///
    /// That of an `inline` projection has every operation that the records have. If another process
    /// wrote without keeping the view up, its operations are taken in here, in memory, on this thread:
    /// up to 16,384 of them, with 16 MiB and 131,072 entries of the view, which takes about a second at
    /// most. Soon after, the store has them in the stored view. That of a `catchingUp` projection has
    /// the operations up to its ``ProjectionView/checkpoint``.
    ///
    /// - Parameter allowsBehind: Whether a view is taken as it is that was complete once, and by now
    ///   is behind though it is `inline`, or has failed.
    /// - Throws: `unknownProjection` if no such view is stored; `projectionNotReady` while it is
    ///   built, if it is `inline` and lacks more than a read takes in, or of another version;
    ///   `projectionFailed` with the reason; `invalidQuery` in a read of a past state, of which there
    ///   are no views.
    public func view<Source: RecordProjection>(
        of projection: Source, allowsBehind: Bool = false
    ) throws -> ProjectionView<Source> {
        try ViewReader(reader: reader, types: types).view(
            of: projection, reader.projectionState(projection.name), allowsBehind: allowsBehind)
    }
}

extension WriteTransaction {
    /// The view of a projection, as this transaction left it; as
    /// ``ReadTransaction/view(of:allowsBehind:)``.
    ///
    /// That of an `inline` projection has what the transaction wrote.
    public func view<Source: RecordProjection>(
        of projection: Source, allowsBehind: Bool = false
    ) throws -> ProjectionView<Source> {
        let active = context.projections.inlineState(of: projection.name)
        var state = try active ?? reader.projectionState(projection.name)
        if state?.failure == nil, active != nil { state?.checkpoint = log.head }
        return try ViewReader(reader: reader, types: types).view(
            of: projection, state, allowsBehind: allowsBehind)
    }
}
