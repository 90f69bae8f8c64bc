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
    /// tables in a temporary place, and every entry is compared. Costs about ten microseconds and
    /// 500 bytes of temporary space an operation. The views of the store's projections are checked in
    /// the same way. Writers go on; they are not part of what is checked.
    ///
    /// - Parameter progress: Called now and then, on another thread.
    /// - Throws: `closed` or `io`; what is wrong with the store is in the report.
    public func verify(
        progress: @escaping @Sendable (WorkProgress) -> Void = { _ in }
    ) throws -> VerificationReport {
        try verify(in: VerificationPlace(configuration), progress: progress)
    }

    /// Checks the log and the tables, as ``verify(progress:)`` does, in a place that was made before.
    package func verify(
        in place: VerificationPlace, progress: @escaping @Sendable (WorkProgress) -> Void = { _ in }
    ) throws -> VerificationReport {
        // On the writer thread of the temporary place, because it is written there.
        let scratch = place.environment
        return try scratch.writer.submitAndWait {
            let verification = Verification(databases: databases, registered: registered)
            return try read { try verification.run($0.reader, scratch: scratch, progress) }
        }
    }
}

/// A verification of one moment of a store.
private struct Verification {
    let databases: Databases
    let registered: RegisteredProjections

    func run(
        _ reader: TableReader, scratch: Environment, _ progress: (WorkProgress) -> Void
    ) throws -> VerificationReport {
        var report = VerificationReport()
        let operations = try reader.access.count(of: databases.log)
        // The log is read twice: to be checked, and to be applied.
        func tell(_ done: Int) { progress(WorkProgress(done: done, total: 2 * operations)) }
        let verifier = Verifier(reader: reader)
        try verifier.checkMeta(&report)
        try verifier.checkLog(&report, progress: tell)
        if let problem = try verifier.lostEnd() { report.note(problem) }
        guard report.isConsistent else {
            report.isLogDamaged = true
            return report
        }
        do {
            try scratch.write { transaction in
                var found = report
                let expected = TableReader(
                    access: transaction.access, databases: try Databases(scratch),
                    catalog: reader.catalog)
                try verifier.project(into: expected) { tell(operations + $0) }
                try verifier.compare(with: expected, &found)
                // If the tables are wrong, counts of them say nothing more.
                if found.isConsistent { try verifier.checkOutboxCounts(&found) }
                try verifier.verifyProjections(registered, scratch: expected, &found)
                // Nothing of it stays in the temporary place.
                throw Verified(report: found)
            }
        } catch let verified as Verified {
            report = verified.report
        } catch let error as StoreError where error.code == .damaged {
            report.note(error.message)
        }
        return report
    }

    /// Ends a verification.
    private struct Verified: Error {
        let report: VerificationReport
    }
}

/// A temporary place in which logs are applied to empty tables; it is empty again after each.
package final class VerificationPlace: Sendable {
    fileprivate let environment: Environment

    /// A place for stores of a configuration.
    ///
    /// - Throws: `io` if there is no room.
    package init(_ configuration: StoreConfiguration) throws {
        do {
            environment = try Environment.temporary(
                options: EnvironmentOptions(of: configuration, durability: .relaxed))
        } catch {
            throw StoreError(error)
        }
    }

    deinit { environment.close() }
}
