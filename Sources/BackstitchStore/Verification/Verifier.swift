import BackstitchCore
import BackstitchLog
import LMDB
import XXHash

/// Finds out whether a log is whole and linked, and whether tables follow from it.
struct Verifier {
    let reader: TableReader

    /// Checks that operations are whole and linked, and dense if the log was not compacted.
    ///
    /// That every row's last operation exists follows: rows come from operations, and a baseline's
    /// row names the baseline.
    func checkLog(
        _ report: inout VerificationReport, progress: (Int) -> Void = { _ in }
    ) throws {
        let compacted = try LogHorizon(reader).compaction.through
        var expected = compacted + 1
        var found = report
        try unsafe reader.log.visitStored(from: 0) { sequence, bytes in
            found.operations += 1
            if found.operations % WorkProgress.interval == 0 { progress(WorkProgress.interval) }
            if sequence > compacted {
                if sequence != expected {
                    found.note("Operation \(expected) is missing: the next one is \(sequence).")
                }
                expected = sequence &+ 1
            }
            do {
                let operation = try unsafe OperationView(bytes, sequence: sequence)
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
        let head = try reader.log.head
        var last: UInt64 = 0
        try unsafe [TableKey.rows].withUnsafeBytes { prefix in
            try unsafe reader.visit(prefix: prefix) { key, value in
                if let row = unsafe RowView(value), row.lastSequence > max(head, last),
                    row.isChecked,
                    unsafe row.isIntact(at: key)
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
        if reader.catalog.table(operation.entity) == nil {
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
            if unsafe operation.conflictBytes == nil {
                report.note("Operation \(sequence) is to keep a conflict report and has none.")
            }
        case .acknowledge, .park, .release, .forget:
            break
        }
        if let bytes = unsafe operation.conflictBytes {
            _ = try unsafe ConflictReport(reading: bytes)
        }
        guard operation.kind.changesContent, operation.previous > 0 else { return }
        let links = try reader.log.withOperation(operation.previous) { previous in
            unsafe previous.keyBytes.holdsSameBytes(as: operation.keyBytes)
                && previous.entity == operation.entity && previous.kind.changesContent
        }
        if links != true {
            report.note(
                "Operation \(sequence) follows operation \(operation.previous), which is not one "
                    + "of the same record.")
        }
    }

    // MARK: The tables

    /// What follows from the operations of a part of the records.
    struct Replay {
        /// How many rows there are of each entity.
        var rows: [EntityNumber: Int] = [:]
        var entries: EntrySums
        /// The first stored row that is not the one that follows.
        var problem: String?
    }

    /// Applies the log as far as it is of a part of the records, record by record, and compares their rows.
    ///
    /// - Parameter progress: Called now and then with the number of operations since.
    func replay(
        part: Int, of parts: RecordParts, progress: (Int) -> Void
    ) throws -> Replay {
        var replay = Replay(entries: EntrySums(ignoring: prefixesOfBuilding()))
        let operations = try PartOperations(reader.log, part: part, of: parts)
        try unsafe operations.replay(reader, progress: progress) { entity, key, record in
            if let row = unsafe record.rowBytes {
                replay.rows[entity, default: 0] += 1
                if replay.problem == nil {
                    replay.problem = try unsafe problem(entity, key, row)
                }
            }
            unsafe record.finish { unsafe replay.entries.add($0, $1) }
        }
        return replay
    }

    /// How a stored row differs from the one that follows from the log; nil if it does not.
    private func problem(
        _ entity: EntityNumber, _ key: UnsafeRawBufferPointer, _ row: UnsafeRawBufferPointer
    ) throws -> String? {
        guard let rows = reader.access.rows(of: entity) else {
            return Self.lackOfTree(entity)
        }
        let stored = try unsafe reader.access.get(key, in: rows)
        guard let stored = unsafe stored else {
            return Self.describe(.lacks, TableKey.rows, entity)
        }
        let isSame = unsafe stored.holdsSameBytes(as: row)
        return isSame ? nil : Self.describe(.hasOtherValues, TableKey.rows, entity)
    }

    private static func lackOfTree(_ entity: EntityNumber) -> String {
        "The store lacks the tree of entity \(entity.rawValue)'s rows."
    }

    /// The entries of the tables but rows, as they are stored.
    func storedEntries() throws -> EntrySums {
        var sums = EntrySums(ignoring: prefixesOfBuilding())
        try sums.add(reader)
        return sums
    }

    /// Notes the first difference between the tables and what follows from all parts of the records.
    func compare(
        _ replays: [Replay], _ stored: EntrySums, _ report: inout VerificationReport
    ) throws {
        if let problem = replays.lazy.compactMap(\.problem).first { return report.note(problem) }
        var entries = EntrySums(ignoring: [])
        var rows: [EntityNumber: Int] = [:]
        for replay in replays {
            entries.add(replay.entries)
            rows.merge(replay.rows, uniquingKeysWith: +)
        }
        for number in 0..<max(reader.catalog.tables.count, reader.access.members) {
            let entity = EntityNumber(UInt16(number + 1))
            guard let tree = reader.access.rows(of: entity) else {
                return report.note(Self.lackOfTree(entity))
            }
            let count = try reader.access.count(of: tree)
            report.entries += count
            if count > rows[entity] ?? 0 {
                return report.note(Self.describe(.hasOthers, TableKey.rows, entity))
            }
        }
        report.entries += stored.count
        if let (table, entity, kind) = entries.difference(from: stored) {
            report.note(Self.describe(kind, table, entity))
        }
    }

    /// What the keys of index entries begin with that are not all there yet.
    private func prefixesOfBuilding() -> [[UInt8]] {
        var prefixes: [[UInt8]] = []
        func add(_ table: UInt8, _ entity: EntityNumber, _ number: FieldID) {
            var prefix = ByteBuffer(capacity: 8)
            TableKey.appendIndexPrefix(table, entity, number, to: &prefix)
            unsafe prefixes.append(Array(prefix.bytes))
        }
        for entity in reader.catalog.catalog.entities {
            for attribute in entity.attributes where attribute.isBuilding == true {
                add(TableKey.indexes, entity.number, attribute.field)
            }
            for index in entity.indexes ?? [] where index.isBuilding == true {
                add(TableKey.compounds, entity.number, FieldID(index.number))
            }
        }
        return prefixes
    }

    /// Says how entries of the tables differ from what follows from the log, without values.
    private static func describe(
        _ difference: EntrySums.Difference, _ table: UInt8, _ entity: EntityNumber
    ) -> String {
        let kinds: [UInt8: String] = [
            TableKey.rows: "a row", TableKey.indexes: "an index entry",
            TableKey.compounds: "an entry of an index of several attributes",
            TableKey.inverses: "an inverse index entry", TableKey.journal: "a journal entry",
            TableKey.parked: "a parked record", TableKey.unreadable: "an unreadable record's entry",
            TableKey.contents: "an entry of a file's content",
        ]
        let kind = kinds[table] ?? "an unknown entry"
        let place = entity.rawValue == 0 ? kind : "\(kind) of entity \(entity.rawValue)"
        return switch difference {
        case .lacks: "The tables lack \(place), which follows from the log."
        case .hasOthers: "The tables have \(place), which does not follow from the log."
        case .hasOtherValues:
            "The tables hold \(place) with another value than follows from the log."
        }
    }

    /// Notes the values of the meta database that are not as they were written.
    func checkMeta(_ report: inout VerificationReport) throws {
        var names: [String] = []
        try reader.access.withCursor(in: reader.databases.meta) { cursor in
            // The entries of views come last.
            while try cursor.next(), unsafe !ViewEntries.isEntry(cursor.key) {
                let name = unsafe String(decoding: cursor.key, as: UTF8.self)
                let isChecked =
                    !name.hasPrefix(MetaChecksum.prefix) && !SyncNotes.isMark(name)
                if isChecked { names.append(name) }
            }
        }
        for name in names {
            guard let value = try reader.meta.value(name),
                !MetaChecksum.matches(
                    value, named: name, try reader.meta.value(MetaChecksum.name(of: name)))
            else { continue }
            report.note("What is kept under '\(name)' is damaged: its checksum does not match.")
        }
    }

    /// Compares the stored tally with the tables and notes a difference.
    func checkOutboxCounts(_ report: inout VerificationReport) throws {
        let stored = try OutboxCounter(reader).counting(at: reader.log.head)
        var counted = OutboxCounting(
            sequence: stored.sequence, position: [], countsRecords: stored.countsRecords)
        try OutboxCounter(reader).goOn(&counted, budget: .max, through: stored.position)
        if counted.tally != stored.tally {
            report.note(
                "The counts of records and of what waits to be pushed are not those of the tables. "
                    + "A rebuild counts again.")
        }
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
            return unsafe row.bodyBytes.isEmpty ? nil : "its row is deleted and has fields"
        }
        return row.fields?.isWellFormed == true ? nil : "its fields are damaged"
    }
}
