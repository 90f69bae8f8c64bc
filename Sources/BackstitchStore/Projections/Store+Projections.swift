import BackstitchLog

extension Store {
    /// The status of all stored views, in the order of their names.
    ///
    /// - Throws: `closed`; `damaged` if a state can't be read.
    public func projections() throws -> [ProjectionStatus] {
        try read { try ProjectionStatus.all($0.reader, registered) }
    }

    /// Waits until the views of this store's projections have all operations that were there when it
    /// was called. Views that failed are tried again.
    ///
    /// There is no need to call it: a store does this in the background, in small commits between which
    /// others write, and continues after a crash. Call it to show progress, or to learn of a failure.
    ///
    /// If the task is cancelled it stops between two commits.
    ///
    /// - Parameter progress: Called after each commit with the number of operations that were taken in,
    ///   all views together.
    /// - Throws: `projectionFailed` for the first view that failed, once the others are done;
    ///   `projectionNotReady` if another process has another version; `closed`, `full`, `io`.
    public func prepareProjections(
        progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) async throws {
        try await ProjectionFollower(store: self).prepare(progress)
    }

    /// Empties the view of a projection of this store and builds it again from the log.
    ///
    /// Reads of the view throw `projectionNotReady` meanwhile. If the log was compacted, the view
    /// begins with baselines; see ``RecordProjection``.
    ///
    /// - Throws: `unknownProjection` if the store was opened without it; what
    ///   ``prepareProjections(progress:)`` throws.
    public func rebuildProjection(
        named name: String,
        progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) async throws {
        try await ProjectionFollower(store: self).rebuild(name, progress)
    }

    /// Removes the view of a projection that the program no longer has.
    ///
    /// - Throws: `unknownProjection` if none of that name is stored; `invalidProjection` if this
    ///   store was opened with it, because it would be built again.
    public func removeProjection(named name: String) async throws {
        try await ProjectionFollower(store: self).remove(name)
    }
}

extension StoreError {
    static func unknown(_ name: String) -> StoreError {
        StoreError(
            .unknownProjection,
            "The store knows no projection '\(name)'. Name it in StoreConfiguration.projections and "
                + "open the store again.")
    }

    static func failed(_ name: String, _ failure: ProjectionFailure) -> StoreError {
        StoreError(
            .projectionFailed,
            "The projection '\(name)' could not take in operation \(failure.sequence): "
                + "\(failure.reason) Your records are not affected. Fix its apply and raise its "
                + "version, or call prepareProjections to try again.")
    }

    static func otherVersion(_ name: String) -> StoreError {
        StoreError(
            .projectionNotReady,
            "The view of the projection '\(name)' is of another version: a newer or older program "
                + "built it meanwhile. Open the store again to build it anew.")
    }
}
