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
            let conflict = try RecordConflict(entry, reader)
            if filter.accepts(conflict) { conflicts.append(conflict) }
            return conflicts.count < limit
        }
        return conflicts
    }
}

extension RecordConflict {
    /// The conflict that an operation settled; nil if there is none.
    init?(at sequence: UInt64, _ reader: TableReader) throws {
        guard let entry = try ConflictJournal(reader: reader).entry(sequence) else { return nil }
        try self.init(entry, reader)
    }

    fileprivate init(_ entry: JournalEntry, _ reader: TableReader) throws {
        self.init(
            entry.report, sequence: entry.sequence,
            clock: try reader.log.withOperation(entry.sequence, \.clock) ?? 0,
            table: reader.catalog.table(entry.entity), entity: entry.entity, key: entry.key)
    }
}
