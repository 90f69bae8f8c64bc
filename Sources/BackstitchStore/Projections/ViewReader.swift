import BackstitchCore
import BackstitchLog
import LMDB

/// Finds the entries of views, and applies the operations that they lack.
struct ViewReader {
    let reader: TableReader
    let types: TypeTable

    func view<Source: RecordProjection>(
        of projection: Source, _ stored: ProjectionState?, allowsBehind: Bool
    ) throws -> ProjectionView<Source> {
        guard reader.past == nil else {
            throw StoreError(
                .invalidQuery, "A past state has no views. Read the view in a read of the present.")
        }
        let name = projection.name
        let unnoted = reader.unnoted
        guard let state = stored else { throw StoreError.unknown(name) }
        guard Int(state.version) == projection.version else { throw StoreError.otherVersion(name) }
        if let failure = state.failure, !(allowsBehind && state.isComplete) {
            throw StoreError.failed(name, failure)
        }
        note(projection, state, allowsBehind: allowsBehind)
        let head = try unnoted.log.head
        let isCurrent = projection.mode == .catchingUp || allowsBehind || state.checkpoint == head
        var entries: ViewEntries?
        if state.isComplete {
            entries =
                try isCurrent
                ? unnoted.entries(of: state) : caughtUpEntries(of: projection, state)
        }
        guard let entries else {
            throw StoreError(
                .projectionNotReady,
                "The view of the projection '\(name)' has operations up to \(state.checkpoint) of "
                    + "\(head). It catches up in the background; call prepareProjections to wait.")
        }
        return ProjectionView(
            projection: projection, checkpoint: isCurrent ? state.checkpoint : head,
            source: _ViewSource(entries: entries, catalog: reader.catalog), types: types,
            reader: reader)
    }

    /// Tells who notes the reads which changes change the view.
    private func note(
        _ projection: some RecordProjection, _ state: ProjectionState, allowsBehind: Bool
    ) {
        guard let footprint = reader.footprint else { return }
        let isInline = projection.mode == .inline && !allowsBehind
        footprint.note(
            ReadFootprint.View(
                entities: projection.entities.names, isInline: isInline,
                state: state.observedBytes(isInline: isInline)),
            named: projection.name)
    }

    /// The entries of a view with the operations that it lacks, which are applied here and now, and in
    /// memory: the read waits for no one, and the view is of the same moment as the records.
    ///
    /// - Returns: nil if it lacks more than a read applies.
    /// - Throws: `projectionFailed` if `apply` throws.
    private func caughtUpEntries(
        of projection: some RecordProjection, _ state: ProjectionState
    ) throws -> ViewEntries? {
        var left = CatchUpBudget.ofRead
        let reader = reader.unnoted
        let registered = RegisteredProjection(projection)
        guard try reader.log.head <= state.checkpoint + UInt64(left.operations),
            try StoredProjections(reader).holds(state)
        else {
            return nil
        }
        if registered.needsWholeLog, state.checkpoint == 0,
            try LogHorizon(reader).compaction.through > 0
        {
            return nil
        }
        let overlay = ViewOverlay()
        var entries = reader.entries(of: state)
        entries.overlay = overlay
        let run = CatchUpRun(projection, registered, entries, reader, types)
        var folder = ChangeFolder()
        folder.begin(after: state.checkpoint)
        var isWhole = true
        try unsafe reader.log.visitStored(from: state.checkpoint + 1) { sequence, bytes in
            left.bytes -= bytes.count
            guard left.bytes >= 0, overlay.count <= left.entries else {
                isWhole = false
                return false
            }
            do {
                _ = try unsafe run.take(bytes, at: sequence, &folder)
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
