package import BackstitchCore
package import BackstitchLog

extension LogWriter {
    /// Gives up a parked record's unsynced operations: it becomes what the service is known to have,
    /// and what is lost goes to the conflict journal.
    ///
    /// - Returns: whether the record was parked.
    package func discardParked(_ entity: EntityNumber, _ key: RecordKey) throws -> Bool {
        guard let table = catalog.table(entity), let row = try reader.row(entity, key),
            row.flags.contains(.isParked)
        else { return false }
        try discard(try reader.unsyncedEnds(of: row), of: row, key, table)
        return true
    }

    /// Makes a record what the service is known to have of it.
    func discard(
        _ ends: UnsyncedEnds, of row: RowView, _ key: RecordKey, _ table: EntityTable
    ) throws {
        let base = ends.base
        let version =
            row.hasChangeTag
            ? ServerVersion(
                changeTag: row.changeTag, modifiedMilliseconds: row.modifiedMilliseconds) : nil
        let report = ConflictReport(
            policy: .serverWins, base: base, local: ends.local, server: base, outcome: base)
        try perform(
            MergePlan(
                remote: .adopt(version: version, fields: base, through: 0),
                conflict: ends.local == base ? nil : report), key, table)
    }
}

/// What a record is on both ends of its unsynced operations; nil if it does not exist.
struct UnsyncedEnds {
    let base: Fields?
    let local: Fields?
    /// The first unsynced operation; 0 if there is none.
    let firstSequence: UInt64
}

extension TableReader {
    func unsyncedEnds(of row: RowView) throws -> UnsyncedEnds {
        let local = row.isDeleted ? nil : try row.fields.map { try Fields($0) }
        var base = local
        let steps = try contentSteps(from: row.lastSequence, after: row.syncedSequence)
        for step in steps.reversed() { base = step.change.undone(from: base) }
        return UnsyncedEnds(
            base: base?.withoutNulls, local: local, firstSequence: steps.first?.sequence ?? 0)
    }
}
