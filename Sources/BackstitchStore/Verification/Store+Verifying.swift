import BackstitchCore
import BackstitchLog
import LMDB
import Threading

/// The result of a verification.
public struct VerificationReport: Hashable, Sendable {
    /// The number of operations in the log.
    public internal(set) var operations = 0
    /// The number of entries in the tables: rows, index entries, journal entries.
    public internal(set) var entries = 0
    /// Whether something is wrong with the log or the meta database, so that a rebuild of the tables
    /// would not help.
    public internal(set) var isLogDamaged = false
    /// The problems, each with its place; at most ``problemsMax``.
    public internal(set) var problems: [String] = []
    /// The records that share a value of a unique attribute, a sentence for each value; at most ``problemsMax``. The
    /// store is consistent all the same: see ``ReadTransaction/uniqueViolations(limit:)``.
    public internal(set) var uniqueViolations: [String] = []

    /// The most problems that a report lists.
    public static let problemsMax = 100

    /// Whether nothing is wrong.
    public var isConsistent: Bool { problems.isEmpty }

    mutating func note(_ problem: String) {
        if problems.count < Self.problemsMax { problems.append(problem) }
    }

    mutating func noteFields(_ sequence: UInt64) {
        note("Operation \(sequence): its fields are damaged.")
    }
}

extension Store {
    /// Checks the log and proves that the tables follow from it.
    ///
    /// Every operation's checksum, number and links are checked. Then the operations of each record are applied
    /// anew; rows are compared, and other entries by number and sums of hashes. Views of the store's projections are
    /// built again in a temporary place. Takes some microseconds an operation, and 32 MB of memory for each
    /// thread at most. Writers go on; they are not part of what is checked.
    ///
    /// - Parameter progress: Called now and then, on another thread, with a count of operations over all steps.
    /// - Throws: `closed` or `io`; what is wrong with the store is in the report.
    public func verify(
        progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) throws -> VerificationReport {
        try StoreError.wrapping {
            try read { try StoreVerification(self, $0.reader, progress).run() }
        }
    }
}

/// A verification of one moment of a store: the log is checked, it is applied in parts of the records, entries
/// are summed, and what waits to be pushed is counted; all at once, if there are threads for it.
private struct StoreVerification {
    private let store: Store
    private let reader: TableReader
    private let progress: SharedProgress
    private let parts: RecordParts

    /// Fewer operations than these are applied sooner than other threads are woken.
    private static let partedMin = 8_192
    /// The operations of a part, about: whoever applies them keeps 40 bytes of each in memory.
    private static let operationsPerPart = 1 << 19

    /// What the steps found out.
    private struct Findings {
        var replays: [Int: Result<Verifier.Replay, any Error>] = [:]
        var log: Result<VerificationReport, any Error>?
        var entries: Result<EntrySums, any Error>?
        var counts: Result<VerificationReport, any Error>?
    }

    init(
        _ store: Store, _ reader: TableReader,
        _ progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void
    ) throws {
        self.store = store
        self.reader = reader
        let operations = try reader.access.count(of: reader.databases.log)
        let threads = operations < Self.partedMin ? 1 : store.configuration.readThreads
        parts = try RecordParts(
            reader.log, count: max(threads, operations / Self.operationsPerPart + 1))
        // The log is read to be checked, to be applied, and once more for each view.
        let readings = 2 + store.registered.all.count
        self.progress = SharedProgress(total: readings * operations, progress)
    }

    func run() throws -> VerificationReport {
        let shared = Locked(Findings())
        func perform(_ step: Int, _ reader: TableReader) { self.perform(step, reader, shared) }
        let steps = parts.count + 3
        if try parts.count == 1 || !reader.alongside(count: steps, perform) {
            for step in 0..<steps { perform(step, reader) }
        }
        let found = shared.withLock { $0 }
        guard let log = found.log, let entries = found.entries, let counts = found.counts,
            found.replays.count == parts.count
        else { preconditionFailure("Each step has a result.") }
        var report = try log.get()
        guard report.isConsistent else {
            report.isLogDamaged = true
            return report
        }
        do {
            let replays = try found.replays.sorted { $0.key < $1.key }.map { try $0.value.get() }
            try Verifier(reader: reader).compare(replays, entries.get(), &report)
            // If the tables are wrong, counts of them say nothing more.
            if report.isConsistent {
                for problem in try counts.get().problems { report.note(problem) }
            }
            for problem in try problemsOfProjections() { report.note(problem) }
            if report.isConsistent { try report.noteUniqueViolations(reader) }
        } catch let error as StoreError where error.code == .damaged {
            report.note(error.message)
        }
        return report
    }

    private func perform(_ step: Int, _ reader: TableReader, _ findings: Locked<Findings>) {
        let verifier = Verifier(reader: reader)
        switch step - parts.count {
        case 0:
            let log = Result {
                var report = VerificationReport()
                try verifier.checkMeta(&report)
                try verifier.checkLog(&report, progress: progress.add)
                if let problem = try verifier.lostEnd() { report.note(problem) }
                return report
            }
            findings.withLock { $0.log = log }
        case 1:
            let entries = Result { try verifier.storedEntries() }
            findings.withLock { $0.entries = entries }
        case 2:
            let counts = Result {
                var report = VerificationReport()
                try verifier.checkOutboxCounts(&report)
                return report
            }
            findings.withLock { $0.counts = counts }
        default:
            let replay = Result {
                try verifier.replay(part: step, of: parts, progress: progress.add)
            }
            findings.withLock { $0.replays[step] = replay }
        }
    }

    /// What is wrong with the views of the store's projections.
    private func problemsOfProjections() throws -> [String] {
        let registered = store.registered
        if registered.all.isEmpty { return [] }
        let found = Locked(VerificationReport())
        let progress = progress
        nonisolated(unsafe) let reader = reader  // This thread waits for the one that uses it.
        try unsafe VerificationPlace.withTables(store.configuration, reader.catalog) { scratch in
            var report = VerificationReport()
            let verifier = unsafe Verifier(reader: reader)
            try verifier.verifyProjections(
                registered, scratch: scratch, &report, progress: progress.add)
            let done = report
            found.withLock { $0 = done }
        }
        return found.withLock { $0.problems }
    }
}

/// The progress of several threads together.
private final class SharedProgress: @unchecked Sendable {  // Protected by the monitor.
    private let total: Int
    private let tell: (_ done: Int, _ total: Int) -> Void
    private let monitor = Monitor()
    private var done = 0

    init(total: Int, _ tell: @escaping (_ done: Int, _ total: Int) -> Void) {
        (self.total, self.tell) = (total, tell)
    }

    /// Tells it inside, so that it never goes back. What is done again counts once.
    func add(_ count: Int) {
        monitor.inside {
            done = min(done + count, total)
            tell(done, total)
        }
    }
}
