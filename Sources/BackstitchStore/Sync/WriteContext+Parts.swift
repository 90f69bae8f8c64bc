package import BackstitchCore

extension WriteContext {
    /// Notes that the service has a record's operations up to a sequence but for some fields, which
    /// stay to be pushed on top of what it has.
    package func acknowledgePart(
        _ entity: EntityNumber, _ key: RecordKey, through: UInt64, version: ServerVersion,
        without names: Set<String>
    ) throws {
        guard let table = catalog.table(entity), let row = try reader.row(entity, key) else {
            return
        }
        // Newer edits or a delete follow by themselves, on top of the base.
        guard row.lastSequence == through, !row.isDeleted, let packed = row.fields else {
            return try acknowledge(entity, key, through: through, version: version)
        }
        let whole = try Fields(packed)
        var part = whole
        for name in names { table.attribute(named: name).map { part[$0.field] = nil } }
        try perform(
            MergePlan(
                remote: .adopt(version: version, fields: part, through: through),
                rebase: .save(whole)), key, table)
    }

    /// What the running write has changed so far.
    package var namedChanges: ChangeSet {
        var named = changes
        named.name(by: catalog)
        return named
    }
}
