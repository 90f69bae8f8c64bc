import BackstitchCore
import BackstitchLog

extension WriteTransaction {
    /// Undoes a transaction of the log by new operations, which are synced as any others.
    ///
    /// Each record gets the values back that it had before; a record that was new is deleted, with
    /// its delete rules, and one that was deleted is inserted again. What the transaction did not
    /// change stays. The undo of an undo is the redo.
    ///
    /// - Parameters:
    ///   - id: The transaction: the sequence of its first operation.
    ///   - policy: Decides about records that changed since the transaction.
    /// - Throws: `changedSince` if there are such records, which are named; `notInLog`,
    ///   `deleteDenied`, `crossesZones`, `invalidName` if another record has the name by now.
    @discardableResult
    public func undo(
        transaction id: UInt64, _ policy: WriteTransaction.UndoPolicy = .allOrNothing
    ) throws -> UndoReport {
        try TransactionUndo(log).undo(id, policy)
    }
}

extension Store {
    /// Undoes a transaction in a write of its own; see ``WriteTransaction/undo(transaction:_:)``.
    ///
    /// - Parameters:
    ///   - author: As for a write.
    ///   - context: As for a write.
    @discardableResult
    public func undo(
        transaction id: UInt64, _ policy: WriteTransaction.UndoPolicy = .allOrNothing,
        author: String? = nil, context: String = ""
    ) async throws -> UndoReport {
        try await withLogWriter(author: author, context: context) {
            try TransactionUndo($0).undo(id, policy)
        }
    }

    /// Redoes what an undo took back, by new operations, as an undo of the undo.
    ///
    /// - Parameter undo: The undo's report. After an undo that changed nothing there is nothing to redo.
    /// - Throws: as ``WriteTransaction/undo(transaction:_:)``.
    @discardableResult
    public func redo(
        _ undo: UndoReport, _ policy: WriteTransaction.UndoPolicy = .allOrNothing,
        author: String? = nil, context: String = ""
    ) async throws -> UndoReport {
        guard let transaction = undo.transaction else {
            return UndoReport(transaction: nil, undone: [], skipped: [])
        }
        return try await self.undo(
            transaction: transaction, policy, author: author, context: context)
    }
}
