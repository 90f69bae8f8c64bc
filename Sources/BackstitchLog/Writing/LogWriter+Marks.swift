package import BackstitchCore

/// Operations that leave a record's content as it is and say how it stands with the service.
extension LogWriter {
    /// Notes that the service has a record's operations up to a sequence. Later ones stay unsynced.
    ///
    /// - Parameter version: What the service has now; nil if the record does not exist there.
    package func acknowledge(
        _ entity: EntityNumber, _ key: RecordKey, through: UInt64, version: ServerVersion?,
        conflict: ConflictReport? = nil
    ) throws {
        guard let row = try row(entity, key) else { return }
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
        guard let row = try row(entity, key) else { return }
        try acknowledge(entity, key, through: through, version: row.serverVersion)
    }

    /// Parks a record's unsynced operations until it is edited or released.
    ///
    /// - Parameter through: The last operation that was refused. A record that was edited since is
    ///   not parked: the edit may be the remedy.
    /// - Returns: Whether it was parked; ``head`` is then the operation that parked it.
    @discardableResult
    package func park(
        _ entity: EntityNumber, _ key: RecordKey, through: UInt64, reason: String
    ) throws -> Bool {
        guard let row = try row(entity, key), row.isDirty, row.lastSequence == through else {
            return false
        }
        try append(
            .park, origin: .remote, entity: entity, key: key, previous: row.lastSequence
        ) { $0.append(utf8: reason) }
        return true
    }

    /// Makes parked operations pending again.
    ///
    /// - Returns: Whether the record was parked.
    @discardableResult
    package func release(_ entity: EntityNumber, _ key: RecordKey) throws -> Bool {
        guard let row = try row(entity, key), row.flags.contains(.isParked) else {
            return false
        }
        try append(
            .release, origin: .local, entity: entity, key: key, previous: row.lastSequence
        ) { _ in }
        try setOutboxFloor(0)
        return true
    }

    /// Releases the parked records that a closure chooses by their place and the reason.
    package func releaseParked(where isReady: (RecordPlace, ParkReason) throws -> Bool) throws {
        var ready: [RecordPlace] = []
        try reader.visitParked { place, _, reason in
            if try isReady(place, reason) { ready.append(place) }
            return true
        }
        for place in ready { try release(place.entity, place.key) }
    }

    /// Forgets what the service knew of a record.
    package func forget(_ entity: EntityNumber, _ key: RecordKey) throws {
        guard let row = try row(entity, key) else { return }
        try append(
            .forget, origin: .remote, entity: entity, key: key, previous: row.lastSequence
        ) { _ in }
    }

    /// Forgets that a record was evicted.
    ///
    /// - Returns: Whether it was.
    package func endEviction(of key: RecordKey) throws -> Bool {
        for table in catalog.tables {
            guard let row = try row(table.number, key), row.flags.contains(.isEvicted)
            else { continue }
            try acknowledge(table.number, key, through: row.lastSequence, version: nil)
            return true
        }
        return false
    }

    // MARK: Content from values

    /// Appends the operation that makes a record these fields; nil ends it.
    ///
    /// If the record has them already, a stamp is acknowledged, and nothing happens without one.
    package func replace(
        _ key: RecordKey, _ table: EntityTable, with fields: Fields?, origin: OperationOrigin,
        stamp: SyncStamp? = nil, conflict: ConflictReport? = nil
    ) throws {
        let row = try row(table.number, key)
        let isLive = row?.isDeleted == false
        guard let fields else {
            if let row, isLive {
                try appendDelete(
                    origin: origin, entity: table.number, key: key, row: row, stamp: stamp,
                    conflict: conflict)
            } else if let row, stamp != nil {
                try acknowledge(
                    table.number, key, through: row.lastSequence, version: nil, conflict: conflict)
            }
            return
        }
        let flags: OperationHeader.Flags = table.canRead(fields) ? [] : .isUnreadable
        fieldWriter.reset()
        try fields.withoutNulls.write(to: &fieldWriter)
        bodyBuffer.removeAll()
        fieldWriter.finish(into: &bodyBuffer)
        guard let row, isLive else {
            return try insertBody(
                origin: origin, entity: table.number, key: key, previous: row?.lastSequence ?? 0,
                flags: flags, stamp: stamp, conflict: conflict)
        }
        let previous = row.lastSequence
        if try compare(row, keepingAllBut: nil) {
            try appendUpdate(
                origin: origin, entity: table.number, key: key, previous: previous, flags: flags,
                stamp: stamp, conflict: conflict)
        } else if let stamp {
            try acknowledge(
                table.number, key, through: previous,
                version: ServerVersion(
                    changeTag: stamp.changeTag,
                    modifiedMilliseconds: stamp.modifiedMilliseconds), conflict: conflict)
        }
    }

    // MARK: The outbox's floor

    /// Moves the place from which unsynced operations are looked for.
    package func setOutboxFloor(_ sequence: UInt64) throws {
        try setMeta(
            MetaName.outboxFloor, withUnsafeBytes(of: sequence.bigEndian) { Array($0) })
    }

    /// Moves the place from which unsynced operations are looked for past a run that was settled;
    /// not if some of them were made pending again since the run was folded.
    package func raiseOutboxFloor(to sequence: UInt64) throws {
        var isSettled = true
        try reader.visitOperations(from: sequence + 1) { operation in
            isSettled = operation.kind != .release && operation.kind != .forget
            return isSettled
        }
        if isSettled { try setOutboxFloor(sequence) }
    }
}

extension RowView {
    /// The version that the service is known to have; nil if it is not known to have the record.
    package var serverVersion: ServerVersion? {
        hasChangeTag
            ? ServerVersion(changeTag: changeTag, modifiedMilliseconds: modifiedMilliseconds) : nil
    }
}
