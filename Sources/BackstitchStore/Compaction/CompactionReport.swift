/// The result of a compaction.
public struct CompactionReport: Hashable, Sendable {
    /// The number of operations in the log before it.
    public let operationsBefore: Int
    /// The number of operations in the log after it; other writers may have added some meanwhile.
    public let operationsAfter: Int
    /// The bytes that the log took up before it: its pages, and what waited in the file `journal`.
    public let bytesBefore: Int
    /// The bytes that the log takes up after it. They can be more than before: a baseline holds a whole
    /// record, and the operations that it replaces may have held less.
    public let bytesAfter: Int
    /// The number of operations that were taken out.
    public let removed: Int
    /// Operations up to this sequence may be missing; 0 if none are.
    public let compactedThrough: UInt64
    /// The bytes that the data file took up on the disk before it.
    public let allocatedBytesBefore: Int
    /// The bytes that the data file takes up on the disk after it.
    public let allocatedBytesAfter: Int
    /// The bytes that went back to the file system. The file keeps its length, with holes in it.
    public let returnedBytes: Int
    /// Whether the file system can take pages out of the middle of a file. If it can't, they are
    /// used again by later commits.
    public let returnsSpace: Bool
    /// Whether it ran to the end; otherwise its task was cancelled, and the next compaction
    /// continues.
    public let isComplete: Bool
}
