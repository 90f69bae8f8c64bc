/// How far a commit has come with the log.
struct CommitProgress {
    /// The sequence of the last operation.
    var head: UInt64
    /// The clock of the last operation.
    var clock: UInt64

    // The write that is running now.
    /// Its first operation; 0 before that.
    var transaction: UInt64 = 0
    var operationCount = 0
    /// The bytes of its operations.
    var byteCount = 0
    /// How many records of each entity are larger than the service takes.
    var largeRecords: [String: Int] = [:]
    /// Why an operation was applied in part. The write can't be kept then, even if its closure
    /// goes on.
    var failure: (any Error)?

    /// Starts the next write.
    mutating func begin() {
        transaction = 0
        operationCount = 0
        byteCount = 0
        largeRecords = [:]
        failure = nil
    }

    /// Refuses the next operation of a write that is too large already.
    func checkSize(_ settings: LogWriter.Settings) throws {
        let (operations, bytes) = (
            settings.operationsPerWriteMax, settings.bytesPerWriteMax
        )
        // One operation is taken whatever its size.
        guard
            operationCount >= max(1, operations) || operationCount > 0 && byteCount > bytes
        else { return }
        throw StoreError(
            .tooLarge,
            "A write has more than \(operations) operations or \(bytes) bytes of them, and all other "
                + "writes would wait for it. Divide it into several writes; update and delete by "
                + "query do so with inPartsOf:. Where it must be one, raise operationsPerWriteMax or "
                + "bytesPerWriteMax of the store's configuration.")
    }
}
