public import BackstitchCore
import BackstitchLog

extension LoggedOperation {
    /// Selects operations to read; by default all.
    public struct Filter: Hashable, Sendable {
        let entity: String?
        let key: RecordKey?
        let zone: RecordID.Zone?

        /// The operations of an entity, or all.
        public init(entity: String? = nil) {
            self.init(entity: entity, key: nil)
        }

        /// The operations of a record.
        public init(record: RecordID) {
            self.init(entity: record.entity, key: record.key)
        }

        package init(entity: String?, key: RecordKey?, zone: RecordID.Zone? = nil) {
            self.entity = entity
            self.key = key
            self.zone = zone
        }
    }
}

/// A filter in the form in which operations are stored.
struct StoredOperationFilter {
    private let entity: EntityNumber?
    private let key: [UInt8]?
    private let zone: UInt8?
    private let isForAll: Bool

    init(_ filter: LoggedOperation.Filter, _ reader: TableReader) throws {
        entity = try filter.entity.map { try reader.table(named: $0).number }
        // A name that no record can have: the stored form of a key has no room for it.
        if let name = filter.key?.name, let violation = name.violation {
            throw StoreError(.invalidName, violation)
        }
        key = filter.key?.bytes
        zone = filter.zone?.slot
        isForAll = filter == LoggedOperation.Filter()
    }

    func matches(_ operation: OperationView) -> Bool {
        if isForAll { return true }
        if let entity, operation.entity != entity { return false }
        if let zone, operation.zone != zone { return false }
        guard let key else { return true }
        return unsafe key.withUnsafeBytes { unsafe $0.holdsSameBytes(as: operation.keyBytes) }
    }
}
