package import BackstitchCore
package import BackstitchLog

/// Takes over what the service has of records, within one write.
package struct RecordMerger {
    package let log: LogWriter
    let policy: ConflictSettings
    /// Whether records that the service lost count as edited here.
    let prefersLocal: Bool
    /// The slot of the zone that the records are in.
    let zone: UInt8

    package init(
        _ log: LogWriter, policy: ConflictSettings, prefersLocal: Bool = false, zone: UInt8 = 0
    ) {
        self.log = log
        self.policy = policy
        self.prefersLocal = prefersLocal
        self.zone = zone
    }

    /// The key that a record of the zone has here.
    func key(_ recordName: String) -> RecordKey { RecordKey(RecordName(recordName), zone: zone) }

    var reader: TableReader { log.reader }
    var catalog: CatalogSnapshot { log.catalog }
    var serviceFields: ServiceFields { ServiceFields(log: log, zone: zone) }
    private var contents: ContentHashLookup { ContentHashLookup(reader.meta) }
    private var incomplete: IncompleteRecords { IncompleteRecords(log: log) }

    /// Merges a record that the service has.
    ///
    /// One that can't be stored is rejected, and nothing of it is kept: who merges it notes that. If the
    /// catalog can't number its type or all of its fields, a note says so, and it is fetched again once that
    /// is otherwise.
    /// - Parameter isAuthoritative: Whether its version counts even if it is older than the one
    ///   that is known: in the reply to a conflict, and while everything is fetched anew.
    package func merge(
        _ record: ServiceRecord, isAuthoritative: Bool = false
    ) throws -> MergeResult {
        if let reason = serviceFields.rejection(of: record) { return .rejected(reason) }
        do {
            let result = try mergeAccepted(record, isAuthoritative: isAuthoritative)
            switch result {
            case .unchanged, .parked, .undecided, .rejected, .unnumbered: break
            case .applied, .conflict: try DuplicateMerger(self).note(record)
            }
            try incomplete.note(record, of: key(record.recordName))
            return result
        } catch let error as CatalogFull {
            try incomplete.note(record, of: key(record.recordName))
            return .unnumbered(error.description)
        }
    }

    private func mergeAccepted(
        _ record: ServiceRecord, isAuthoritative: Bool
    ) throws -> MergeResult {
        let key = self.key(record.recordName)
        let table = try log.catalogChanges.table(named: record.recordType)
        let version = ServerVersion(
            changeTag: record.changeTag, modifiedMilliseconds: record.modifiedMilliseconds)
        guard let row = try log.row(table.number, key) else {
            // Names are unique across types: a record of another type ended unseen.
            for other in catalog.tables where other.number != table.number {
                if try reader.row(other.number, key) != nil {
                    // What can fail comes first, so that the other record does not end in vain.
                    _ = try serviceFields.number(record.fields, of: table)
                    _ = try mergeAbsent(other, key)
                }
            }
            if let result = try mergeUnheardEnd(key, table, record, version) {
                return result
            }
            let isUnreadable = try serviceFields.packBody(record, of: table)
            try log.insertBody(
                origin: .remote, entity: table.number, key: key, previous: 0,
                flags: isUnreadable ? .isUnreadable : [], stamp: SyncStamp(version, through: 0))
            return .applied
        }
        if row.hasChangeTag, row.changeTag == record.changeTag { return .unchanged }
        var (fields, known) = try serviceFields.fields(of: record, table)
        try keepFiles(in: &fields, of: row)
        var requested: Set<FieldID>?
        if let names = record.requestedFields {
            requested = Set(known.attributes.filter { names.contains($0.name) }.map(\.field))
        }
        return try merge(
            .present(stamp: version, fields: fields, requested: requested), key, known, row,
            isAuthoritative: isAuthoritative)
    }

    /// Leaves the files that a record holds already as they are here: the service keeps neither their
    /// names nor their media types.
    private func keepFiles(in fields: inout Fields, of row: RowView) throws {
        let files = fields.holdsAssets ? fields.filter { $0.value.holdsAssets } : []
        guard !files.isEmpty, let current = try row.currentFields.map(contents.added(to:)) else {
            return
        }
        for (field, value) in files {
            if let mine = current[field], ServiceMapping.areSame(mine, value, of: nil) {
                fields[field] = mine
            }
        }
    }

    /// Merges the news that the service has no such record.
    ///
    /// They end a record of which a version is known. One of which the service lost all that was known is made
    /// there again: the news may be of a life from before the one that was acknowledged here.
    /// - Parameters:
    ///   - recordType: The type that the record had, if the service tells.
    ///   - isSent: Whether the service may have had the record as it was sent and not acknowledged.
    package func mergeAbsent(
        _ key: RecordKey, recordType: String?, isSent: Bool = false
    ) throws -> MergeResult {
        var result = MergeResult.unchanged
        try log.forgetNote(.incomplete, key)
        for table in catalog.tables where recordType == nil || table.name == recordType {
            if let row = try log.row(table.number, key), !row.flags.contains(.isForgotten) {
                result = try mergeAbsent(table, key, isSent: isSent)
            }
        }
        return result
    }

    func mergeAbsent(
        _ table: EntityTable, _ key: RecordKey, isSent: Bool = false
    ) throws -> MergeResult {
        guard let row = try log.row(table.number, key) else { return .unchanged }
        if try log.marks.endEviction(of: key) { return .applied }
        // What stays on this device is no record of the service.
        guard row.hasChangeTag || row.isDirty else { return .unchanged }
        return try merge(.absent, key, table, row, isSent: isSent)
    }

    // MARK: Deciding

    /// Whether the service has an earlier state of a record that it lost, as after a restore from a
    /// backup: what came after that state is then still to be pushed.
    private func isBehind(
        _ server: ServerState, _ key: RecordKey, _ current: Fields?, _ history: [OperationStep],
        _ merge: Merge
    ) -> Bool {
        guard case .present(_, let fields, nil) = server else { return false }
        let local = LocalState(fields: current, version: nil, unsynced: history, name: key.name)
        return merge.isEarlierState(fields, of: local)
    }

    /// Whether a version meets what was here when the service lost its latest state, and is being sent again. Others
    /// do the same, so that the order in which versions come says nothing.
    private func meetsResent(
        _ row: RowView, _ unsynced: [OperationStep], _ server: ServerState,
        _ isAuthoritative: Bool
    ) throws -> Bool {
        guard !row.flags.contains(.isForgotten) else { return true }
        guard row.isDirty, case .present(let version, _, nil) = server else { return false }
        guard let known = row.serverVersion else { return unsynced.contains(where: \.isResent) }
        guard Merge.isNews(version, after: known, isAuthoritative: isAuthoritative) else {
            return false
        }
        return try reader.log.flags(of: row.syncedSequence).contains(.isResent)
    }

    func merge(
        _ server: ServerState, _ key: RecordKey, _ table: EntityTable, _ row: RowView,
        isAuthoritative: Bool = false, isSent: Bool = false
    ) throws -> MergeResult {
        if case .present(let version, let fields, _) = server, !prefersLocal,
            try DuplicateMerger(self).stayed(for: row) != nil
        {
            // It ended as a duplicate of what it was. What it is now is looked at anew.
            try log.forgetNote(.missed, key)
            try log.forgetNote(.unheard, key)
            try log.replace(
                key, table, with: fields, origin: .remote,
                stamp: SyncStamp(version, through: row.lastSequence))
            return .applied
        }
        let rules = policy.rules.merging(table)
        var merge = Merge(
            rules: rules, knownFields: table.declaredFields,
            deferrableFields: Set(table.denyingReferences.map(\.field)),
            laterFields: Set(
                table.attributes.filter { $0.schema?.isAfterwards == true }.map(\.field))
        ) { field, first, second in
            ServiceMapping.areSame(first, second, of: table.attribute(field)?.schema)
        }
        let current = try row.currentFields.map(contents.added(to:))
        let history = reader.history(of: row)
        var unsynced = try history.unsynced.map(contents.added(to:))
        let meetsResent = try !prefersLocal && meetsResent(row, unsynced, server, isAuthoritative)
        let steps =
            try meetsResent && row.hasChangeTag
            ? history.steps(after: 0).map(contents.added(to:)) : unsynced
        let isBehind = meetsResent && isBehind(server, key, current, steps, merge)
        let hasNoEdits =
            meetsResent
            && (row.flags.contains(.isForgotten) || unsynced.last?.isResent == true)
        let isTaken = meetsResent && row.flags.contains(.isForgotten) && !isBehind
        if isBehind { unsynced = steps }
        if isTaken { unsynced = [] }
        let unmerged = UnmergedFields(
            of: table, current: current, unsynced: unsynced, server: server)
        let local = LocalState(
            fields: current?.without(unmerged.ids),
            version: isBehind || isTaken ? nil : row.serverVersion,
            unsynced: unsynced.map { $0.without(unmerged.ids) },
            kept: unsynced.isEmpty || !row.hasChangeTag || isBehind
                ? Fields() : try history.keptFields.without(unmerged.ids),
            isSent: isSent, name: key.name)
        let place = ConflictKey(
            entity: table.number, record: key, changeTag: server.changeTag,
            localSequence: row.lastSequence)
        merge.answer = policy.answers[place] ?? policy.lastAnswer
        var lost: OperationHeader.Flags = []
        var plan = merge.plan(
            local: local, server: unmerged.seen(server), isAuthoritative: isAuthoritative)
        if let question = plan.question { return .undecided(place, question) }
        if let reason = plan.parkingReason {
            guard
                try log.marks.park(table.number, key, through: row.lastSequence, reason: reason)
            else { return .unchanged }
            try UnmergedVersions.note(key, server, in: log)
            return .parked(
                ParkedRecord(
                    record: RecordID(entity: table.name, key: key), sequence: log.head,
                    reason: reason))
        }
        if isTaken, case .acknowledge(let version, _) = plan.remote {
            plan.remote = .acknowledge(version: version, through: row.lastSequence)
        } else if case .acknowledge(let version, let through) = plan.remote,
            case .present(_, let fields, nil) = server,
            isBehind
                || unsynced.contains(where: { $0.sequence > through && $0.origin == .remote })
        {
            // What came from the service after that state, and was forgotten with edits or without, is an
            // edit to it now, and no version of it.
            plan.remote = .adopt(version: version, fields: fields, through: row.lastSequence)
            plan.rebase = current.map { .save($0) } ?? .delete
            lost = .isResent
        }
        if plan.remote != .nothing {
            try log.forgetNote(.missed, key)
            try log.forgetNote(.unheard, key)
        }
        plan = unmerged.whole(plan, local)
        if meetsResent { lost = plan.rebase == .nothing ? .replacesLost : .isResent }
        let settled = try perform(
            plan, key, table, lost: lost, resent: hasNoEdits ? .isResent : [])
        if plan.conflict != nil { return .conflict(sequence: settled) }
        return plan.remote == .nothing ? .unchanged : .applied
    }

    /// Appends what a merge decided.
    ///
    /// - Parameters:
    ///   - lost: What the version that is taken has to do with one that the service lost.
    ///   - resent: The same of what comes on top of it.
    /// - Returns: the last operation but for a rebase: the one that settled a conflict, if there was one.
    @discardableResult
    func perform(
        _ plan: MergePlan, _ key: RecordKey, _ table: EntityTable,
        lost: OperationHeader.Flags = [], resent: OperationHeader.Flags = []
    ) throws -> UInt64 {
        // Before the record changes: the copy is of what it was.
        if let copy = plan.copy, let name = plan.conflict?.copy {
            try insertCopy(copy, RecordKey(name, zone: key.zone), table)
        }
        switch plan.remote {
        case .nothing:
            break
        case .acknowledge(let version, let through):
            try log.marks.acknowledge(
                table.number, key, through: through, version: version, conflict: plan.conflict)
        case .adopt(let version, let fields, let through):
            try log.replace(
                key, table, with: fields, origin: .remote,
                stamp: SyncStamp(version, through: through), conflict: plan.conflict,
                lost: lost)
        }
        let settled = log.head
        switch plan.rebase {
        case .nothing:
            break
        case .save(let fields):
            try log.replace(key, table, with: fields, origin: .rebase, lost: resent)
        case .delete:
            try log.replace(key, table, with: nil, origin: .rebase)
        }
        return settled
    }

    /// Makes the local version a record of its own, as a local edit. One that is there already is
    /// from the same conflict, and may have been edited since. References that no edit may have are left
    /// out of it.
    private func insertCopy(_ fields: Fields, _ key: RecordKey, _ table: EntityTable) throws {
        for other in catalog.tables {
            if let row = try reader.row(other.number, key), !row.isDeleted { return }
        }
        let crossing = Set(table.crossing(fields, from: key.zone).map(\.field))
        try log.replace(key, table, with: fields.without(crossing), origin: .local)
    }
}

extension SyncStamp {
    init(_ version: ServerVersion?, through: UInt64) {
        self.init(
            changeTag: version?.changeTag ?? "",
            modifiedMilliseconds: version?.modifiedMilliseconds ?? 0, acknowledgedThrough: through)
    }
}

extension ServerState {
    /// The change tag; empty if the service has no such record.
    fileprivate var changeTag: String {
        if case .present(let version, _, _) = self { version.changeTag } else { "" }
    }
}
