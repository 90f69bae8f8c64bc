extension WriteTransaction {
    /// The number of this transaction, by which ``undo(transaction:_:)`` and the log name
    /// it: the sequence of its first operation. Nil as long as it has none.
    public var id: UInt64? { log.transaction == 0 ? nil : log.transaction }

    /// Runs a part of the transaction; if it throws, nothing of the part stays, and the transaction
    /// can go on.
    ///
    /// ```swift
    /// for row in rows {
    ///     do {
    ///         try tx.savepoint { try importRow(row, into: $0) }
    ///     } catch { refused.append(row) }
    /// }
    /// ```
    ///
    /// Parts may be nested. Unique attributes are checked at the end of the transaction, so that a
    /// part with a value which another record has fails the transaction as a whole.
    ///
    /// - Throws: what the part throws. If the disk is full or fails, the transaction can't be kept,
    ///   even if the error is caught.
    /// - Complexity: Each change within a part costs one more look-up, and memory for what it
    ///   replaces.
    public func savepoint<Result>(
        _ body: (borrowing WriteTransaction) throws -> Result
    ) throws -> Result {
        try context.savepoint { try body(self) }
    }
}
