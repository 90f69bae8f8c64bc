public import BackstitchCore
public import Foundation

extension WriteTransaction {
    /// Decides what an undo does with records that changed since the transaction.
    public enum UndoPolicy: Hashable, Sendable, CaseIterable {
        /// It throws and changes nothing.
        case allOrNothing
        /// It leaves these records as they are and undoes the rest.
        case skippingChanged
    }
}

/// The result of an undo.
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

extension LoggedOperation {
    /// A transaction of the log in short.
    public struct Transaction: Hashable, Sendable, Identifiable {
        /// The sequence of its first operation.
        public let id: UInt64
        /// The author of the write; empty if it named none.
        public let author: String
        /// The context of the write; empty if it gave none.
        public let context: String
        /// The time of its first operation.
        public let date: Date
        /// The number of its operations.
        public let operationCount: Int
    }
}
