import BackstitchCore
import BackstitchLog
import LMDB

extension TableReader {
    /// Notes the values of the meta database that are not as they were written.
    func checkMeta(_ report: inout VerificationReport) throws {
        var names: [String] = []
        try access.withCursor(in: databases.meta) { cursor in
            // The entries of views come last.
            while try cursor.next(), !ViewEntries.isEntry(cursor.key) {
                let name = String(decoding: cursor.key, as: UTF8.self)
                let isChecked =
                    !name.hasPrefix(MetaChecksum.prefix) && !name.hasPrefix(RecordNotes.seen.prefix)
                if isChecked { names.append(name) }
            }
        }
        for name in names {
            guard let value = try meta(name),
                !MetaChecksum.matches(value, named: name, try meta(MetaChecksum.name(of: name)))
            else { continue }
            report.note("What is kept under '\(name)' is damaged: its checksum does not match.")
        }
    }

    /// Compares the stored tally with the tables and notes a difference.
    func checkOutboxCounts(_ report: inout VerificationReport) throws {
        let stored = try outboxCounting(at: head)
        var counted = OutboxCounting(sequence: stored.sequence, position: [])
        try countOn(&counted, budget: .max, through: stored.position)
        if counted.tally != stored.tally {
            report.note(
                "The counts of records and of what waits to be pushed are not those of the tables. "
                    + "A rebuild counts again.")
        }
    }
}
