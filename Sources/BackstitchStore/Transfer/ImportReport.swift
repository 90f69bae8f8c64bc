extension ImportReport {
    /// A line that was not imported.
    public struct Problem: Hashable, Sendable {
        /// The number of the line, from 1 on.
        public let line: Int
        /// Why the line was refused.
        public let reason: String
    }
}

/// The result of an import so far.
public struct ImportReport: Hashable, Sendable {
    /// The lines that were read, empty ones included.
    public internal(set) var lines = 0
    /// The bytes that were read.
    public internal(set) var bytes = 0
    /// The records that were inserted.
    public internal(set) var inserted = 0
    /// The records that were updated.
    public internal(set) var updated = 0
    /// The records that did not differ from the line.
    public internal(set) var unchanged = 0
    /// The lines that were not imported because they are bad.
    public internal(set) var failed = 0
    /// Whether the import ended at a bad line.
    public internal(set) var isStopped = false

    mutating func note(_ outcome: WriteTransaction.SaveOutcome) {
        switch outcome {
        case .inserted: inserted += 1
        case .updated: updated += 1
        case .unchanged: unchanged += 1
        }
    }
}
