package import BackstitchCore

extension WriteContext {
    /// Gives up a record's unsynced operations: it becomes what the service is known to have, and
    /// what is lost goes to the conflict journal.
    ///
    /// - Returns: whether the record was parked.
    package func discardParked(_ entity: EntityNumber, _ key: RecordKey) throws -> Bool {
        guard let table = catalog.table(entity), let row = try reader.row(entity, key),
            row.flags.contains(.isParked)
        else { return false }
        let local = row.isDeleted ? nil : try row.fields.map { try Fields($0) }
        var base = local
        let steps = try reader.contentSteps(from: row.lastSequence, after: row.syncedSequence)
        for step in steps.reversed() { base = step.change.undone(from: base) }
        base = base?.withoutNulls
        let version =
            row.hasChangeTag
            ? ServerVersion(
                changeTag: row.changeTag, modifiedMilliseconds: row.modifiedMilliseconds) : nil
        try perform(
            MergePlan(
                remote: .adopt(version: version, fields: base, through: 0),
                conflict: ConflictReport(
                    policy: .serverWins, base: base, local: local, server: base, outcome: base)),
            key, table)
        return true
    }
}
