import BackstitchCore
import BackstitchLog
import LMDB
import Threading

extension Store {
    /// Works on a view until it has every operation, or stands still.
    @discardableResult
    func catchUp(
        _ projection: RegisteredProjection, retries: Bool,
        progress: (_ done: Int, _ head: Int) -> Void = { _, _ in }
    ) async throws -> CatchUpStep {
        let folder = Locked(ChangeFolder())
        var budget = CatchUpBudget()
        var distance = UInt64.max
        var retries = retries
        while true {
            let (allowed, tries) = (budget, retries)
            let step = try await withWriteContext { context in
                // Taken out meanwhile, so that it is changed in place.
                var used = folder.withLock { folder in
                    defer { folder = ChangeFolder() }
                    return folder
                }
                defer { folder.withLock { $0 = used } }
                return try context.projections.catchUp(
                    projection, &used, retries: tries, budget: allowed)
            }
            guard case .more(let checkpoint, let head) = step, !Task.isCancelled else {
                return step
            }
            progress(Int(clamping: checkpoint), Int(clamping: head))
            budget.follow(head - checkpoint, before: distance)
            distance = head - checkpoint
            retries = false
        }
    }

    // MARK: In the background

    /// How long views wait after a commit that they did not see, so that they take in several at once.
    static let projectionPauseMilliseconds: Int64 = 20

    /// Makes room for the views of new projections, and empties those of other versions.
    func adoptProjections() throws {
        guard !registered.all.isEmpty else { return }
        let registered = registered
        let stale = try read { transaction in
            try registered.all.filter {
                try transaction.reader.projectionState($0.name)?.version != $0.version
            }
        }
        guard !stale.isEmpty else { return }
        try write { transaction in
            for projection in stale {
                var state = try transaction.context.projections.storedState(of: projection)
                if state.version != projection.version {
                    state.reset(version: projection.version)
                    state.failure = nil
                }
                try transaction.log.put(state, of: projection.name)
            }
        }
    }

    /// Begins to keep the views up in the background; ends with the store.
    func startProjections() {
        guard !registered.all.isEmpty, configuration.worksInBackground else { return }
        let changes = changes()
        projectionWork.withLock { work in
            work = Task { [weak self] in
                var seen = await self?.catchUpInBackground(retries: true) ?? 0
                for await change in changes where change.sequences.upperBound > seen + 1 {
                    await LiveValues.pause(milliseconds: Self.projectionPauseMilliseconds)
                    guard let store = self, !Task.isCancelled else { return }
                    seen = await store.catchUpInBackground(retries: false)
                }
            }
        }
    }

    /// - Returns: the last operation of the log before it.
    private func catchUpInBackground(retries: Bool) async -> UInt64 {
        let head = (try? read { try $0.lastSequence }) ?? 0
        for projection in registered.all {
            // A failure is in the state of the view, and told by who reads it.
            guard !Task.isCancelled, (try? isBehind(projection, retries: retries)) == true
            else { continue }
            _ = try? await catchUp(projection, retries: retries)
        }
        return head
    }

    private func isBehind(_ projection: RegisteredProjection, retries: Bool) throws -> Bool {
        try read { transaction in
            let head = try transaction.reader.head
            guard let state = try transaction.reader.projectionState(projection.name) else {
                return true
            }
            if state.failure != nil { return retries }
            return state.checkpoint != head || !state.isComplete
        }
    }
}
