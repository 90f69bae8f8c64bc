import LMDB

/// Who may synchronise a store: one `Store` object at a time among all processes.
///
/// The engines of one `Store` object share it. It moves on when the last of them gives it back, when
/// the store is closed, or when the process ends, by whatever cause.
final class SyncLeaseHolder: Sendable {
    private struct State {
        var engines = 0
        var lease: FileLease?
        var isClosed = false
    }

    private let state = Locked(State())

    /// Takes the lease for one more engine.
    ///
    /// - Parameter path: The lease's file; nil for a store that no other process has.
    /// - Returns: Whether the engine has it.
    func take(at path: String?) throws -> Bool {
        try state.withLock { state in
            if state.isClosed { throw StoreError.closed }
            if state.lease == nil, let path {
                guard let lease = try FileLease.take(at: path) else { return false }
                state.lease = lease
            }
            state.engines += 1
            return true
        }
    }

    /// Gives the lease back for one engine that has it.
    func giveBack() {
        state.withLock { state in
            state.engines -= 1
            if state.engines == 0 { state.lease = nil }
        }
    }

    /// Gives the lease back for all, as the store is closed.
    func close() {
        state.withLock { state in
            state.isClosed = true
            state.lease = nil
        }
    }
}

extension Store {
    /// Takes the role of synchronising the store, which one `Store` object has at a time among all
    /// processes.
    ///
    /// - Returns: Whether the caller has it; it then calls ``giveSyncLeaseBack()`` once.
    package func takeSyncLease() throws -> Bool {
        do {
            return try syncLease.take(at: environment.isOnDisk ? directory + "/sync.lock" : nil)
        } catch {
            throw StoreError.wrap(error)
        }
    }

    /// Gives the role back.
    package func giveSyncLeaseBack() { syncLease.giveBack() }
}
