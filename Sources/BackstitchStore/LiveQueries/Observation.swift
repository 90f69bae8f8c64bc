import BackstitchCore
import LMDB

/// One place among the observers of a store, until it is released.
final class Observation: Sendable {
    private let store: Store
    private let number: Int

    init(_ store: Store) {
        self.store = store
        number = store.observers.open()
    }

    deinit { store.observers.close(number) }

    /// Waits until something has to be read, first or again; false when the store was closed or the
    /// task cancelled.
    func isDue() async -> Bool { await store.observers.isDue(number) }

    /// Reads, and notes what is looked at; stays due if that throws.
    func read<Value>(
        interruption: ReadInterruption? = nil,
        _ body: (borrowing ReadTransaction) throws -> Value
    ) throws -> Value {
        store.observers.begin(number)
        let footprint = ReadFootprint()
        do {
            let (value, index) = try store.read(
                interruption: interruption, footprint: footprint
            ) { transaction in
                let value = try body(transaction)
                return (value, try ObservationIndex(footprint, of: number, transaction.reader))
            }
            store.observers.end(number, index)
            return value
        } catch {
            store.observers.fail(number)
            throw error
        }
    }
}
