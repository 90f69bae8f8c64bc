package import BackstitchCore
import BackstitchLog

extension RecordMerger {
    /// Takes an evicted record back from the service; any other record is left to pulls. So is one of
    /// which a replica that lags behind has only a version from before the one that was here: the
    /// feed was read past the later one. And so is one that can't be stored as the service has it.
    ///
    /// - Parameter takesOlder: Whether such a version is taken all the same.
    /// - Returns: whether it came back.
    package func fetchAgain(_ record: ServiceRecord, takesOlder: Bool = false) throws -> Bool {
        let key = self.key(record.recordName)
        for table in catalog.tables where !takesOlder {
            if let row = try log.row(table.number, key), row.flags.contains(.isEvicted),
                record.modifiedMilliseconds < row.modifiedMilliseconds
            {
                return false
            }
        }
        if !takesOlder, serviceFields.rejection(of: record) != nil { return false }
        guard try log.marks.endEviction(of: key) else { return false }
        _ = try merge(record)
        return true
    }
}
