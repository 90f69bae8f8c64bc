package import BackstitchCore
package import BackstitchLog

extension LogWriter {
    /// Notes that the service has a record's operations up to a sequence but for some fields, which
    /// stay to be pushed on top of what it has.
    package func acknowledgePart(
        _ entity: EntityNumber, _ key: RecordKey, through: UInt64, version: ServerVersion,
        without names: Set<String>
    ) throws {
        guard let table = catalog.table(entity), let row = try reader.row(entity, key) else {
            return
        }
        let now = row.isDeleted ? nil : try row.fields.map { try Fields($0) }
        var sent = now
        // Newer edits, or a delete, go on top of what the service has: it never had those fields.
        for step in try reader.contentSteps(from: row.lastSequence, after: through).reversed() {
            sent = step.change.undone(from: sent)
        }
        guard var part = sent else {
            return try acknowledge(entity, key, through: through, version: version)
        }
        for name in names { table.attribute(named: name).map { part[$0.field] = nil } }
        try perform(
            MergePlan(
                remote: .adopt(version: version, fields: part.withoutNulls, through: through),
                rebase: now.map { .save($0) } ?? .delete), key, table)
    }

    /// What the running write has changed so far.
    package var namedChanges: ChangeSet {
        var named = changes
        named.name(by: catalog)
        return named
    }
}
