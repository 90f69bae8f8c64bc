/// The effect of an operation on its record.
///
/// The raw values are part of the stored format and never change.
public enum OperationKind: UInt8, Hashable, Sendable, CaseIterable {
    /// The record begins; carries all its fields.
    case insert = 1
    /// Fields change; carries each with its value before and after.
    case update = 2
    /// The record ends; carries all its fields as they were.
    case delete = 3
    /// The service has the record's operations up to a sequence; carries the change tag.
    case acknowledge = 4
    /// The record's unsynced operations can't be pushed; carries the reason.
    case park = 5
    /// Parked operations are to be tried again.
    case release = 6
    /// The service lost the zone, and with it its version of the record.
    case forget = 7
    /// The record as it was at a moment, in place of its operations up to then, which compaction
    /// took out of the log.
    case baseline = 8
    /// The conflict report of an operation that compaction took out of the log.
    case journal = 9

    /// Whether the operation changes the fields or the existence of its record.
    public var changesContent: Bool {
        rawValue <= OperationKind.delete.rawValue || self == .baseline
    }
}

/// Where an operation comes from.
///
/// The raw values are part of the stored format and never change.
public enum OperationOrigin: UInt8, Hashable, Sendable, CaseIterable {
    /// A save or delete on this device.
    case local = 1
    /// A save, delete or eviction that stays on this device: the service never hears of it.
    case localOnly = 2
    /// The service: a pulled change, an acknowledgement, a refusal.
    case remote = 3
    /// The local operations that remain after a conflict, applied to the service's version.
    case rebase = 4
}
