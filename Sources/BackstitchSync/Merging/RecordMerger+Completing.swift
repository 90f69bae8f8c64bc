package import BackstitchCore
import BackstitchLog

extension RecordMerger {
    /// Stores fields of a version that is known already, because earlier pulls did not ask for
    /// them. Any other version is left to the merge.
    ///
    /// Fields that the record lacks on the service stay as they are here, and so do the unsynced
    /// operations.
    package func complete(_ record: ServiceRecord) throws {
        let key = self.key(record.recordName)
        guard let table = catalog.table(named: record.recordType),
            let row = try log.row(table.number, key), row.hasChangeTag,
            row.changeTag == record.changeTag
        else { return }
        var (base, now) = try completed(record, row, table)
        guard let known = base.before, let whole = base.after,
            !whole.differences(from: known).isEmpty
        else { return }
        let isDirty = row.isDirty
        if let fields = now { now = fields.withoutNulls }
        base.after = whole.withoutNulls
        try perform(
            MergePlan(
                remote: .adopt(version: row.serverVersion, fields: base.after, through: 0),
                rebase: isDirty ? now.map { .save($0) } ?? .delete : .nothing), key, table)
    }

    /// Stores a version of a record that could not be stored whole and can be by now.
    package func completeAgain(_ record: ServiceRecord) throws -> MergeResult {
        try complete(record)
        return try merge(record)
    }

    /// The base without and with the record's fields, and the record on top of the latter.
    private func completed(
        _ record: ServiceRecord, _ row: RowView, _ table: EntityTable
    ) throws -> (base: (before: Fields?, after: Fields?), now: Fields?) {
        let (fields, known) = try serviceFields.fields(of: record, table)
        let steps = try reader.history(of: row).unsynced
        let base = steps.reversed().reduce(try row.currentFields) { $1.change.undone(from: $0) }
        var whole = base
        whole?.overlay(fields.without(known.unreadFields))
        let now = steps.reduce(whole) { $1.change.applied(to: $0) }
        return ((base, whole), now)
    }
}
