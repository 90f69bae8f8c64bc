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
        matching filter: ConflictFilter = ConflictFilter(), limit: Int = .max
    ) throws -> [Conflict] {
        guard limit > 0 else { return [] }
        var conflicts: [Conflict] = []
        try ConflictJournal(reader: reader).visitBackwards(before: filter.beforeSequence ?? .max) {
            entry in
            let conflict = Conflict(
                entry.report, sequence: entry.sequence,
                clock: try reader.withOperation(entry.sequence, \.clock) ?? 0,
                table: reader.catalog.table(entry.entity), entity: entry.entity,
                record: entry.key)
            if filter.accepts(conflict) { conflicts.append(conflict) }
            return conflicts.count < limit
        }
        return conflicts
    }
}
