package import BackstitchCore
package import BackstitchLog

extension LogWriter {
    /// Notes that the service has a record's operations up to a sequence.
    ///
    /// Operations after it stay unsynced.
    /// - Parameter version: What the service has now; nil if the record does not exist there.
    package func acknowledge(
        _ entity: EntityNumber, _ key: RecordKey, through: UInt64, version: ServerVersion?,
        conflict: ConflictReport? = nil
    ) throws {
        guard let row = try reader.row(entity, key) else { return }
        try append(
            .acknowledge, origin: .remote, entity: entity, key: key, previous: row.lastSequence,
            stamp: SyncStamp(
                changeTag: version?.changeTag ?? "",
                modifiedMilliseconds: version?.modifiedMilliseconds ?? 0,
                acknowledgedThrough: through),
            conflict: conflict
        ) { _ in }
    }

    /// Settles operations that add up to nothing: the service need not hear of them.
    package func settle(_ entity: EntityNumber, _ key: RecordKey, through: UInt64) throws {
        guard let row = try reader.row(entity, key) else { return }
        let version =
            row.hasChangeTag
            ? ServerVersion(
                changeTag: row.changeTag, modifiedMilliseconds: row.modifiedMilliseconds) : nil
        try acknowledge(entity, key, through: through, version: version)
    }

    /// Parks a record's unsynced operations until it is edited or released.
    ///
    /// - Parameter through: The last operation that was refused. A record that was edited since is
    ///   not parked: the edit may be the remedy.
    /// - Returns: the parked record; nil if it is not parked.
    @discardableResult
    package func park(
        _ entity: EntityNumber, _ key: RecordKey, through: UInt64, reason: String
    ) throws -> ParkedRecord? {
        guard let table = catalog.table(entity), let row = try reader.row(entity, key),
            row.isDirty, row.lastSequence == through
        else { return nil }
        try append(
            .park, origin: .remote, entity: entity, key: key, previous: row.lastSequence
        ) { $0.append(utf8: reason) }
        return ParkedRecord(
            entity: table.name, recordName: key.name, sequence: head, reason: reason)
    }

    /// Makes parked operations pending again.
    ///
    /// - Returns: whether the record was parked.
    package func release(_ entity: EntityNumber, _ key: RecordKey) throws -> Bool {
        guard let row = try reader.row(entity, key), row.flags.contains(.isParked) else {
            return false
        }
        try append(
            .release, origin: .local, entity: entity, key: key, previous: row.lastSequence
        ) { _ in }
        try setOutboxFloor(0)
        return true
    }

    /// Forgets what the service knew of every record, because it lost the zone: all are pushed
    /// again as new ones.
    ///
    /// - Parameter keepsUnsynced: Whether records with edits keep what is known of them.
    package func forgetService(keepsUnsynced: Bool = false) throws {
        for table in catalog.tables {
            var keys: [RecordKey] = []
            try reader.visitStoredRows(of: table.number) { bytes, row in
                guard row.isKnownToService, !keepsUnsynced || !row.isDirty,
                    let key = RecordKey(reading: bytes)
                else { return true }
                keys.append(key)
                return true
            }
            for key in keys where try !endEviction(of: key) { try forget(key, table) }
        }
        try setOutboxFloor(0)
    }

    /// Forgets what the service knew of the next records, in the order of entities and keys. Evicted
    /// ones stay as they are.
    ///
    /// - Parameters:
    ///   - last: The last row that was looked at; nil to begin.
    ///   - rowsMax: The most rows to look at, at least one.
    /// - Returns: the last row that was looked at now, and how many were; no place at the end.
    package func forgetService(
        after last: RecordPlace?, rowsMax: Int
    ) throws -> (last: RecordPlace?, rows: Int) {
        var (place, count) = (last, 0)
        for table in catalog.tables.sorted(by: { $0.number < $1.number }) {
            if let last, table.number < last.entity { continue }
            let start = last?.entity == table.number ? last?.key : nil
            var keys: [RecordKey] = []
            try reader.visitStoredRows(of: table.number, from: start) { bytes, row in
                guard let key = RecordKey(reading: bytes), key != start else { return true }
                guard count < rowsMax else { return false }
                count += 1
                place = RecordPlace(entity: table.number, key: key)
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
            try noteUnheardEnd(of: key, table.number, sequence: row.lastSequence)
        }
        try append(
            .forget, origin: .remote, entity: table.number, key: key, previous: row.lastSequence
        ) { _ in }
    }

    /// Moves the place from which unsynced operations are looked for behind a run that was settled;
    /// not if some of them were made pending again since the run was folded.
    package func raiseOutboxFloor(to sequence: UInt64) throws {
        var isSettled = true
        try reader.visitOperations(from: sequence + 1) { operation in
            isSettled = operation.kind != .release && operation.kind != .forget
            return isSettled
        }
        if isSettled { try setOutboxFloor(sequence) }
    }

    /// Moves the place from which unsynced operations are looked for.
    package func setOutboxFloor(_ sequence: UInt64) throws {
        try setMeta(
            MetaName.outboxFloor, withUnsafeBytes(of: sequence.bigEndian) { Array($0) })
    }
}

extension RowView {
    /// Whether the header tells anything that the service said. A record that stays on this device
    /// is settled without it.
    fileprivate var isKnownToService: Bool {
        hasChangeTag || (isDirty && syncedSequence > 0) || modifiedMilliseconds != 0
    }
}
