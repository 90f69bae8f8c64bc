/// The damage of a store's files, and what a repair would do.
public struct StoreDiagnosis: Hashable, Sendable {
    /// The parts of a store that can be damaged each by itself.
    public enum Part: String, Hashable, Sendable, CaseIterable {
        /// The pages of the data file and how they hang together.
        case file
        /// The operations.
        case log
        /// The tables, which follow from the operations: rows, indexes, journal.
        case tables
        /// The catalog and how far everything has come.
        case meta
        /// The file `journal`.
        case journal
    }

    /// The remedy.
    public enum Remedy: String, Hashable, Sendable, CaseIterable {
        /// Nothing is wrong.
        case none
        /// Log and catalog are whole: a repair makes all else from them, and nothing is lost.
        case rebuild
        /// A repair keeps what is intact of the log and of the rows; the next sync fetches all.
        case salvage
        /// Nothing of the store can be read without its catalog, and that is lost: a backup.
        case backup
    }

    /// One finding.
    public struct Finding: Hashable, Sendable {
        /// Where it is.
        public let part: Part
        /// A sentence that describes the damage, without values of records.
        public let message: String
    }

    /// The most findings that are listed.
    public static let findingsMax = 100

    /// The findings; at most ``findingsMax``.
    public internal(set) var findings: [Finding] = []
    /// How many findings there are, listed or not.
    public internal(set) var findingCount = 0
    /// The records that share a value of a unique attribute, a sentence for each value: no damage, and for the program
    /// to correct. Empty if the files are damaged.
    public internal(set) var uniqueViolations: [String] = []
    /// The remedy.
    public internal(set) var remedy = Remedy.none
    /// The number of operations that were checked.
    public internal(set) var operations = 0
    /// The number of rows that were checked.
    public internal(set) var rows = 0
    /// The parts that a repair keeps, and those that are lost; nil if no repair helps.
    public internal(set) var salvage: SalvageReport?
    /// The process that is stopped in the middle of a write, for example by SIGSTOP or a debugger;
    /// nil if no process is, or if this process has the store open. All writes to the store wait
    /// until that process continues or ends; reads don't. The files are not damaged.
    public internal(set) var stoppedWriter: Int32?

    /// Whether nothing is wrong.
    public var isHealthy: Bool { findingCount == 0 }

    mutating func note(_ part: Part, _ message: String) {
        findingCount += 1
        if findings.count < Self.findingsMax {
            findings.append(Finding(part: part, message: message))
        }
    }
}
