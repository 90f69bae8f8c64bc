import BackstitchCore
package import BackstitchLog

/// The state of an operation on its way to the service.
package enum OperationProgress: Hashable, Sendable {
    /// The service does not have it yet.
    case pending
    /// It was refused.
    case parked(ParkedRecord)
    /// The service has it, or a later one of the same record that covers it; or a conflict policy
    /// decided against it, and the conflict journal has its values; or it never leaves this device.
    case settled

    /// The record, if the operation was refused.
    package var parked: ParkedRecord? {
        guard case .parked(let record) = self else { return nil }
        return record
    }
}

extension OperationProgress {
    /// How far an operation has come.
    ///
    /// One that is not in the log any more was compacted, and only settled ones are. 0, which an
    /// empty store has as its last sequence, is settled.
    package init(of sequence: UInt64, _ reader: TableReader) throws {
        self = .settled
        if sequence == 0 { return }
        let head = try reader.log.head
        guard sequence <= head else {
            throw StoreError(
                .notInLog,
                "There is no operation \(sequence); the last one is \(head). Give the sequence "
                    + "of an operation of this store.")
        }
        let place = try reader.log.withOperation(sequence) { operation -> StoredRecordID? in
            guard operation.kind.changesContent, !operation.isTombstone else { return nil }
            return StoredRecordID(entity: operation.entity, key: try operation.key)
        }
        guard let place = place ?? nil, let row = try reader.row(place.entity, place.key),
            try reader.history(of: row).isPending(sequence)
        else { return }
        self = .pending
        if row.flags.contains(.isParked) {
            try ParkedRecord.all(reader, at: place, limit: 1).first.map { self = .parked($0) }
        }
    }
}
