package import BackstitchCore
package import BackstitchLog

/// What becomes of a zone's records here when the service has lost, or is to lose, all of theirs.
package struct ZoneLoss {
    private let log: LogWriter
    private let slot: UInt8
    private var reader: TableReader { log.reader }
    private var catalog: CatalogSnapshot { log.catalog }

    package init(_ log: LogWriter, in slot: UInt8) { (self.log, self.slot) = (log, slot) }

    /// Forgets what the service knew of every record, because it lost the zone: all are pushed
    /// again as new ones.
    ///
    /// - Parameter keepsUnsynced: Whether records with edits keep what is known of them.
    package func forgetService(keepsUnsynced: Bool = false) throws {
        if !keepsUnsynced { try log.forgetNotes(.sent, in: slot) }
        for table in catalog.tables {
            var keys: [RecordKey] = []
            try unsafe ZoneRows(reader).visit(of: table.number, in: slot) { bytes, row in
                guard row.isKnownToService, !keepsUnsynced || !row.isDirty,
                    let key = unsafe RecordKey(reading: bytes)
                else { return true }
                keys.append(key)
                return true
            }
            for key in keys where try !log.marks.endEviction(of: key) { try forget(key, table) }
        }
        try log.marks.setOutboxFloor(0, in: slot)
    }

    /// Forgets what the service knew of the next records, in the order of entities and keys. Evicted
    /// ones stay as they are.
    ///
    /// - Parameters:
    ///   - last: The last row that was looked at; nil to begin.
    ///   - rowsMax: The most rows to look at, at least one.
    /// - Returns: the last row that was looked at now, and how many were; no place at the end.
    package func forgetService(
        after last: StoredRecordID?, rowsMax: Int
    ) throws -> (last: StoredRecordID?, rows: Int) {
        var (place, count) = (last, 0)
        for table in catalog.tables.sorted(by: { $0.number < $1.number }) {
            if let last, table.number < last.entity { continue }
            let start = last?.entity == table.number ? last?.key : nil
            var keys: [RecordKey] = []
            try unsafe ZoneRows(reader).visit(
                of: table.number, in: slot, from: start
            ) { bytes, row in
                guard let key = unsafe RecordKey(reading: bytes), key != start else { return true }
                guard count < rowsMax else { return false }
                count += 1
                place = StoredRecordID(entity: table.number, key: key)
                if row.isKnownToService, !row.flags.contains(.isEvicted) { keys.append(key) }
                return true
            }
            for key in keys { try forget(key, table) }
            if count == rowsMax { return (place, count) }
        }
        return (nil, count)
    }

    private func forget(_ key: RecordKey, _ table: EntityTable) throws {
        guard let row = try reader.row(table.number, key) else { return }
        if row.isDeleted, row.hasChangeTag {
            try log.noteUnheardEnd(of: key, table.number, sequence: row.lastSequence)
        }
        try log.marks.forget(table.number, key)
    }

    /// Ends the records here as though the service had never had any. What is lost of edits that it
    /// does not have goes to the conflict journal.
    ///
    /// - Parameter keepsUnsynced: Whether records with such edits stay as they are.
    package func eraseRecords(keepsUnsynced: Bool = false) throws {
        if !keepsUnsynced { try log.forgetNotes(.unheard, in: slot) }
        var places: [StoredRecordID] = []
        for table in catalog.tables {
            try unsafe ZoneRows(reader).visit(of: table.number, in: slot) { bytes, row in
                guard !keepsUnsynced || !row.isDirty, let key = unsafe RecordKey(reading: bytes)
                else {
                    return true
                }
                places.append(StoredRecordID(entity: table.number, key: key))
                return true
            }
        }
        for place in places {
            guard let row = try reader.row(place.entity, place.key) else { continue }
            try erase(row, at: place)
        }
    }

    /// Begins anew with a zone that was suspended.
    ///
    /// - Parameter erases: Whether the records here end.
    /// - Returns: Whether the zone was suspended; nothing is changed if not.
    package func endSuspension(of zone: ZonePlace, erases: Bool) throws -> Bool {
        let old = try reader.zoneState(zone)
        guard old.suspension != nil else { return false }
        if erases { try eraseRecords() }
        var state = ZoneState()
        state.userName = old.userName
        try forgetService()
        try FullFetch(log, in: slot).forgetFetched()
        try log.setZoneState(state, zone)
        return true
    }

    private func erase(_ row: RowView, at place: StoredRecordID) throws {
        if row.isDeleted {
            // A delete that was not pushed comes to the same.
            return try log.marks.acknowledge(
                place.entity, place.key, through: row.lastSequence, version: nil)
        }
        let conflict = try lostEdits(of: row)
        // What is lost was superseded; the service never had it.
        let through = conflict == nil ? row.lastSequence : row.syncedSequence
        try log.appendDelete(
            origin: .remote, entity: place.entity, key: place.key, row: row,
            stamp: SyncStamp(nil, through: through), conflict: conflict)
    }

    /// What is lost with a record that is erased; nil if it has no edits of its own.
    private func lostEdits(of row: RowView) throws -> ConflictReport? {
        guard row.isDirty, !row.flags.contains(.isForgotten) else { return nil }
        let ends = try UnsyncedEnds(reader, of: row)
        guard ends.local != ends.base else { return nil }
        return ConflictReport(
            policy: .serverWins, base: ends.base, local: ends.local, server: nil, outcome: nil)
    }
}

extension RowView {
    /// Whether the header tells anything that the service said. A record that stays on this device
    /// is settled without it.
    fileprivate var isKnownToService: Bool {
        hasChangeTag || (isDirty && syncedSequence > 0) || modifiedMilliseconds != 0
    }
}
