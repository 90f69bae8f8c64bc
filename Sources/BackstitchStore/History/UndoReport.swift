public import BackstitchCore
public import Foundation

/// What an undo does if a record is not any more what the transaction left.
public enum UndoPolicy: Hashable, Sendable, CaseIterable {
    /// It throws and changes nothing.
    case allOrNothing
    /// It leaves these records as they are and undoes the rest.
    case skippingChanged
}

/// What an undo did.
public struct UndoReport: Hashable, Sendable {
    /// The transaction that the undo made, whose undo is the redo; nil if there was nothing to
    /// change.
    public let transaction: UInt64?
    /// The records that are again what they were before.
    public let undone: [RecordID]
    /// The records that were left as they are, because they were changed since, or because a delete
    /// rule or another record of the name forbids it.
    public let skipped: [RecordID]
}

/// A transaction of the log in short.
public struct TransactionSummary: Hashable, Sendable, Identifiable {
    /// The sequence of its first operation.
    public let id: UInt64
    /// Who wrote it; empty if the write did not say.
    public let author: String
    /// What it was for; empty if the write did not say.
    public let context: String
    /// The time of its first operation.
    public let date: Date
    /// The number of its operations.
    public let operationCount: Int
}
