public import BackstitchCore

extension Store {
    /// Replaces operations of the log that the policy need not keep by baselines.
    ///
    /// The tables, the outbox and the conflict journal stay as they are, and still follow from the log.
    /// Operations that sync may need are kept whatever the policy says: a store that was never synced
    /// keeps all but local-only ones, unless ``StoreConfiguration/syncs`` is false. So are those that a
    /// projection of this store has not taken in yet. Works in chunks of some twenty milliseconds, each a
    /// commit of its own: writers wait that long, readers not at all. A crash leaves committed chunks.
    ///
    /// Then half-empty pages of the log and the tables are packed, and free pages go back to the
    /// file system, except 64 for the next commits, short runs, and pages that a reader of any
    /// process still needs. If many free pages are scattered, pages are moved to bring them
    /// together. This also happens in chunks, and even if no operation may be removed.
    ///
    /// On a full disk the chunks get smaller until one fits into the pages that are free. If none
    /// does, it fails with `full`; free some MiB of the disk, and run it again. Pages that can't be packed
    /// or moved for lack of space stay, and the report says that it is not complete.
    ///
    /// With ``StoreConfiguration/retention``, commits do the same in passing. Call this for stores
    /// without that setting, or to compact at once.
    ///
    /// - Parameters:
    ///   - policy: What to keep. Operations that were removed earlier do not come back.
    ///   - progress: Called after each chunk, on another thread. Its total is an upper bound.
    /// - Returns: what was done. If the task is cancelled it stops between two chunks.
    /// - Throws: `invalidValue` if the policy is impossible; `damaged` if the log is; it is then
    ///   unchanged from that chunk on; `closed`, `full`, `io`.
    /// - Complexity: O(*n*) in the operations since the last compaction, about five microseconds each.
    @discardableResult
    public func compact(
        _ policy: RetentionPolicy,
        progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) async throws -> CompactionReport {
        try await StoreCompaction(self).run(policy, progress)
    }

    /// Compacts the operations up to a sequence; as ``compact(_:progress:)``.
    ///
    /// - Parameter horizon: The last operation that may go. Those that sync may need stay.
    @discardableResult
    public func compact(
        through horizon: UInt64,
        progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) async throws -> CompactionReport {
        try await StoreCompaction(self).run(through: horizon, progress)
    }
}
