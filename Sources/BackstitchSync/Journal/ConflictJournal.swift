import BackstitchCore
import BackstitchLog
import LMDB

/// An entry of the conflict journal.
struct JournalEntry {
    let sequence: UInt64
    let entity: EntityNumber
    let key: RecordKey
    let report: ConflictReport

    init(_ sequence: UInt64, _ value: UnsafeRawBufferPointer) throws {
        guard value.count > 2, let key = unsafe RecordKey(reading: value.part(2..<value.count)),
            let report = try? unsafe ConflictReport(
                reading: value.part((2 + key.byteCount)..<value.count))
        else {
            throw StoreError(
                .damaged, "The journal entry of operation \(sequence) is damaged. Run rebuild.")
        }
        self.sequence = sequence
        entity = unsafe EntityNumber(UInt16(value[0]) << 8 | UInt16(value[1]))
        self.key = key
        self.report = report
    }
}

/// The conflict journal: an entry for each operation that settled a conflict.
struct ConflictJournal {
    let reader: TableReader

    /// The entry of a conflict; nil if there is none.
    func entry(_ sequence: UInt64) throws -> JournalEntry? {
        guard sequence < .max else { return nil }
        var found: JournalEntry?
        try visitBackwards(before: sequence + 1) { entry in
            if entry.sequence == sequence { found = entry }
            return false
        }
        return found
    }

    /// Visits the conflict journal from the last entry before a sequence back.
    func visitBackwards(
        before sequence: UInt64, _ visit: (JournalEntry) throws -> Bool
    ) throws {
        try reader.access.withCursor(in: reader.databases.tables) { cursor in
            var end: [UInt8] = [TableKey.journal]
            end += sequence.bigEndianBytes
            let isBehind = try unsafe end.withUnsafeBytes { try unsafe cursor.seek(atOrAfter: $0) }
            var isThere = isBehind ? try cursor.previous() : try cursor.last()
            while isThere, unsafe cursor.key.first == TableKey.journal {
                let key = unsafe cursor.key
                let entry = try unsafe JournalEntry(key.part(1..<key.count).sequence, cursor.value)
                if entry.sequence <= reader.log.lastVisible {
                    guard try visit(entry) else { return }
                }
                isThere = try cursor.previous()
            }
        }
    }
}
