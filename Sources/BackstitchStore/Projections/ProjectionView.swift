import BackstitchCore

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
public struct ProjectionView<Source: Projection>: ~Copyable, ViewReading {
    /// The projection.
    public let projection: Source
    /// The sequence of the last operation that the view has; 0 for none.
    public let checkpoint: UInt64
    /// The entries.
    public let source: ViewSource
    let types: TypeTable
    let reader: TableReader
}

extension ReadTransaction {
    /// The view of a projection, at the moment of this transaction.
    ///
    /// That of an `inline` projection has every operation that the records have. That of a
    /// `catchingUp` one has those up to its ``ProjectionView/checkpoint``.
    ///
    /// - Parameter allowsBehind: Whether a view is taken as it is that was complete once, and by now
    ///   is behind though it is `inline`, or has failed.
    /// - Throws: `unknownProjection` where no such view is stored; `projectionNotReady` while it is
    ///   built, where it is `inline` and behind, or of another version; `projectionFailed` with the
    ///   reason; `invalidQuery` in a read of a past state, of which there are no views.
    public func view<Source: Projection>(
        of projection: Source, allowsBehind: Bool = false
    ) throws -> ProjectionView<Source> {
        try reader.view(
            of: projection, reader.projectionState(projection.name), allowsBehind: allowsBehind,
            types)
    }
}

extension WriteTransaction {
    /// The view of a projection, as this transaction left it; as
    /// ``ReadTransaction/view(of:allowsBehind:)``.
    ///
    /// That of an `inline` projection has what the transaction wrote.
    public func view<Source: Projection>(
        of projection: Source, allowsBehind: Bool = false
    ) throws -> ProjectionView<Source> {
        let active = context.inlineProjections.first { $0.registered.name == projection.name }
        var state = try active?.state ?? reader.projectionState(projection.name)
        if state?.failure == nil, active != nil { state?.checkpoint = context.head }
        return try reader.view(of: projection, state, allowsBehind: allowsBehind, types)
    }
}

extension TableReader {
    fileprivate func view<Source: Projection>(
        of projection: Source, _ stored: ProjectionState?, allowsBehind: Bool, _ types: TypeTable
    ) throws -> ProjectionView<Source> {
        guard past == nil else {
            throw StoreError(
                .invalidQuery, "A past state has no views. Read the view in a read of the present.")
        }
        let name = projection.name
        guard let state = stored else { throw StoreError.unknown(name) }
        guard Int(state.version) == projection.version else { throw StoreError.otherVersion(name) }
        if let failure = state.failure, !(allowsBehind && state.isComplete) {
            throw StoreError.failed(name, failure)
        }
        let head = try head
        let isCurrent = projection.mode == .catchingUp || allowsBehind || state.checkpoint == head
        guard state.isComplete, isCurrent else {
            throw StoreError(
                .projectionNotReady,
                "The view of the projection '\(name)' has operations up to \(state.checkpoint) of "
                    + "\(head). It catches up in the background; call prepareProjections to wait.")
        }
        return ProjectionView(
            projection: projection, checkpoint: state.checkpoint,
            source: ViewSource(entries: entries(of: state), catalog: catalog), types: types,
            reader: self)
    }
}
