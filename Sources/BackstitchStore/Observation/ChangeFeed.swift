import BackstitchCore
import BackstitchLog
import Foundation
import LMDB
import Threading

/// Delivers the changes of some files to those who wait for them: what this process wrote, and what
/// other processes did, all in the order of the log and each once.
///
/// This process's changes come from its writer, right after the commit. Those of other
/// processes are read from the log, when the system says that the file was written to. Nothing is
/// read while no stream is open.
final class ChangeFeed: Sendable {
    private let mailboxes = Mailboxes()
    private let databases: Databases
    private let catalog: CatalogState
    /// Open handles by the number of their store.
    private let environments = Locked<[Int: Environment]>([:])
    /// Whether there is a stream to deliver to, and how far that came: one state, so that none can
    /// begin to wait while the last one ends.
    private struct State {
        /// The mailboxes that are open or about to be.
        var users = 0
        /// The last operation that was delivered; nil while no stream is open.
        var delivered: UInt64?
        var watch: CommitWatch?
    }
    /// Held while changes are read and delivered, so that they keep their order.
    private let order = NSLock()
    private let state = Locked(State())

    init(_ databases: Databases, _ catalog: CatalogState) {
        self.databases = databases
        self.catalog = catalog
    }

    /// Adds an open store and returns its number.
    func addStore(_ environment: Environment) -> Int {
        let number = mailboxes.addStore()
        environments.withLock { $0[number] = environment }
        return number
    }

    /// Ends the streams of a store that was closed.
    func removeStore(_ number: Int) {
        environments.withLock { $0[number] = nil }
        mailboxes.removeStore(number)
    }

    /// A mailbox that gets everything from now on; an ended one if the store is closed.
    func open(for number: Int) -> ChangeMailbox {
        order.lock()
        defer { order.unlock() }
        // Counted before anything is looked at: what is found running goes on running, and a commit
        // behind this moment waits for its delivery.
        let isRunning = state.withLock { state in
            state.users += 1
            return state.delivered != nil
        }
        TestPoint.mark("a stream was counted")
        if isRunning { deliverLogged() }
        start(number)
        TestPoint.mark("a stream gets its mailbox")
        return mailboxes.open(for: number) { [weak self] in self?.leave() }
    }

    /// Delivers what a commit of this process changed; called in commit order.
    func publish(_ changes: [ChangeSet]) {
        guard state.withLock({ $0.users > 0 }) else { return }
        TestPoint.mark("a commit is to be delivered")
        order.lock()
        defer { order.unlock() }
        for change in changes where !change.sequences.isEmpty {
            let first = change.sequences.lowerBound
            let found = state.withLock { state -> UInt64? in
                guard state.users > 0 else { return nil }
                // Where the log could not be read when the first stream opened, it begins here.
                let delivered = state.delivered ?? first - 1
                state.delivered = delivered
                return delivered
            }
            guard let delivered = found else { return }
            // The watch may have found it in the log before.
            guard first > delivered else { continue }
            // Streams of a store that closes end before what others wrote and can't be read any more.
            if first > delivered + 1, !deliverLogged(before: first) { return }
            deliver(change)
        }
        if changes.allSatisfy(\.sequences.isEmpty) { deliverCommit() }
    }

    /// Tells those who want to know of a commit that may have changed no record.
    private func deliverCommit() {
        guard let delivered = state.withLock({ $0.delivered }) else { return }
        mailboxes.deliver(ChangeSet(commitBefore: delivered + 1))
    }

    private func deliver(_ change: ChangeSet) {
        mailboxes.deliver(change)
        TestPoint.mark("a change was delivered")
        state.withLock { state in
            // The last stream may have ended meanwhile.
            if state.delivered != nil { state.delivered = change.sequences.upperBound - 1 }
        }
    }

    /// Begins with the log as it is now, and watches for other processes, as far as that is not done.
    private func start(_ number: Int) {
        guard let environment = environments.withLock({ $0[number] }) else { return }
        let (hasBegun, isWatching) = state.withLock { ($0.delivered != nil, $0.watch != nil) }
        if !hasBegun, let head = try? read(environment, { try $0.log.head }) {
            state.withLock { $0.delivered = head }
        }
        guard !isWatching else { return }
        let watch = try? environment.watchCommits { [weak self] in
            guard let self else { return }
            order.lock()
            defer { order.unlock() }
            deliverLogged()
            deliverCommit()
        }
        state.withLock { $0.watch = watch }
    }

    /// Ends it all after the last stream.
    private func leave() {
        TestPoint.mark("a stream ends")
        let watch = state.withLock { state -> CommitWatch? in
            state.users -= 1
            guard state.users == 0 else { return nil }
            state.delivered = nil
            defer { state.watch = nil }
            return state.watch
        }
        // Let go of outside of the lock.
        withExtendedLifetime(watch) {}
    }

    /// Delivers what the log has after what was delivered.
    ///
    /// - Returns: Whether there was a handle to read it by; false if all were closed.
    @discardableResult private func deliverLogged(before end: UInt64 = .max) -> Bool {
        let open = environments.withLock { Array($0.values) }
        var isClosed = true
        for environment in open {
            guard let delivered = state.withLock({ $0.delivered }) else { return true }
            do {
                try read(environment) { reader in
                    try LoggedChanges(reader).visit(from: delivered + 1, before: end) {
                        deliver($0)
                    }
                }
                return true
            } catch {
                // If the log is damaged there, every read that gets to it says so.
                if (error as? LMDBError)?.code != .closed { isClosed = false }
            }
        }
        return !isClosed
    }

    /// Reads a snapshot of one of the stores.
    func read<Result>(
        _ environment: Environment, _ body: (TableReader) throws -> Result
    ) throws -> Result {
        try environment.read { transaction in
            try body(
                TableReader(
                    access: transaction.access, databases: databases,
                    catalog: try catalog.current(transaction.access, databases)))
        }
    }
}
