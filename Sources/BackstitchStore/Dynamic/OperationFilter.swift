public import BackstitchCore
import BackstitchLog

/// Selects operations to read; by default all.
public struct OperationFilter: Hashable, Sendable {
    /// The name of the entity, or nil for any.
    public var entity: String?
    /// The record, or nil for any.
    public var record: RecordKey?

    /// A filter by its parts.
    public init(entity: String? = nil, record: RecordKey? = nil) {
        self.entity = entity
        self.record = record
    }
}

/// A filter in the form in which operations are stored.
struct StoredOperationFilter {
    private let entity: EntityNumber?
    private let key: [UInt8]?
    private let isForAll: Bool

    init(_ filter: OperationFilter, _ reader: TableReader) throws {
        entity = try filter.entity.map { try reader.table(named: $0).number }
        // A name that no record can have: the stored form of a key has no room for it.
        if let name = filter.record?.name, let violation = name.violation {
            throw StoreError(.invalidName, violation)
        }
        key = filter.record?.bytes
        isForAll = filter == OperationFilter()
    }

    func matches(_ operation: OperationView) -> Bool {
        if isForAll { return true }
        if let entity, operation.entity != entity { return false }
        guard let key else { return true }
        return key.withUnsafeBytes { $0.holdsSameBytes(as: operation.keyBytes) }
    }
}
