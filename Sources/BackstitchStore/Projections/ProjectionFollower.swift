import BackstitchCore
import BackstitchLog
import LMDB
import Threading

/// Lets the views of a store's projections follow its log, in commits of their own.
struct ProjectionFollower {
    let store: Store

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
            let step = try await store.withWriteContext { context in
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

    /// Works on all views until they have every operation that was there.
    ///
    /// - Throws: the failure of the first view that failed, once the others are done.
    func prepare(_ progress: @Sendable (_ done: Int, _ total: Int) -> Void) async throws {
        var failed: StoreError?
        let count = store.registered.all.count
        for (index, projection) in store.registered.all.enumerated() {
            let step = try await catchUp(projection, retries: true) { done, head in
                progress(index * head + done, count * head)
            }
            switch step {
            case .failed(let failure):
                failed = failed ?? .failed(projection.name, failure)
            case .otherVersion: failed = failed ?? .otherVersion(projection.name)
            case .done, .more: break
            }
        }
        if let failed { throw failed }
    }

    /// Empties a view and builds it again.
    func rebuild(_ name: String, _ progress: @Sendable (_ done: Int, _ total: Int) -> Void)
        async throws
    {
        guard let projection = store.registered[name] else { throw StoreError.unknown(name) }
        try await store.withWriteContext { context in
            var state = try context.projections.storedState(of: projection)
            state.reset(version: projection.version)
            state.failure = nil
            try context.log.put(state, of: name)
            context.projections.stopInline(name)
        }
        let step = try await catchUp(projection, retries: true) { done, head in
            progress(done, head)
        }
        if case .failed(let failure) = step { throw StoreError.failed(name, failure) }
    }

    /// Removes a view that nothing follows.
    func remove(_ name: String) async throws {
        guard store.registered[name] == nil else {
            throw StoreError(
                .invalidProjection,
                "The store was opened with the projection '\(name)'. Open it without, then remove it."
            )
        }
        while try await store.withLogWriter({ try $0.clearProjection(name) }) {}
    }

    // MARK: In the background

    /// How long views wait after a commit that they did not see, so that they take in several at once.
    static let pauseMilliseconds: Int64 = 20

    /// Makes room for the views of new projections, and empties those of other versions.
    func adopt() throws {
        let registered = store.registered
        guard !registered.all.isEmpty else { return }
        let stale = try store.read { transaction in
            try registered.all.filter {
                try StoredProjections(transaction.reader).state($0.name)?.version != $0.version
            }
        }
        guard !stale.isEmpty else { return }
        try store.write { transaction in
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

    /// Begins to keep the views up in the background; ends with the store, which it does not hold.
    func start() {
        guard !store.registered.all.isEmpty, store.configuration.worksInBackground else { return }
        let changes = store.changes()
        store.projectionWork.withLock { work in
            work = Task { [weak store] in
                var seen =
                    await store.map { ProjectionFollower(store: $0) }?
                    .catchUpInBackground(retries: true) ?? 0
                for await change in changes where change.sequences.upperBound > seen + 1 {
                    await LiveValues.pause(milliseconds: Self.pauseMilliseconds)
                    guard let store, !Task.isCancelled else { return }
                    seen = await ProjectionFollower(store: store)
                        .catchUpInBackground(retries: false)
                }
            }
        }
    }

    /// - Returns: the last operation of the log before it.
    private func catchUpInBackground(retries: Bool) async -> UInt64 {
        let head = (try? store.read { try $0.lastSequence }) ?? 0
        for projection in store.registered.all {
            // A failure is in the state of the view, and told by who reads it.
            guard !Task.isCancelled, (try? isBehind(projection, retries: retries)) == true
            else { continue }
            _ = try? await catchUp(projection, retries: retries)
        }
        return head
    }

    private func isBehind(_ projection: RegisteredProjection, retries: Bool) throws -> Bool {
        try store.read { transaction in
            let head = try transaction.reader.log.head
            guard let state = try StoredProjections(transaction.reader).state(projection.name)
            else {
                return true
            }
            if state.failure != nil { return retries }
            return state.checkpoint != head || !state.isComplete
        }
    }
}

extension LogWriter {
    /// Deletes the next entries of a view, and its state after the last.
    ///
    /// - Returns: whether there are more.
    fileprivate func clearProjection(_ name: String) throws -> Bool {
        guard var state = try StoredProjections(reader).state(name) else {
            throw StoreError.unknown(name)
        }
        if try reader.entries(of: state).clear(limit: CatchUpBudget().entries) {
            try deleteMeta(MetaName.projection(name))
            return false
        }
        state.reset()
        try put(state, of: name)
        return true
    }
}
