package import BackstitchCore
package import BackstitchLog

/// What a delete will do, found out before anything is done.
private struct DeletePlan {
    private let log: LogWriter
    private let maySync: Bool
    /// The records to delete, referrers before what they refer to, but for cycles.
    private var deletions: [StoredRecordID] = []
    private var isDeleted: Set<StoredRecordID> = []
    /// The references to clear.
    private var nullified: [(place: StoredRecordID, field: FieldID)] = []
    private var denied: [(place: StoredRecordID, description: String)] = []

    init(_ place: StoredRecordID, in log: LogWriter) throws {
        self.log = log
        maySync = try LogHorizon(log.reader).maySync
        try add(place)
    }

    /// What a rule forbids; nil if nothing.
    var denial: String? {
        denied.first { !isDeleted.contains($0.place) }?.description
    }

    func perform() throws {
        for (place, field) in nullified where !isDeleted.contains(place) {
            try clear(field, of: place)
        }
        for place in deletions { try delete(place) }
    }

    /// Adds a record to delete and everything that follows from its delete rules.
    private mutating func add(_ first: StoredRecordID) throws {
        // An explicit stack: a chain of cascades may be longer than the thread's. A record comes
        // up once to find its referrers, and again when they are all in the
        var stack = [(place: first, hasReferrers: false)]
        while let (place, hasReferrers) = stack.popLast() {
            if hasReferrers {
                deletions.append(place)
                continue
            }
            guard isDeleted.insert(place).inserted else { continue }
            stack.append((place, true))
            guard let target = log.catalog.table(place.entity) else { continue }
            for table in log.catalog.tables {
                for attribute in table.references {
                    guard let reference = attribute.schema?.reference,
                        reference.target == target.name, reference.onDelete != .noAction
                    else { continue }
                    let referrers = try Referrers(
                        log.reader, of: table.number, attribute.field, to: place.key
                    ).keys
                    for key in referrers {
                        let referrer = StoredRecordID(entity: table.number, key: key)
                        switch reference.onDelete {
                        case .cascade:
                            if !isDeleted.contains(referrer) {
                                stack.append((referrer, false))
                            }
                        case .nullify:
                            nullified.append((referrer, attribute.field))
                        case .deny:
                            denied.append(
                                (referrer, "\(table.name).\(attribute.name) of \(key)"))
                        case .noAction:
                            break
                        }
                    }
                }
            }
        }
    }

    private func clear(_ field: FieldID, of place: StoredRecordID) throws {
        guard let row = try log.row(place.entity, place.key), !row.isDeleted,
            let before = try unsafe row.fields?.rawValue(of: field)
        else { return }
        log.fields.reset()
        try unsafe log.fields.before.write(raw: before, of: field)
        try log.fields.after.write(.null, of: field, keepsNull: true)
        // Clearing a reference does not make a record fit its type.
        let flags: OperationHeader.Flags =
            row.flags.contains(.isUnreadable) ? .isUnreadable : []
        try log.appendUpdate(
            origin: .local, entity: place.entity, key: place.key, previous: row.lastSequence,
            flags: flags)
    }

    private func delete(_ place: StoredRecordID) throws {
        guard let row = try log.row(place.entity, place.key), !row.isDeleted else { return }
        // No service ever has to hear of this, so that the row goes at once.
        let isSettled = !maySync && !row.hasChangeTag
        let stamp = SyncStamp(
            changeTag: "", modifiedMilliseconds: 0, acknowledgedThrough: row.lastSequence)
        try log.appendDelete(
            origin: .local, entity: place.entity, key: place.key, row: row,
            stamp: isSettled ? stamp : nil)
    }
}

extension LogWriter {
    /// Deletes a record, and does to the records that refer to it what their delete rules say.
    ///
    /// - Returns: Whether there was such a record.
    /// - Throws: `deleteDenied` if a rule forbids it; nothing is deleted then.
    package func delete(_ entity: EntityNumber, _ key: RecordKey) throws -> Bool {
        guard let row = try row(entity, key), !row.isDeleted else { return false }
        let plan = try DeletePlan(StoredRecordID(entity: entity, key: key), in: self)
        if let denial = plan.denial {
            throw StoreError(
                .deleteDenied,
                "The record \(key) can't be deleted: \(denial) refers to it with the rule deny. "
                    + "Delete or change that record first.")
        }
        try plan.perform()
        return true
    }
}
