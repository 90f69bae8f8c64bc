import BackstitchCore
import BackstitchLog
import LMDB

extension Verifier {
    /// Checks that the views of a store's projections follow from the log: takes it in again, in a
    /// temporary place, up to where each view is, and compares every entry.
    ///
    /// Views that failed are checked up to there. What can't be built from the log any more, because it
    /// needs all of it, is left out.
    ///
    /// - Parameter progress: Called now and then with the number of operations since, of each view.
    func verifyProjections(
        _ registered: RegisteredProjections, scratch: TableReader,
        _ report: inout VerificationReport, progress: (Int) -> Void
    ) throws {
        for projection in registered.all {
            guard let state = try StoredProjections(reader).state(projection.name),
                state.version == projection.version, !state.isClearing
            else { continue }
            if projection.needsWholeLog, try LogHorizon(reader).compaction.through > 0 { continue }
            if let problem = try problem(of: projection, state, registered, scratch, progress) {
                report.note(
                    "The view of the projection '\(projection.name)' \(problem) Rebuild it with "
                        + "rebuildProjection.")
            }
        }
    }

    private func problem(
        of projection: RegisteredProjection, _ state: ProjectionState,
        _ registered: RegisteredProjections, _ scratch: TableReader, _ progress: (Int) -> Void
    ) throws -> String? {
        let run = CatchUpRun(
            projection.projection, projection, state, reader, registered, target: scratch)
        var folder = ChangeFolder()
        var problem: String?
        var done = 0
        guard try state.checkpoint <= reader.log.head else {
            return "has operations up to \(state.checkpoint), and the log ends before."
        }
        try unsafe reader.log.visitStored(from: 1) { sequence, bytes in
            guard sequence <= state.checkpoint else { return false }
            done += 1
            if done % WorkProgress.interval == 0 { progress(WorkProgress.interval) }
            do {
                _ = try unsafe run.take(bytes, at: sequence, &folder)
            } catch let error as LMDBError {
                throw error
            } catch {
                let reason = ProjectionFailure(sequence: sequence, error).reason
                problem = "took in operation \(sequence) once and now does not: \(reason)"
            }
            return problem == nil
        }
        return try problem
            ?? reader.entries(of: state).difference(from: scratch.entries(of: state))
    }
}

extension ViewEntries {
    /// How the entries differ from those that follow from the log; nil if they don't.
    fileprivate func difference(from wanted: ViewEntries) throws -> String? {
        try access.withCursor(in: database) { mine in
            try wanted.access.withCursor(in: wanted.database) { theirs in
                var isMine = try begin(&mine)
                var isTheirs = try begin(&theirs)
                while isMine || isTheirs {
                    guard isMine, isTheirs, unsafe mine.key.holdsSameBytes(as: theirs.key) else {
                        let isMissing =
                            unsafe !isMine
                            || (isTheirs && theirs.key.lexicographicallyPrecedes(mine.key))
                        return isMissing
                            ? "lacks an entry that follows from the log."
                            : "has an entry that does not follow from the log."
                    }
                    guard unsafe mine.value.holdsSameBytes(as: theirs.value) else {
                        return "has an entry with another value than follows from the log."
                    }
                    isMine = try goOn(&mine)
                    isTheirs = try goOn(&theirs)
                }
                return nil
            }
        }
    }

    private func begin(_ cursor: inout Cursor) throws -> Bool {
        let isThere = try unsafe prefix.withUnsafeBytes { try unsafe cursor.seek(atOrAfter: $0) }
        return unsafe isThere && prefix.withUnsafeBytes { unsafe cursor.key.starts(with: $0) }
    }

    private func goOn(_ cursor: inout Cursor) throws -> Bool {
        let isThere = try cursor.next()
        return unsafe isThere && prefix.withUnsafeBytes { unsafe cursor.key.starts(with: $0) }
    }
}
