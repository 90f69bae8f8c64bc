import BackstitchCore
import BackstitchLog

extension LogWriter {
    /// Takes a record off this device.
    ///
    /// - Returns: whether there was such a record.
    func evict(_ entity: EntityNumber, _ key: RecordKey) throws -> Bool {
        guard let row = try row(entity, key), !row.isDeleted else { return false }
        guard row.hasChangeTag, !row.isDirty else {
            throw StoreError(
                .unsynced,
                "The record \(key) can't be evicted: the service does not have all of it. "
                    + "Synchronise first.")
        }
        try appendDelete(origin: .localOnly, entity: entity, key: key, row: row)
        return true
    }
}
