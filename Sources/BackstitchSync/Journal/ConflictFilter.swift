public import BackstitchCore

/// Which conflicts of the journal are meant; those that all of it is true of.
public struct ConflictFilter: Hashable, Sendable {
    /// Only those of an entity; nil for all.
    public var entity: String?
    /// Only those of a record; nil for all.
    public var record: RecordKey?
    /// Only those that a policy decided; nil for all.
    public var policy: ConflictPolicy?
    /// Only those that were settled before an operation: with the sequence of the last one that was
    /// read, the next page. Nil for all.
    public var beforeSequence: UInt64?

    /// A filter; without arguments one that lets everything through.
    public init(
        entity: String? = nil, record: RecordKey? = nil, policy: ConflictPolicy? = nil,
        beforeSequence: UInt64? = nil
    ) {
        self.entity = entity
        self.record = record
        self.policy = policy
        self.beforeSequence = beforeSequence
    }

    func accepts(_ conflict: RecordConflict) -> Bool {
        (entity ?? conflict.record.entity) == conflict.record.entity
            && (record ?? conflict.record.key) == conflict.record.key
            && (policy == nil || policy == conflict.policy)
    }
}
