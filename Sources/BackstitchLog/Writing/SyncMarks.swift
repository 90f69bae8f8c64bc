package import BackstitchCore

/// Operations that leave a record's content as it is and say how it stands with the service.
package struct SyncMarks {
    package let log: LogWriter

    init(_ log: LogWriter) {
        self.log = log
    }

    /// Notes that the service has a record's operations up to a sequence. Later ones stay unsynced.
    ///
    /// - Parameter version: What the service has now; nil if the record does not exist there.
    package func acknowledge(
        _ entity: EntityNumber, _ key: RecordKey, through: UInt64, version: ServerVersion?,
        conflict: ConflictReport? = nil
    ) throws {
        guard let row = try log.row(entity, key) else { return }
        try log.append(
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
        guard let row = try log.row(entity, key) else { return }
        try acknowledge(entity, key, through: through, version: row.serverVersion)
    }

    /// Parks a record's unsynced operations until it is edited or released.
    ///
    /// - Parameter through: The last operation that was refused. A record that was edited since is
    ///   not parked: the edit may be the remedy.
    /// - Returns: Whether it was parked; ``LogWriter/head`` is then the operation that parked it.
    @discardableResult
    package func park(
        _ entity: EntityNumber, _ key: RecordKey, through: UInt64, reason: String
    ) throws -> Bool {
        guard let row = try log.row(entity, key), row.isDirty, row.lastSequence == through else {
            return false
        }
        try log.append(
            .park, origin: .remote, entity: entity, key: key, previous: row.lastSequence
        ) { $0.append(utf8: reason) }
        return true
    }

    /// Makes parked operations pending again.
    ///
    /// - Returns: Whether the record was parked.
    @discardableResult
    package func release(_ entity: EntityNumber, _ key: RecordKey) throws -> Bool {
        guard let row = try log.row(entity, key), row.flags.contains(.isParked) else {
            return false
        }
        try log.append(
            .release, origin: .local, entity: entity, key: key, previous: row.lastSequence
        ) { _ in }
        try setOutboxFloor(0, in: key.zone)
        return true
    }

    /// Releases the parked records that a closure chooses by their place and the reason.
    package func releaseParked(where isReady: (StoredRecordID, ParkReason) throws -> Bool) throws {
        var ready: [StoredRecordID] = []
        try log.reader.visitParked { place, _, reason in
            if try isReady(place, reason) { ready.append(place) }
            return true
        }
        for place in ready { try release(place.entity, place.key) }
    }

    /// Forgets what the service knew of a record.
    package func forget(_ entity: EntityNumber, _ key: RecordKey) throws {
        guard let row = try log.row(entity, key) else { return }
        try log.append(
            .forget, origin: .remote, entity: entity, key: key, previous: row.lastSequence
        ) { _ in }
    }

    /// Takes the note of a record that was sent away, if the record does not wait any more as it was sent: its
    /// change tag or its synced sequence changed, or it was deleted.
    func endSent(
        of key: RecordKey, _ headers: (before: RowHeader?, after: RowHeader?)
    ) throws {
        guard let before = headers.before, before.isWaiting else { return }
        if let after = headers.after, after.isWaiting, after.changeTag == before.changeTag,
            after.syncedSequence == before.syncedSequence
        {
            return
        }
        try log.forgetNote(.sent, key)
    }

    /// Forgets that a record was evicted.
    ///
    /// - Returns: Whether it was.
    package func endEviction(of key: RecordKey) throws -> Bool {
        for table in log.catalog.tables {
            guard let row = try log.row(table.number, key), row.flags.contains(.isEvicted)
            else { continue }
            try acknowledge(table.number, key, through: row.lastSequence, version: nil)
            return true
        }
        return false
    }

    /// Notes whether a service may come to have the store's records.
    ///
    /// - Throws: `invalidSchema` if none may, and one has: it still has to hear of edits and deletes.
    package func setMaySync(_ maySync: Bool) throws {
        if maySync { return try log.deleteMeta(MetaName.neverSyncs) }
        let meta = log.reader.meta
        var wasSynced = try meta.value(MetaName.syncTurn) != nil
        try meta.visit(MetaName.zonePrefix) { _, _ in
            wasSynced = true
            return false
        }
        guard !wasSynced else {
            throw StoreError(
                .invalidSchema,
                "The store was synchronised, and can't be opened with syncs: false, because a service "
                    + "may have its records. Leave syncs true; a retention policy shortens the log all "
                    + "the same.")
        }
        try log.setMeta(MetaName.neverSyncs, [])
    }

    // MARK: The outbox's floor

    /// Moves the place from which unsynced operations of a zone are looked for.
    package func setOutboxFloor(_ sequence: UInt64, in slot: UInt8 = 0) throws {
        try log.setMeta(MetaName.outboxFloor(in: slot), sequence.bigEndianBytes)
    }

    /// Moves the place from which unsynced operations of a zone are looked for past a run that was settled;
    /// not if some of the zone's operations, in the run or before it, were made pending again since the run
    /// was folded.
    ///
    /// - Parameters:
    ///   - start: The last operation before the run. A place before it says that a run before was not
    ///     settled.
    ///   - looked: The last operation that was looked at for a run before.
    /// - Returns: The last operation that was looked at.
    /// - Complexity: O(*n*) in the operations behind the run that were not looked at before.
    package func raiseOutboxFloor(
        from start: UInt64, to sequence: UInt64, looked: UInt64, in slot: UInt8 = 0
    ) throws -> UInt64 {
        guard try LogHorizon(log.reader).outboxFloor(in: slot) >= start else { return looked }
        var last = max(sequence, looked)
        var isSettled = true
        try log.reader.log.visit(from: last + 1) { operation in
            let isAgain = operation.kind == .release || operation.kind == .forget
            isSettled = !isAgain || operation.zone != slot
            if isSettled { last = operation.sequence }
            return isSettled
        }
        if isSettled { try setOutboxFloor(sequence, in: slot) }
        return last
    }
}

extension LogWriter {
    package var marks: SyncMarks { SyncMarks(self) }
}

extension RowView {
    /// The version that the service is known to have; nil if it is not known to have the record.
    package var serverVersion: ServerVersion? {
        hasChangeTag
            ? ServerVersion(changeTag: changeTag, modifiedMilliseconds: modifiedMilliseconds) : nil
    }
}
