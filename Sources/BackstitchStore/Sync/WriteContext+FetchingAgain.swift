package import BackstitchCore

extension WriteContext {
    /// Takes an evicted record back from the service; any other record is left to pulls.
    ///
    /// - Returns: whether it was evicted.
    package func fetchAgain(_ record: ServiceRecord, policy: ConflictSettings) throws -> Bool {
        guard try endEviction(of: RecordKey(RecordName(record.recordName))) else { return false }
        _ = try merge(record, policy: policy)
        return true
    }
}
