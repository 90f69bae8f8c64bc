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
        let compacted = try LogBounds(reader).compaction.through
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

    /// Applies the log to empty tables elsewhere, as far as it is of a part of the records.
    ///
    /// No entry of the tables depends on more than one record.
    ///
    /// - Parameters:
    ///   - parts: How many parts there are. One has about as many records as another.
    ///   - progress: Called now and then with the number of operations since.
    func project(
        part: Int, of parts: Int, into target: TableReader, progress: (Int) -> Void
    ) throws {
        try target.access.makeMembers(through: reader.catalog.tables.count)
        var projector = Projector(access: target.access, databases: target.databases)
        var done = 0
        try unsafe reader.log.visitStored(from: 1) { sequence, bytes in
            if parts > 1 {
                // Whoever applies it compares its checksum.
                let operation = try unsafe OperationView(bytes, sequence: sequence, verifies: false)
                guard unsafe Checksum.xxh64(operation.keyBytes) % UInt64(parts) == UInt64(part)
                else {
                    return true
                }
            }
            let operation = try unsafe OperationView(bytes, sequence: sequence)
            try projector.apply(operation, catalog: reader.catalog)
            done += 1
            if done % WorkProgress.interval == 0 { progress(WorkProgress.interval) }
            return true
        }
    }

    /// Compares all tables entry by entry with those of parts of the records, and notes the first difference.
    func compare(with expected: [TableReader], _ report: inout VerificationReport) throws {
        let entities = max(
            reader.catalog.tables.count, reader.access.members,
            expected.map(\.access.members).max() ?? 0)
        for number in 0..<entities {
            let entity = EntityNumber(UInt16(number + 1))
            guard let stored = reader.access.rows(of: entity) else {
                report.note("The store lacks the tree of entity \(entity.rawValue)'s rows.")
                return
            }
            let wanted = expected.compactMap { part in
                part.access.rows(of: entity).map { (access: part.access, database: $0) }
            }
            if wanted.isEmpty { continue }
            let isSame = try compare(
                stored, with: wanted, prefix: TableKey.rowPrefix(entity), &report)
            guard isSame else { return }
        }
        _ = try compare(
            reader.databases.tables,
            with: expected.map { (access: $0.access, database: $0.databases.tables) }, prefix: [],
            &report)
    }

    /// Compares a database entry by entry and notes the first difference.
    ///
    /// - Parameter prefix: What stands before its keys in those of ``TableKey``.
    /// - Returns: Whether there is none.
    private func compare(
        _ database: Database, with wanted: [(access: Access, database: Database)],
        prefix: [UInt8], _ report: inout VerificationReport
    ) throws -> Bool {
        // Indexes that are being built lack entries, and may.
        let building = prefix.isEmpty ? prefixesOfBuilding() : []
        func isBuilding(_ key: UnsafeRawBufferPointer) -> Bool {
            building.contains { unsafe key.starts(with: $0) }
        }
        var found = report
        defer { report = found }
        return try reader.access.withCursor(in: database) { stored in
            var isStored = try stored.first()
            var entries = try MergedEntries(wanted)
            while true {
                while isStored, unsafe isBuilding(stored.key) { isStored = try stored.next() }
                while entries.isOnEntry, unsafe isBuilding(entries.key) { try entries.next() }
                guard isStored || entries.isOnEntry else { return true }
                guard isStored, entries.isOnEntry, unsafe stored.key.holdsSameBytes(as: entries.key)
                else {
                    let isMissing =
                        unsafe !isStored
                        || (entries.isOnEntry && entries.key.lexicographicallyPrecedes(stored.key))
                    let place = unsafe Self.describe(
                        prefix + Array(isMissing ? entries.key : stored.key))
                    found.note(
                        isMissing
                            ? "The tables lack \(place), which follows from the log."
                            : "The tables have \(place), which does not follow from the log.")
                    return false
                }
                guard unsafe stored.value.holdsSameBytes(as: entries.value) else {
                    let place = unsafe Self.describe(prefix + Array(stored.key))
                    found.note(
                        "The tables hold \(place) with another value than follows from the log.")
                    return false
                }
                found.entries += 1
                isStored = try stored.next()
                try entries.next()
            }
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

    /// What an entry of the tables is, without values.
    private static func describe(_ key: [UInt8]) -> String {
        let kinds: [UInt8: String] = [
            TableKey.rows: "a row", TableKey.indexes: "an index entry",
            TableKey.compounds: "an entry of an index of several attributes",
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

    /// Notes the values of the meta database that are not as they were written.
    func checkMeta(_ report: inout VerificationReport) throws {
        var names: [String] = []
        try reader.access.withCursor(in: reader.databases.meta) { cursor in
            // The entries of views come last.
            while try cursor.next(), unsafe !ViewEntries.isEntry(cursor.key) {
                let name = unsafe String(decoding: cursor.key, as: UTF8.self)
                let isChecked =
                    !name.hasPrefix(MetaChecksum.prefix) && !name.hasPrefix(RecordNotes.seen.prefix)
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
        var counted = OutboxCounting(sequence: stored.sequence, position: [])
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
