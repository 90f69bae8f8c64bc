public import BackstitchCore

/// Which conflicts of the journal are meant; those that all of it is true of.
public struct ConflictFilter: Hashable, Sendable {
    let entity: String?
    let key: RecordKey?
    /// Only those that a policy decided; nil for all.
    public var policy: ConflictPolicy?
    /// Only those that were settled before an operation: with the sequence of the last one that was
    /// read, the next page. Nil for all.
    public var beforeSequence: UInt64?

    /// The conflicts of an entity; without arguments all.
    public init(
        entity: String? = nil, policy: ConflictPolicy? = nil, beforeSequence: UInt64? = nil
    ) {
        self.init(entity: entity, key: nil, policy: policy, beforeSequence: beforeSequence)
    }

    /// The conflicts of a record.
    public init(
        record: RecordID, policy: ConflictPolicy? = nil, beforeSequence: UInt64? = nil
    ) {
        self.init(
            entity: record.entity, key: record.key, policy: policy, beforeSequence: beforeSequence)
    }

    package init(
        entity: String?, key: RecordKey?, policy: ConflictPolicy? = nil,
        beforeSequence: UInt64? = nil
    ) {
        self.entity = entity
        self.key = key
        self.policy = policy
        self.beforeSequence = beforeSequence
    }

    func accepts(_ conflict: RecordConflict) -> Bool {
        (entity ?? conflict.record.entity) == conflict.record.entity
            && (key ?? conflict.record.key) == conflict.record.key
            && (policy == nil || policy == conflict.policy)
    }
}
