import BackstitchCore
import BackstitchLog
import Foundation

/// A record that a transaction changed.
struct TransactionStep {
    let place: StoredRecordID
    /// What the transaction did to it.
    var fold = RecordFold()
    /// Whether the values were erased, so that nothing can be taken back.
    var isErased = false

    /// Adds an operation of the transaction.
    fileprivate mutating func add(_ operation: OperationView) throws {
        fold.add(try OperationStep(operation))
        if operation.flags.contains(.isErased) { isErased = true }
    }
}

/// A transaction of the log.
struct LoggedTransaction {
    private let id: UInt64
    private let reader: TableReader

    /// - Parameter id: The sequence of its first operation.
    init(_ id: UInt64, in reader: TableReader) {
        self.id = id
        self.reader = reader
    }

    /// The records that it changed, in the order of its last operations of each.
    ///
    /// - Throws: `notInLog` if the log has no such transaction, or not all of it any more.
    func steps() throws -> [TransactionStep] {
        var steps: [StoredRecordID: TransactionStep] = [:]
        var expected = id
        var isWhole = true
        try reader.log.visit(from: id) { operation in
            guard operation.transaction == id else {
                // What is missing before the next one may have been of this transaction.
                isWhole = isWhole && operation.sequence == expected
                return false
            }
            isWhole =
                isWhole && operation.sequence == expected && operation.kind != .baseline
                && operation.kind != .journal
            expected = operation.sequence + 1
            guard isWhole, operation.kind.changesContent else { return isWhole }
            let place = StoredRecordID(entity: operation.entity, key: try operation.key)
            try steps[place, default: TransactionStep(place: place)].add(operation)
            return true
        }
        guard id > 0, expected > id, isWhole else {
            let isCompacted = id <= (try LogHorizon(reader).compaction.through)
            throw StoreError(
                .notInLog,
                "Transaction \(id) \(isCompacted ? "was compacted, at least in part" : "is not in the log"). "
                    + "A transaction is named by the sequence of its first operation.")
        }
        return steps.values.sorted { $0.fold.lastSequence < $1.fold.lastSequence }
    }
}

extension RecordReading where Self: ~Copyable {
    /// The last transactions that changed records on this device, newest first, as an undo menu lists
    /// them.
    ///
    /// Transactions that came from the service, or were compacted, are not among them.
    /// - Parameters:
    ///   - limit: The most transactions.
    ///   - author: The author of the transactions; nil for any.
    /// - Throws: `damaged` if an operation can't be read.
    /// - Complexity: O(*n*) in the operations back to the last one that is listed.
    public func transactions(limit: Int, by author: String? = nil) throws -> [LoggedOperation
        .Transaction]
    {
        guard limit > 0 else { return [] }
        var found: [LoggedOperation.Transaction] = []
        var transaction: UInt64 = 0
        var count = 0
        var isLocal = false
        try unsafe reader.log.visitStoredBackwards { sequence, bytes in
            try StoreError.describingDamage(at: sequence) {
                let operation = try unsafe OperationView(bytes, sequence: sequence)
                if operation.transaction != transaction {
                    (transaction, count, isLocal) = (operation.transaction, 0, false)
                }
                count += 1
                if operation.origin == .local, operation.kind.changesContent,
                    operation.kind != .baseline
                {
                    isLocal = true
                }
                guard sequence == transaction, isLocal,
                    author.map({ $0 == operation.author }) ?? true
                else { return }
                found.append(
                    LoggedOperation.Transaction(
                        id: transaction, author: operation.author, context: operation.context,
                        date: Date(milliseconds: LogicalClock.milliseconds(of: operation.clock)),
                        operationCount: count))
            }
            return found.count < limit
        }
        return found
    }
}
