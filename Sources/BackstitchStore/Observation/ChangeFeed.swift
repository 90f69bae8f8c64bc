import BackstitchCore
import Foundation
import LMDB

/// Delivers the changes of some files to those who wait for them: what this process wrote, and what
/// other processes did, all in the order of the log and each once.
///
/// This process's changes come from its writer thread right after the commit. Those of other
/// processes are read from the log, when the system says that the file was written to. Nothing is
/// read while nobody waits.
final class ChangeFeed: Sendable {
    private let mailboxes = Mailboxes()
    private let databases: Databases
    private let catalog: CatalogState
    /// Open handles by the number of their store.
    private let environments = Locked<[Int: Environment]>([:])
    /// What is under the lock of deliveries.
    private struct State {
        /// The last operation that was delivered; nil while nobody waits.
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

    /// A mailbox that gets everything from now on; an ended one where the store is closed.
    func open(for number: Int) -> ChangeMailbox {
        order.lock()
        defer { order.unlock() }
        if state.withLock({ $0.delivered }) == nil {
            start(number)
        } else {
            deliverLogged()
        }
        return mailboxes.open(for: number) { [weak self] in self?.stopIfUnused() }
    }

    /// Delivers what a commit of this process changed; called in commit order.
    func publish(_ changes: [ChangeSet]) {
        guard state.withLock({ $0.delivered }) != nil else { return }
        order.lock()
        defer { order.unlock() }
        for change in changes where !change.sequences.isEmpty {
            guard let delivered = state.withLock({ $0.delivered }) else { return }
            // The watch may have found it in the log before.
            guard change.sequences.lowerBound > delivered else { continue }
            if change.sequences.lowerBound > delivered + 1 {
                deliverLogged(before: change.sequences.lowerBound)
            }
            deliver(change)
        }
    }

    private func deliver(_ change: ChangeSet) {
        mailboxes.deliver(change)
        state.withLock { $0.delivered = change.sequences.upperBound - 1 }
    }

    /// Begins with the log as it is now.
    private func start(_ number: Int) {
        let environment = environments.withLock { $0[number] }
        guard let environment, let head = try? read(environment, { try $0.head }) else { return }
        let watch = try? environment.watchCommits { [weak self] in
            guard let self else { return }
            order.lock()
            defer { order.unlock() }
            deliverLogged()
        }
        state.withLock {
            $0.delivered = head
            $0.watch = watch
        }
    }

    private func stopIfUnused() {
        guard mailboxes.isEmpty else { return }
        let watch = state.withLock { state in
            state.delivered = nil
            defer { state.watch = nil }
            return state.watch
        }
        withExtendedLifetime(watch) {}
    }

    /// Delivers what the log has behind what was delivered.
    private func deliverLogged(before end: UInt64 = .max) {
        let open = environments.withLock { Array($0.values) }
        for environment in open {
            guard let delivered = state.withLock({ $0.delivered }) else { return }
            do {
                return try read(environment) { reader in
                    try reader.visitChanges(from: delivered + 1, before: end) { deliver($0) }
                }
            } catch {
                // This handle was closed meanwhile; or the log is damaged there, and every read
                // that gets to it says so.
                continue
            }
        }
    }

    private func read<Result>(
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

extension TableReader {
    /// Visits what each write changed, in the order of the log.
    ///
    /// Where operations were compacted away already, a change set stands for them that names no
    /// records and is not complete.
    func visitChanges(
        from first: UInt64, before end: UInt64, _ visit: (ChangeSet) -> Void
    ) throws {
        var changes = ChangeSet()
        var transaction: UInt64 = 0
        var next = first
        func close() {
            guard !changes.sequences.isEmpty else { return }
            changes.name(by: catalog)
            visit(changes)
            changes = ChangeSet()
        }
        try visitOperations(from: first) { operation in
            guard operation.sequence < end else { return false }
            let isKnown = operation.kind != .baseline && operation.kind != .journal
            if operation.sequence > next || !isKnown {
                close()
                visit(ChangeSet(lost: next..<operation.sequence + (isKnown ? 0 : 1)))
            }
            next = operation.sequence + 1
            guard isKnown else { return true }
            if operation.transaction != transaction {
                close()
                changes = ChangeSet(author: operation.author, context: operation.context)
                transaction = operation.transaction
            }
            changes.note(
                operation.kind, origin: operation.origin, entity: operation.entity,
                key: try operation.key, sequence: operation.sequence)
            return true
        }
        close()
    }
}
