public import Foundation

/// The contents of a backup.
public struct BackupReport: Hashable, Sendable {
    /// The identity of the copy, which no other store has.
    public let storeID: UUID
    /// The identity of the store that was copied.
    public let copiedFrom: UUID
    /// The sequence of the last operation in the copy; what was written later is not in it.
    public let lastSequence: UInt64
    /// The number of operations in the copy's log.
    public let operations: Int
    /// The number of entries in the copy's tables.
    public let entries: Int
    /// The size of the copy's data file, in bytes.
    public let bytes: Int
}
