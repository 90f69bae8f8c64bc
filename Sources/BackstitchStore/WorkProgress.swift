/// The progress of a long operation.
public struct WorkProgress: Hashable, Sendable {
    /// The operations that are done; for work on an answer its records.
    public let done: Int
    /// The total of operations or records; each pass over the log counts.
    public let total: Int

    /// After how many operations progress is told.
    package static let interval = 4_096
}
