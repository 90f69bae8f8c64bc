public import BackstitchCore
import BackstitchLog
public import BackstitchStore

extension RecordConflict {
    /// A side of a conflict.
    public enum Side: String, Hashable, Sendable, CaseIterable, Codable {
        /// The version that both sides started from.
        case base
        /// The local version.
        case local
        /// The service's version.
        case server
    }
}

extension WriteTransaction {
    /// Restores the values that a record lost in a conflict, by an ordinary local edit that is
    /// synced like any other.
    ///
    /// Only attributes in which the side differs from the outcome change; later edits of others
    /// stay. If the record did not exist on that side, it is deleted, with its delete rules; if it
    /// existed there and was deleted since, it is inserted again.
    ///
    /// - Parameters:
    ///   - sequence: The conflict's ``RecordConflict/sequence``.
    ///   - side: The side whose values the record gets. Nil for the lost ones: the local values
    ///     unless they are the outcome, otherwise the service's.
    /// - Returns: whether that changed anything.
    /// - Throws: `notFound` if the journal has no such conflict; `deleteDenied`; `invalidName`
    ///   if another record has the name by now.
    @discardableResult
    public func undoConflict(
        _ sequence: UInt64, taking side: RecordConflict.Side? = nil
    ) throws -> Bool {
        try ConflictUndo(log).undo(sequence, taking: side)
    }
}

extension Store {
    /// Undoes a conflict in a write of its own; see
    /// ``WriteTransaction/undoConflict(_:taking:)``.
    ///
    /// - Parameters:
    ///   - author: As for a write.
    ///   - context: As for a write.
    @discardableResult
    public func undoConflict(
        _ sequence: UInt64, taking side: RecordConflict.Side? = nil, author: String? = nil,
        context: String = ""
    ) async throws -> Bool {
        try await withLogWriter(author: author, context: context) {
            try ConflictUndo($0).undo(sequence, taking: side)
        }
    }
}
