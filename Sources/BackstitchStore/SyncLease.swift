import BackstitchLog
import LMDB
import Threading

/// Who may synchronise a store: one engine at a time, among all processes.
///
/// Among the engines of one `Store` object it moves on when a ``SyncLease`` is ended. Other processes
/// get it when no lease is held any more, when the store is closed, or when the process ends, by
/// whatever cause.
final class LeaseTable: Sendable {
    private struct State {
        /// How many leases there were; the last one's number.
        var leases = 0
        /// The lease that may exchange.
        var current: Int?
        /// How many leases are held, ended ones too.
        var holders = 0
        var fileLease: FileLease?
        var isClosed = false
    }

    private let state = Locked(State())

    /// Takes a lease, if no other one goes on.
    ///
    /// - Parameter path: The lease's file; nil for a store that no other process has.
    /// - Returns: Its number; nil if another engine may exchange.
    func take(at path: String?) throws -> Int? {
        try state.withLock { state in
            if state.isClosed { throw StoreError.closed }
            if state.current != nil { return nil }
            if state.fileLease == nil, let path {
                guard let lease = try FileLease.take(at: path) else { return nil }
                state.fileLease = lease
            }
            state.leases += 1
            state.holders += 1
            state.current = state.leases
            return state.leases
        }
    }

    func isCurrent(_ number: Int) -> Bool { state.withLock { $0.current == number } }

    /// Ends a lease; the next one on this `Store` object may begin.
    func end(_ number: Int) {
        state.withLock { state in
            if state.current == number { state.current = nil }
        }
    }

    /// Lets go of a lease; the next one in another process may begin if it was the last.
    func release(_ number: Int) {
        end(number)
        state.withLock { state in
            state.holders -= 1
            if state.holders == 0 { state.fileLease = nil }
        }
    }

    /// Gives the lease back for all, as the store is closed.
    func close() {
        state.withLock { state in
            state.isClosed = true
            state.current = nil
            state.fileLease = nil
        }
    }
}

/// The right of one engine to exchange the records of a store.
///
/// Its holder keeps it until its last request has ended, so that no two processes have requests
/// under way. When it is released it is given back.
package final class SyncLease: Sendable {
    fileprivate let table: LeaseTable
    fileprivate let number: Int

    fileprivate init(_ table: LeaseTable, _ number: Int) {
        self.table = table
        self.number = number
    }

    deinit { table.release(number) }

    /// Ends it: nothing is stored under it any more, and another engine on the same `Store` object may
    /// begin at once, though a request of this one may still be under way.
    package func end() { table.end(number) }
}

extension SyncLease {
    /// Takes the role of synchronising a store.
    ///
    /// - Returns: The role; nil if another engine has it, here or in another process.
    package static func take(of store: Store) throws -> SyncLease? {
        let (environment, table) = (store.environment, store.leaseTable)
        let path = environment.isOnDisk ? environment.directory + "/sync.lock" : nil
        return try StoreError.wrapping { try table.take(at: path).map { SyncLease(table, $0) } }
    }

    /// Tells whether it goes on, without a hold on it.
    package var isCurrent: @Sendable () -> Bool {
        { [table, number] in table.isCurrent(number) }
    }
}
