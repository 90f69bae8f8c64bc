/// What every operation carries, whatever its kind.
package struct OperationHeader: Hashable, Sendable {
    /// Bits of the stored flags byte.
    package struct Flags: OptionSet, Hashable, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }
        /// The protocol's own is generic code that is not specialized.
        package init(arrayLiteral flags: Flags...) {
            rawValue = flags.reduce(0) { $0 | $1.rawValue }
        }
        /// A ``SyncStamp`` follows the key.
        package static let hasStamp = Flags(rawValue: 1)
        /// A conflict report follows the stamp.
        package static let hasConflict = Flags(rawValue: 2)
        /// The record can't be read as its Swift type.
        package static let isUnreadable = Flags(rawValue: 4)
        /// A context follows the author.
        package static let hasContext = Flags(rawValue: 8)
        /// The values were erased: what the operation carries is empty.
        package static let isErased = Flags(rawValue: 16)
        /// The service's version took the place of one that the service had lost: neither is known to be
        /// the later one.
        package static let replacesLost = Flags(rawValue: 32)
        /// What was here when the service lost its latest state is sent again: a version of the service on top of
        /// which that comes, or an operation that puts it back and has no edit that the service never had.
        package static let isResent = Flags(rawValue: 64)
    }

    package var kind: OperationKind
    package var origin: OperationOrigin
    package var flags: Flags
    package var entity: EntityNumber
    /// The sequence of the first operation of the same transaction.
    package var transaction: UInt64
    /// Hybrid logical clock: 48 bits of Unix milliseconds, 16 bits of counter.
    package var clock: UInt64
    /// The sequence of the record's operation before this one that changed content, or 0.
    package var previous: UInt64
    package var key: RecordKey
    package var author: String
    /// What the transaction was for; only its first operation carries it.
    package var context: String

    package init(
        kind: OperationKind, origin: OperationOrigin, flags: Flags = [], entity: EntityNumber,
        transaction: UInt64, clock: UInt64, previous: UInt64, key: RecordKey, author: String = "",
        context: String = ""
    ) {
        self.kind = kind
        self.origin = origin
        self.flags = flags
        self.entity = entity
        self.transaction = transaction
        self.clock = clock
        self.previous = previous
        self.key = key
        self.author = author
        self.context = context
    }
}
