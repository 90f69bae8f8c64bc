public import BackstitchCore
import BackstitchLog

/// A record as its store holds it, without its Swift type.
public struct DynamicRecord: Hashable, Sendable, Identifiable {
    /// How far a record is synchronised.
    public enum State: String, Hashable, Sendable, CaseIterable, Codable {
        /// The service has everything.
        case synced
        /// Some operations were not pushed yet.
        case dirty
        /// The service refused the push. The record waits until it is edited or released.
        case parked
        /// The service delivered values that don't fit the declared attributes.
        case unreadable
        /// It was deleted here, and the service does not know it yet.
        case deleted
    }

    /// The record.
    public let id: RecordID
    /// The values by attribute name, those included that no schema declares; none for a record
    /// that was deleted. An attribute without a value has no entry.
    public let values: [String: RecordValue]
    /// The state; if several apply the first of deleted, parked, unreadable and dirty.
    public let state: State
    /// The sequence of the last operation that changed the record.
    public let lastSequence: UInt64
    /// The sequence up to which the service has the record's operations; 0 for none.
    public let syncedSequence: UInt64
    /// Whether the service is known to have a version of the record.
    public let hasChangeTag: Bool
}

extension DynamicRecord {
    init(_ row: RowView, key: RecordKey, table: EntityTable) throws {
        id = RecordID(entity: table.name, key: key)
        var isUnreadable = row.flags.contains(.isUnreadable)
        if row.isDeleted {
            values = [:]
        } else {
            guard let packed = row.fields, let fields = try? Fields(packed) else {
                throw StoreError(
                    .damaged, "The row of \(table.name) \(key) can't be read. Run rebuild.")
            }
            values = table.values(of: fields)
            if table.isUnderExamination { isUnreadable = !table.reads(fields) }
        }
        state =
            if row.isDeleted {
                .deleted
            } else if row.flags.contains(.isParked) {
                .parked
            } else if isUnreadable {
                .unreadable
            } else if row.isDirty {
                .dirty
            } else {
                .synced
            }
        lastSequence = row.lastSequence
        syncedSequence = row.syncedSequence
        hasChangeTag = row.hasChangeTag
    }
}
