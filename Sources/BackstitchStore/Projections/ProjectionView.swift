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
public struct ProjectionView<Source: Projection>: ~Copyable, ViewReading {
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
        let active = context.projections.inlineState(of: projection.name)
        var state = try active ?? reader.projectionState(projection.name)
        if state?.failure == nil, active != nil { state?.checkpoint = log.head }
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
        var entries: ViewEntries?
        if state.isComplete {
            entries =
                try isCurrent
                ? self.entries(of: state) : caughtUpEntries(of: projection, state, types)
        }
        guard let entries else {
            throw StoreError(
                .projectionNotReady,
                "The view of the projection '\(name)' has operations up to \(state.checkpoint) of "
                    + "\(head). It catches up in the background; call prepareProjections to wait.")
        }
        return ProjectionView(
            projection: projection, checkpoint: isCurrent ? state.checkpoint : head,
            source: ViewSource(entries: entries, catalog: catalog), types: types,
            reader: self)
    }

    /// The entries of a view with the operations that it lacks, which are taken in here and now, and in
    /// memory: nobody is waited for, and the view is of the same moment as the records.
    ///
    /// - Returns: nil if it lacks more than a read takes in.
    /// - Throws: `projectionFailed` if `apply` throws.
    private func caughtUpEntries(
        of projection: some Projection, _ state: ProjectionState, _ types: TypeTable
    ) throws -> ViewEntries? {
        var left = CatchUpBudget.ofRead
        let registered = RegisteredProjection(projection)
        guard try head <= state.checkpoint + UInt64(left.operations), try holds(state) else {
            return nil
        }
        if registered.needsWholeLog, state.checkpoint == 0, try compaction.through > 0 {
            return nil
        }
        let overlay = ViewOverlay()
        var entries = entries(of: state)
        entries.overlay = overlay
        let run = CatchUpRun(projection, registered, entries, self, types)
        var folder = ChangeFolder()
        folder.begin(after: state.checkpoint)
        var isWhole = true
        try visitStoredOperations(from: state.checkpoint + 1) { sequence, bytes in
            left.bytes -= bytes.count
            guard left.bytes >= 0, overlay.count <= left.entries else {
                isWhole = false
                return false
            }
            do {
                _ = try run.take(bytes, at: sequence, &folder)
            } catch let error as LMDBError {
                throw error
            } catch {
                throw StoreError.failed(
                    projection.name, ProjectionFailure(sequence: sequence, error))
            }
            return true
        }
        return isWhole ? entries : nil
    }
}
