import LMDB

/// What a compaction did.
public struct CompactionReport: Hashable, Sendable {
    /// The number of operations in the log before it.
    public let operationsBefore: Int
    /// The number of operations in the log after it; other writers may have added some meanwhile.
    public let operationsAfter: Int
    /// The bytes that the log took up before it.
    public let bytesBefore: Int
    /// The bytes that the log takes up after it. What is free now is used again by later commits; the
    /// file does not shrink.
    public let bytesAfter: Int
    /// The number of operations that were taken out.
    public let removed: Int
    /// Operations up to this sequence may be missing; 0 where none are.
    public let compactedThrough: UInt64
    /// Whether it went on to the end; otherwise its task was cancelled, and the next one goes on.
    public let isComplete: Bool
}

extension TableReader {
    /// The number of operations in the log and the bytes of its pages.
    func logSize(pageBytes: Int) throws -> (operations: Int, bytes: Int) {
        let statistics = try access.statistics(of: databases.log)
        let pages = statistics.branchPages + statistics.leafPages + statistics.overflowPages
        return (statistics.entries, pages * pageBytes)
    }
}
