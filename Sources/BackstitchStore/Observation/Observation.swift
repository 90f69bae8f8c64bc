import LMDB

/// One place among the observers of a store, until it is released.
final class Observation: Sendable {
    private let store: Store
    private let number: Int

    init(_ store: Store) {
        self.store = store
        number = store.observers.open(in: store)
    }

    deinit { store.observers.close(number) }

    /// Waits until something has to be read, first or again; false when the store was closed or the
    /// task cancelled.
    func isDue() async -> Bool { await store.observers.isDue(number) }

    /// Reads, and notes what is looked at.
    func read<Value>(
        interruption: ReadInterruption? = nil,
        _ body: (borrowing ReadTransaction) throws -> Value
    ) throws -> Value {
        try store.observers.read(number, in: store, interruption: interruption, body)
    }
}
