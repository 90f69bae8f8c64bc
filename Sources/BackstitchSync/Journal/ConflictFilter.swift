public import BackstitchCore

/// Selects conflicts of the journal that match all of its properties.
public struct ConflictFilter: Hashable, Sendable {
    /// Only those of an entity; nil for all.
    public var entity: String?
    /// Only those of a record; nil for all.
    public var record: RecordKey?
    /// Only those that a policy decided; nil for all.
    public var policy: ConflictPolicy?
    /// Only those that were settled before an operation; nil for all. Pass the sequence of the last
    /// conflict that you read to get the next page.
    public var beforeSequence: UInt64?

    /// A filter; without arguments it matches every conflict.
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
