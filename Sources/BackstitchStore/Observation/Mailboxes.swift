import BackstitchLog
import LMDB
import Threading

/// Those who wait for the changes of some files, by the store that they asked.
final class Mailboxes: Sendable {
    private struct Entry {
        let store: Int
        weak var mailbox: ChangeMailbox?
    }

    private struct State {
        var next = 0
        var stores: Set<Int> = []
        var open: [Int: Entry] = [:]
    }

    private let state = Locked(State())

    /// Adds an open store and returns its number.
    func addStore() -> Int {
        state.withLock { state in
            state.next += 1
            state.stores.insert(state.next)
            return state.next
        }
    }

    /// Ends the streams of a store that was closed.
    func removeStore(_ store: Int) {
        let open = state.withLock { state -> [ChangeMailbox] in
            state.stores.remove(store)
            return state.open.values.compactMap { $0.store == store ? $0.mailbox : nil }
        }
        for mailbox in open { mailbox.close() }
    }

    /// A mailbox that gets everything from now on; an ended one if the store is closed.
    ///
    /// - Parameter onEnd: Called when it is not read any more.
    func open(
        for store: Int, onEnd: @escaping @Sendable () -> Void = {}
    ) -> ChangeMailbox {
        let number = state.withLock { state -> Int in
            state.next += 1
            return state.next
        }
        let mailbox = ChangeMailbox { [weak self] in
            self?.state.withLock { $0.open[number] = nil }
            onEnd()
        }
        let isOpen = state.withLock { state -> Bool in
            guard state.stores.contains(store) else { return false }
            state.open[number] = Entry(store: store, mailbox: mailbox)
            return true
        }
        if !isOpen { mailbox.close() }
        return mailbox
    }

    /// Hands the changes of a commit to all; never waits.
    func deliver(_ changes: ChangeSet) {
        let open = state.withLock { $0.open.values.compactMap(\.mailbox) }
        for mailbox in open { mailbox.deliver(changes) }
    }
}
