/// The parts of a damaged store that a repair keeps, and those that are lost.
public struct SalvageReport: Hashable, Sendable, Codable {
    /// The most records and ranges of sequences that are named in each list.
    public static let namedMax = 1_000

    /// Records by name, `Entity/name`, as many as are listed.
    public struct Records: Hashable, Sendable, Codable {
        /// How many there are.
        public internal(set) var count = 0
        /// The first of them.
        public internal(set) var names: [String] = []

        mutating func add(_ name: @autoclosure () -> String) {
            count += 1
            if names.count < SalvageReport.namedMax { names.append(name()) }
        }
    }

    /// The operations that are kept as they were.
    public internal(set) var operationsKept = 0
    /// The intact operations that are not part of the repaired log; they are kept beside it.
    public internal(set) var operationsSetAside = 0
    /// The sequences of operations that are missing or damaged, `first-last`; the first of them.
    public internal(set) var missingSequences: [String] = []
    /// How many sequences are missing.
    public internal(set) var missingCount: UInt64 = 0
    /// Records that are as they were, with all of their past that the log had.
    public internal(set) var recordsWhole = 0
    /// Records that are as they were last, and lack a part of their past.
    public internal(set) var recordsCurrent = Records()
    /// Records of which only an older state is left, or one that lacks some changes.
    public internal(set) var recordsOlder = Records()
    /// Records that are lost, though operations of them are left.
    public internal(set) var recordsLost = Records()
    /// Records with unsynced changes that are lost, or that are pushed with the whole record.
    public internal(set) var editsLost = Records()
    /// Whether the last commits may be lost. That is so if the journal that had them is missing or
    /// damaged, or if nothing tells which of its commits the data file lacks. Their number is not known.
    public internal(set) var mayLackCommits = false
    /// Damaged entries of the meta database, which are made again.
    public internal(set) var metaDropped: [String] = []
    /// Whether the next sync fetches everything from the service.
    public internal(set) var fetchesAll = false
    /// The operations of the repaired store.
    public internal(set) var operations = 0

    /// Whether the repaired store surely has all that the damaged one had.
    public var losesNothing: Bool {
        !mayLackCommits && missingCount == 0 && operationsSetAside == 0 && metaDropped.isEmpty
            && recordsOlder.count == 0 && recordsLost.count == 0 && editsLost.count == 0
    }
}
