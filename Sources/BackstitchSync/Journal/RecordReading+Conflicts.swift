public import BackstitchCore
import BackstitchLog
public import BackstitchStore

extension RecordReading where Self: ~Copyable {
    /// Reads the conflict journal, newest first.
    ///
    /// - Parameters:
    ///   - filter: Which conflicts.
    ///   - limit: The most conflicts to read.
    /// - Throws: `damaged` if an entry can't be read.
    public func conflicts(
        matching filter: RecordConflict.Filter = RecordConflict.Filter(), limit: Int = .max
    ) throws -> [RecordConflict] {
        guard limit > 0 else { return [] }
        var conflicts: [RecordConflict] = []
        try ConflictJournal(reader: reader).visitBackwards(before: filter.beforeSequence ?? .max) {
            entry in
            let conflict = try reader.conflict(entry)
            if filter.accepts(conflict) { conflicts.append(conflict) }
            return conflicts.count < limit
        }
        return conflicts
    }
}

extension TableReader {
    /// The conflict that an operation settled; nil if there is none.
    func conflict(at sequence: UInt64) throws -> RecordConflict? {
        try ConflictJournal(reader: self).entry(sequence).map { try conflict($0) }
    }

    fileprivate func conflict(_ entry: JournalEntry) throws -> RecordConflict {
        RecordConflict(
            entry.report, sequence: entry.sequence,
            clock: try withOperation(entry.sequence, \.clock) ?? 0,
            table: catalog.table(entry.entity), entity: entry.entity, key: entry.key)
    }
}
