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
    /// Why an operation was applied in part. The write can't be kept then, even if its closure
    /// goes on.
    var failure: (any Error)?

    /// Starts the next write.
    mutating func begin() {
        transaction = 0
        operationCount = 0
        byteCount = 0
        failure = nil
    }
}
