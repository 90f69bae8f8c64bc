import BackstitchCore
package import BackstitchLog

extension LogWriter {
    /// Ends the records here as though the service had never had any. What is lost of edits that it
    /// does not have goes to the conflict journal.
    ///
    /// - Parameter keepsUnsynced: Whether records with such edits stay as they are.
    package func eraseRecords(keepsUnsynced: Bool = false) throws {
        if !keepsUnsynced { try forgetUnheardEnds() }
        var places: [RecordPlace] = []
        for table in catalog.tables {
            try reader.visitStoredRows(of: table.number) { bytes, row in
                guard !keepsUnsynced || !row.isDirty, let key = RecordKey(reading: bytes) else {
                    return true
                }
                places.append(RecordPlace(entity: table.number, key: key))
                return true
            }
        }
        for place in places {
            guard let row = try reader.row(place.entity, place.key) else { continue }
            try erase(row, at: place)
        }
    }

    private func erase(_ row: RowView, at place: RecordPlace) throws {
        if row.isDeleted {
            // A delete that was not pushed comes to the same.
            return try acknowledge(
                place.entity, place.key, through: row.lastSequence, version: nil)
        }
        let conflict = try lostEdits(of: row)
        // What is lost was superseded; the service never had it.
        let through = conflict == nil ? row.lastSequence : row.syncedSequence
        try appendDelete(
            origin: .remote, entity: place.entity, key: place.key, row: row,
            stamp: SyncStamp(nil, through: through), conflict: conflict)
    }

    /// What is lost with a record that is erased; nil if it has no edits of its own.
    private func lostEdits(of row: RowView) throws -> ConflictReport? {
        guard row.isDirty, !row.flags.contains(.isForgotten) else { return nil }
        let ends = try reader.unsyncedEnds(of: row)
        guard ends.local != ends.base else { return nil }
        return ConflictReport(
            policy: .serverWins, base: ends.base, local: ends.local, server: nil, outcome: nil)
    }
}
