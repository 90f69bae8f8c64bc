import BackstitchCore
import BackstitchLog
import LMDB

extension Store {
    /// Reads the store as it was after an operation: records, queries, history and conflicts of then.
    ///
    /// The records that changed since are put together from the log; everything else is read from the
    /// tables, with their indexes. So the memory is that of the records that changed since. Before the
    /// closure runs, the log is read: under a microsecond for each operation, and some microseconds
    /// for each one of a record that changed since. Names and indexes are those of the present schema.
    ///
    /// - Parameter sequence: The last operation that counts; 0 for the empty store before the first.
    /// - Throws: `notInLog` if the log has no such operation yet, or was compacted beyond it: the
    ///   message names the oldest state that can be read. `damaged` if an operation can't be read;
    ///   `closed`, or what the closure throws.
    public func read<Result>(
        at sequence: UInt64, _ body: (borrowing ReadTransaction) throws -> Result
    ) throws -> Result {
        do {
            return try environment.read { transaction in
                let reader = TableReader(
                    access: transaction.access, databases: databases,
                    catalog: try shared.catalog.current(transaction.access, databases))
                let past = try reader.at(sequence)
                return try withExtendedLifetime(past.past) {
                    try body(ReadTransaction(reader: past, types: types))
                }
            }
        } catch {
            throw StoreError.wrap(error)
        }
    }
}
