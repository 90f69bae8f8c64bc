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
    /// Every operation's checksum, number and links are checked; then the log is applied to empty
    /// tables in a temporary place, and every entry is compared. Costs some microseconds and 500 bytes
    /// of temporary space an operation; from some thousand operations on, all processors work. The
    /// views of the store's projections are checked in the same way. Writers go on; they are not part
    /// of what is checked.
    ///
    /// - Parameter progress: Called now and then, on another thread.
    /// - Throws: `closed` or `io`; what is wrong with the store is in the report.
    public func verify(
        progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) throws -> VerificationReport {
        try StoreVerification.report(
            of: self, in: VerificationPlace(configuration), progress: progress)
    }
}

/// Ends a verification, so that nothing of it stays in the temporary places.
private struct Verified: Error {
    let report: VerificationReport
}

/// A verification of one moment of a store: the log is checked, it is applied to empty tables in parts of the
/// records, and what waits to be pushed is counted; all at once, if there are threads for it. Then the tables
/// are compared.
package struct StoreVerification {
    private let databases: Databases
    private let registered: RegisteredProjections
    /// Tables for each part of the records.
    private let tables: [EmptyTables]

    /// Fewer operations than these are applied sooner than other threads are woken.
    private static let partedMin = 8_192
    /// The most parts: the worker of each reads the whole log.
    private static let partsMax = 8

    /// Verifies a store in a place that was made before.
    ///
    /// - Throws: As ``Store/verify(progress:)``.
    package static func report(
        of store: Store, in place: VerificationPlace,
        progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) throws -> VerificationReport {
        let databases = store.databases
        let operations = try store.read { try $0.reader.access.count(of: databases.log) }
        let threads = store.configuration.readThreads
        do {
            try place.withTables(operations < partedMin ? 1 : min(threads, partsMax)) { tables in
                let verification = StoreVerification(
                    databases: databases, registered: store.registered, tables: tables)
                let report = try store.read { try verification.run($0.reader, progress) }
                throw Verified(report: report)
            }
        } catch let verified as Verified {
            return verified.report
        } catch {
            throw StoreError.wrap(error)
        }
        preconditionFailure("A verification ends with its report.")
    }

    private func run(
        _ reader: TableReader, _ progress: @escaping (_ done: Int, _ total: Int) -> Void
    ) throws -> VerificationReport {
        // The log is read twice: to be checked, and to be applied.
        let shared = SharedProgress(
            total: 2 * (try reader.access.count(of: databases.log)), progress)
        let results = Locked<[Int: Result<VerificationReport, any Error>]>([:])
        func perform(_ step: Int, _ reader: TableReader) {
            let result = Result { try self.perform(step, reader, shared) }
            results.withLock { $0[step] = result }
        }
        let steps = tables.count + 2
        if try tables.count == 1 || !reader.alongside(count: steps, perform) {
            for step in 0..<steps { perform(step, reader) }
        }
        func result(_ step: Int) throws -> VerificationReport {
            guard let result = results.withLock({ $0[step] }) else {
                preconditionFailure("Each step has a result.")
            }
            return try result.get()
        }
        var report = try result(tables.count)
        guard report.isConsistent else {
            report.isLogDamaged = true
            return report
        }
        do {
            for part in tables.indices { _ = try result(part) }
            let verifier = Verifier(reader: reader)
            let expected = tables.map { $0.reader(reader.catalog) }
            var found = report
            try verifier.compare(with: expected, &found)
            // If the tables are wrong, counts of them say nothing more.
            if found.isConsistent {
                for problem in try result(tables.count + 1).problems { found.note(problem) }
            }
            try verifier.verifyProjections(registered, scratch: expected[0], &found)
            report = found
        } catch let error as StoreError where error.code == .damaged {
            report.note(error.message)
        }
        return report
    }

    /// Performs a step: a part of the records, the check of the log, or the count.
    private func perform(
        _ step: Int, _ reader: TableReader, _ progress: SharedProgress
    ) throws -> VerificationReport {
        var report = VerificationReport()
        let verifier = Verifier(reader: reader)
        switch step {
        case tables.count:
            try verifier.checkMeta(&report)
            try verifier.checkLog(&report, progress: progress.add)
            if let problem = try verifier.lostEnd() { report.note(problem) }
        case tables.count + 1:
            try verifier.checkOutboxCounts(&report)
        default:
            try verifier.project(
                part: step, of: tables.count, into: tables[step].reader(reader.catalog),
                progress: progress.add)
        }
        return report
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

    /// Tells it inside, so that it never goes back.
    func add(_ count: Int) {
        monitor.inside {
            done += count
            tell(done, total)
        }
    }
}
