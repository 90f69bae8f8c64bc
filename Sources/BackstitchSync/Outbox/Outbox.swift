package import BackstitchCore
import BackstitchLog

/// A record with operations that the service does not have, folded to what has to be pushed.
package struct PendingChange: Equatable, Sendable {
    package let entity: EntityNumber
    package let entityName: String
    package let key: RecordKey
    /// The kind of change that the service will get.
    package let push: RecordFold.Push
    /// The last operation that this covers; the acknowledgement names it.
    package let through: UInt64
    /// The change tag of the base; empty if the service is not known to have the record.
    package let changeTag: String
    /// Whether the record was deleted and made anew, so that an update is of another life of it.
    package let isAnew: Bool
    /// The names of references to records that come later in the log and are not on the service:
    /// the record is created without them, and they follow as an update.
    package let deferred: Set<String>
    /// When the service saved the base, or the older version that it was met with after a restore;
    /// 0 if it is not known to have the record.
    package let modifiedMilliseconds: Int64

    package init(
        entity: EntityNumber, entityName: String, key: RecordKey, push: RecordFold.Push,
        through: UInt64, changeTag: String, isAnew: Bool = false, modifiedMilliseconds: Int64 = 0,
        deferred: Set<String> = []
    ) {
        self.isAnew = isAnew
        self.deferred = deferred
        self.modifiedMilliseconds = modifiedMilliseconds
        self.entity = entity
        self.entityName = entityName
        self.key = key
        self.push = push
        self.through = through
        self.changeTag = changeTag
    }

    /// Whether the record is to be deleted.
    var isDelete: Bool { if case .delete = push { true } else { false } }
}

/// A run of the log folded to the changes that have to be pushed.
package struct Outbox: Equatable, Sendable {
    /// In the order of their first unsynced operation.
    package var changes: [PendingChange] = []
    /// The last operation before those that were looked at.
    package var after: UInt64 = 0
    /// The last operation that was looked at.
    package var through: UInt64 = 0
    /// Whether that is the end of the log.
    package var isComplete = true
    /// The bytes that the changes take in memory while they are pushed, roughly.
    package var byteCount = 0

    package init() {}
}
