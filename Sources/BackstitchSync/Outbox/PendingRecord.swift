public import BackstitchCore
import BackstitchLog

/// A record with changes that the service does not have.
public struct PendingRecord: Hashable, Sendable {
    /// The kind of change that the service will get.
    public enum Change: String, Hashable, Sendable, CaseIterable {
        /// The service does not have the record.
        case create
        /// Some fields are newer here.
        case update
        /// The record was deleted here.
        case delete
    }

    /// The record.
    public let record: RecordID
    /// The combined effect of the unsynced operations.
    public let change: Change
    /// The sequence of the last unsynced operation.
    public let lastSequence: UInt64
    /// Whether a request with it is under way now, as far as the engine that lists it knows.
    public internal(set) var isInFlight = false
}

extension OutboxFolder {
    /// The bytes of records that are folded at once in order to list them.
    private static var listedBytesMax: Int { 4 << 20 }

    /// The records of all zones that are to be pushed: zone by zone, in the order of their first unsynced
    /// operations.
    package func pendingRecords(limit: Int) throws -> [PendingRecord] {
        var records: [PendingRecord] = []
        var seen: Set<StoredRecordID> = []
        for folder in try forAllZones() {
            var outbox = Outbox()
            outbox.isComplete = false
            while records.count < limit, !outbox.isComplete {
                outbox = try folder.fold(
                    recordsMax: limit - records.count, bytesMax: Self.listedBytesMax,
                    after: outbox.through)
                for change in outbox.changes where records.count < limit {
                    let place = StoredRecordID(entity: change.entity, key: change.key)
                    // A record of an earlier run may have later operations that it does not need.
                    guard seen.insert(place).inserted else { continue }
                    PendingRecord(change).map { records.append($0) }
                }
            }
        }
        return records
    }

    /// The last operations of the records of all zones that are to be pushed.
    func lastOperations() throws -> [UInt64] {
        var operations: [StoredRecordID: UInt64] = [:]
        for folder in try forAllZones() {
            var outbox = Outbox()
            outbox.isComplete = false
            while !outbox.isComplete {
                outbox = try folder.fold(
                    recordsMax: 1_000, bytesMax: Self.listedBytesMax, after: outbox.through)
                // Of a record that is pushed in parts the last one counts.
                for change in outbox.changes {
                    let place = StoredRecordID(entity: change.entity, key: change.key)
                    operations[place] = change.through
                }
            }
        }
        return operations.values.sorted()
    }
}

extension PendingRecord {
    /// Nil for changes that add up to nothing.
    fileprivate init?(_ change: PendingChange) {
        switch change.push {
        case .nothing: return nil
        case .create: self.change = .create
        case .update: self.change = .update
        case .delete: self.change = .delete
        }
        record = RecordID(entity: change.entityName, key: change.key)
        lastSequence = change.through
    }
}
