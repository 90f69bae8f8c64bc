import BackstitchCore
import BackstitchLog
public import Foundation
import LMDB

extension Store {
    /// Reads the store as it was after an operation: its records, queries, history and conflicts.
    ///
    /// Records that changed since are assembled from the log, in memory; everything else is read
    /// from the tables, with their indexes. Before the closure runs, the log is read: under a
    /// microsecond for each operation, and some microseconds for each operation of a record that
    /// changed since. Names and indexes are those of the present schema.
    ///
    /// - Parameter sequence: The last operation that counts; 0 for the empty store before the first.
    /// - Throws: `notInLog` if the log has no such operation yet, or was compacted beyond it: the
    ///   message names the oldest state that can be read. `damaged` if an operation can't be read;
    ///   `closed`, or what the closure throws.
    public func read<Result>(
        at sequence: UInt64, _ body: (borrowing ReadTransaction) throws -> Result
    ) throws -> Result {
        try PastMoment.operation(sequence).read(self, interruption: nil, body)
    }

    /// Reads the store as it was at a moment: after the last operation that was made here or arrived
    /// here until then, by the clock of this device.
    ///
    /// Everything is as in the read after an operation, whose sequence is found first.
    ///
    /// - Parameter date: The moment; operations of the same millisecond count.
    /// - Throws: as ``read(at:_:)-(UInt64,_)``.
    public func read<Result>(
        at date: Date, _ body: (borrowing ReadTransaction) throws -> Result
    ) throws -> Result {
        try PastMoment.date(date).read(self, interruption: nil, body)
    }
}

/// A moment of a store's past.
enum PastMoment {
    /// After the operation with this sequence.
    case operation(UInt64)
    /// By the clock of operations.
    case date(Date)

    /// Reads a store as it was then.
    func read<Result>(
        _ store: Store, interruption: ReadInterruption?,
        _ body: (borrowing ReadTransaction) throws -> Result
    ) throws -> Result {
        try StoreError.wrapping {
            try store.environment.read(interruption: interruption) { transaction in
                let access = transaction.access
                let reader = TableReader(
                    access: access, databases: store.databases,
                    catalog: try store.shared.catalog.current(access, store.databases))
                let past = try reader.at(try sequence(in: reader))
                return try withExtendedLifetime(past.past) {
                    try body(ReadTransaction(reader: past, types: store.types))
                }
            }
        }
    }

    /// The sequence of the last operation that counts.
    private func sequence(in reader: TableReader) throws -> UInt64 {
        switch self {
        case .operation(let sequence): return sequence
        case .date(let date):
            // Rounded as the clock of operations is.
            let end = date.comparedMilliseconds.map { max(0, $0) + 1 } ?? .max
            return try reader.log.lastOperation(before: end, through: reader.log.head)
        }
    }
}
