import BackstitchCore
import BackstitchLog
import LMDB
import Threading

/// What a verification found.
public struct VerificationReport: Hashable, Sendable {
    /// The number of operations in the log.
    public internal(set) var operations = 0
    /// The number of entries in the tables: rows, index entries, journal entries.
    public internal(set) var entries = 0
    /// Whether something is wrong with the log or the meta database, so that a rebuild of the tables
    /// would not help.
    public internal(set) var isLogDamaged = false
    /// What is wrong, each with its place; at most ``problemsMax``.
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
            try read { try verify($0.reader, scratch: scratch, progress) }
        }
    }

    private func verify(
        _ reader: TableReader, scratch: Environment, _ progress: (WorkProgress) -> Void
    ) throws -> VerificationReport {
        var report = VerificationReport()
        let operations = try reader.access.count(of: databases.log)
        // The log is read twice: to be checked, and to be applied.
        func tell(_ done: Int) { progress(WorkProgress(done: done, total: 2 * operations)) }
        try reader.checkMeta(&report)
        try reader.checkLog(&report, progress: tell)
        if let problem = try reader.lostEnd() { report.note(problem) }
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
                try reader.project(into: expected) { tell(operations + $0) }
                try reader.compare(with: expected, &found)
                // If the tables are wrong, counts of them say nothing more.
                if found.isConsistent { try reader.checkOutboxCounts(&found) }
                try reader.verifyProjections(registered, scratch: expected, &found)
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
                options: Store.options(configuration, durability: .relaxed))
        } catch {
            throw StoreError(error)
        }
    }

    deinit { environment.close() }
}

extension TableReader {
    /// Checks that operations are whole and linked, and dense if the log was not compacted.
    ///
    /// That every row's last operation exists follows: rows come from operations, and a baseline's
    /// row names the baseline.
    func checkLog(
        _ report: inout VerificationReport, progress: (Int) -> Void = { _ in }
    ) throws {
        let compacted = try compaction.through
        var expected = compacted + 1
        var found = report
        try visitStoredOperations(from: 0) { sequence, bytes in
            found.operations += 1
            if found.operations % WorkProgress.interval == 0 { progress(found.operations) }
            if sequence > compacted {
                if sequence != expected {
                    found.note("Operation \(expected) is missing: the next one is \(sequence).")
                }
                expected = sequence &+ 1
            }
            do {
                let operation = try OperationView(bytes, sequence: sequence)
                try check(operation, &found)
                if operation.kind.isMadeByCompaction, sequence > compacted {
                    found.note("Operation \(sequence) is a \(operation.kind) out of its place.")
                }
            } catch {
                found.note("Operation \(sequence): \(error).")
            }
            return found.problems.count < VerificationReport.problemsMax
        }
        // The last operation always stays, so that its number is not given again.
        if compacted > 0, expected == compacted + 1 {
            found.note("Operation \(expected) is missing: the log ends before it.")
        }
        report = found
    }

    /// What shows that the end of the log is lost: rows of later operations. A rebuild would lose
    /// them too.
    func lostEnd() throws -> String? {
        let head = try head
        var last: UInt64 = 0
        try [TableKey.rows].withUnsafeBytes { prefix in
            try visit(prefix: prefix) { key, value in
                if let row = RowView(value), row.lastSequence > max(head, last), row.isChecked,
                    row.isIntact(at: key)
                {
                    last = row.lastSequence
                }
                return true
            }
        }
        return last == 0
            ? nil : "The log ends with operation \(head), and a row is of operation \(last)."
    }

    private func check(_ operation: OperationView, _ report: inout VerificationReport) throws {
        let sequence = operation.sequence
        if operation.transaction == 0 || operation.transaction > sequence {
            report.note("Operation \(sequence) is of transaction \(operation.transaction).")
        }
        if catalog.table(operation.entity) == nil {
            report.note("Operation \(sequence) is of an entity that the catalog lacks.")
        }
        if operation.previous >= sequence {
            report.note("Operation \(sequence) follows operation \(operation.previous).")
        }
        switch operation.kind {
        case .insert:
            if try !operation.after.isWellFormed { report.noteFields(sequence) }
        case .update:
            if try !operation.after.isWellFormed || !operation.before.isWellFormed {
                report.noteFields(sequence)
            }
        case .delete:
            if try !operation.before.isWellFormed { report.noteFields(sequence) }
        case .baseline:
            if let problem = operation.baselineProblem {
                report.note("Operation \(sequence): \(problem).")
            }
        case .journal:
            if operation.conflictBytes == nil {
                report.note("Operation \(sequence) is to keep a conflict report and has none.")
            }
        case .acknowledge, .park, .release, .forget:
            break
        }
        if let bytes = operation.conflictBytes { _ = try ConflictReport(reading: bytes) }
        guard operation.kind.changesContent, operation.previous > 0 else { return }
        let links = try withOperation(operation.previous) { previous in
            previous.keyBytes.holdsSameBytes(as: operation.keyBytes)
                && previous.entity == operation.entity && previous.kind.changesContent
        }
        if links != true {
            report.note(
                "Operation \(sequence) follows operation \(operation.previous), which is not one "
                    + "of the same record.")
        }
    }

    /// Applies the whole log to empty tables elsewhere.
    func project(into target: TableReader, progress: (Int) -> Void = { _ in }) throws {
        var projector = Projector(access: target.access, databases: target.databases)
        var done = 0
        try visitOperations(from: 1) { operation in
            try projector.apply(operation, catalog: catalog)
            done += 1
            if done % WorkProgress.interval == 0 { progress(done) }
            return true
        }
    }

    /// Compares all tables entry by entry and notes the first difference.
    func compare(with expected: TableReader, _ report: inout VerificationReport) throws {
        var found = report
        // Indexes that are being built lack entries, and may.
        let building = prefixesOfBuilding()
        func skip(_ cursor: inout Cursor, _ isThere: inout Bool) throws {
            while isThere, building.contains(where: { cursor.key.starts(with: $0) }) {
                isThere = try cursor.next()
            }
        }
        try access.withCursor(in: databases.tables) { stored in
            try expected.access.withCursor(in: expected.databases.tables) { wanted in
                var isStored = try stored.first()
                var isWanted = try wanted.first()
                try skip(&stored, &isStored)
                try skip(&wanted, &isWanted)
                while isStored || isWanted {
                    guard isStored, isWanted, stored.key.holdsSameBytes(as: wanted.key) else {
                        let isMissing =
                            !isStored
                            || (isWanted && wanted.key.lexicographicallyPrecedes(stored.key))
                        let place = Self.describe(isMissing ? wanted.key : stored.key)
                        found.note(
                            isMissing
                                ? "The tables lack \(place), which follows from the log."
                                : "The tables have \(place), which does not follow from the log.")
                        return
                    }
                    guard Self.areSame(stored.value, wanted.value, at: stored.key) else {
                        found.note(
                            "The tables hold \(Self.describe(stored.key)) with another value than "
                                + "follows from the log.")
                        return
                    }
                    found.entries += 1
                    isStored = try stored.next()
                    isWanted = try wanted.next()
                    try skip(&stored, &isStored)
                    try skip(&wanted, &isWanted)
                }
            }
        }
        report = found
    }

    /// Whether a value is the expected one, or the same row in an older form.
    private static func areSame(
        _ stored: UnsafeRawBufferPointer, _ wanted: UnsafeRawBufferPointer,
        at key: UnsafeRawBufferPointer
    ) -> Bool {
        if stored.holdsSameBytes(as: wanted) { return true }
        guard key.first == TableKey.rows, let row = RowView(stored), !row.isChecked,
            let expected = RowView(wanted)
        else { return false }
        return row.contents.holdsSameBytes(as: expected.contents)
    }

    /// What the keys of index entries begin with that are not all there yet.
    private func prefixesOfBuilding() -> [[UInt8]] {
        catalog.catalog.entities.flatMap { entity in
            entity.attributes.filter { $0.isBuilding == true }.map { attribute in
                var prefix = ByteBuffer(capacity: 8)
                TableKey.appendIndexPrefix(
                    TableKey.indexes, entity.number, attribute.field, to: &prefix)
                return Array(prefix.bytes)
            }
        }
    }

    /// What an entry of the tables is, without values.
    private static func describe(_ key: UnsafeRawBufferPointer) -> String {
        let kinds: [UInt8: String] = [
            TableKey.rows: "a row", TableKey.indexes: "an index entry",
            TableKey.inverses: "an inverse index entry", TableKey.journal: "a journal entry",
            TableKey.parked: "a parked record", TableKey.unreadable: "an unreadable record's entry",
        ]
        let kind = key.first.flatMap { kinds[$0] } ?? "an unknown entry"
        guard key.count >= TableKey.rowPrefixByteCount, key[0] != TableKey.journal else {
            return kind
        }
        let entity = UInt16(key[1]) << 8 | UInt16(key[2])
        return "\(kind) of entity \(entity)"
    }
}

extension OperationKind {
    /// Whether only compaction writes it.
    fileprivate var isMadeByCompaction: Bool { self == .baseline || self == .journal }
}

extension OperationView {
    /// What is wrong with the row of a baseline; nil if nothing is.
    fileprivate var baselineProblem: String? {
        guard let baseline else { return "its row can't be read" }
        let row = baseline.row
        if row.lastSequence != sequence { return "its row is of operation \(row.lastSequence)" }
        if previous != 0 { return "it is a baseline and follows operation \(previous)" }
        if row.flags.contains(.isUnreadable) != flags.contains(.isUnreadable) {
            return "it differs from its row on whether it can be read"
        }
        if row.isDeleted {
            return row.bodyBytes.isEmpty ? nil : "its row is deleted and has fields"
        }
        return row.fields?.isWellFormed == true ? nil : "its fields are damaged"
    }
}
