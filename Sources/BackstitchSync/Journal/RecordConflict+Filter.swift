public import BackstitchCore

extension RecordConflict {
    /// Selects conflicts of the journal that match all of its properties.
    public struct Filter: Hashable, Sendable {
        let entity: String?
        let key: RecordKey?
        let zone: RecordID.Zone?
        /// Only those that a policy decided; nil for all.
        public var policy: ConflictPolicy?
        /// Only those that were settled before an operation; nil for all. Pass the sequence of the last
        /// conflict that you read to get the next page.
        public var beforeSequence: UInt64?

        /// A filter; without arguments it matches every conflict.
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
                entity: record.entity, key: record.key, policy: policy,
                beforeSequence: beforeSequence)
        }

        package init(
            entity: String?, key: RecordKey?, zone: RecordID.Zone? = nil,
            policy: ConflictPolicy? = nil, beforeSequence: UInt64? = nil
        ) {
            self.entity = entity
            self.key = key
            self.zone = zone
            self.policy = policy
            self.beforeSequence = beforeSequence
        }

        func accepts(_ conflict: RecordConflict) -> Bool {
            (entity ?? conflict.record.entity) == conflict.record.entity
                && (key ?? conflict.record.key) == conflict.record.key
                && (zone ?? conflict.record.zone) == conflict.record.zone
                && (policy == nil || policy == conflict.policy)
        }
    }
}
