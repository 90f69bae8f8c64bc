package import BackstitchCore
package import BackstitchLog

/// Gives up unsynced operations: a record becomes what the service is known to have, and what is lost
/// goes to the conflict journal.
package struct Discard {
    private let log: LogWriter

    package init(_ log: LogWriter) { self.log = log }

    /// Gives up a parked record's unsynced operations.
    ///
    /// - Returns: Whether the record was parked.
    package func discardParked(_ entity: EntityNumber, _ key: RecordKey) throws -> Bool {
        guard let table = log.catalog.table(entity), let row = try log.reader.row(entity, key),
            row.flags.contains(.isParked)
        else { return false }
        guard try !log.reader.history(of: row).endsErased else {
            throw StoreError(
                .notInLog,
                "The values of the record \(key) were erased, so that its delete can't be given up. "
                    + "Release it to push the delete again.")
        }
        try discard(try UnsyncedEnds(log.reader, of: row), of: row, key, table)
        return true
    }

    /// Makes a record what the service is known to have of it.
    func discard(
        _ ends: UnsyncedEnds, of row: RowView, _ key: RecordKey, _ table: EntityTable
    ) throws {
        let base = ends.base
        let report = ConflictReport(
            policy: .serverWins, base: base, local: ends.local, server: base, outcome: base)
        try log.replace(
            key, table, with: base, origin: .remote,
            stamp: SyncStamp(row.serverVersion, through: 0),
            conflict: ends.local == base ? nil : report)
    }
}
