package import BackstitchCore
package import BackstitchLog

/// What came of a version of a record that the service delivered.
package enum MergeResult: Equatable, Sendable {
    /// It was known already.
    case unchanged
    /// It was taken over.
    case applied
    /// Both sides had changed.
    case conflict(ConflictReport)
    /// Both sides had changed, and the record was parked as it is here.
    case parked(ParkedRecord)
    /// Both sides had changed, and the application has to decide. Nothing was written.
    case undecided(ConflictKey, ConflictQuestion)
    /// It can't be stored at all.
    case rejected(String)
}

extension LogWriter {
    /// Merges a record that the service has.
    ///
    /// One that can't be stored is rejected, and nothing of it is kept. If the catalog can't number
    /// its type or all of its fields, a note says so, and it is fetched again once that is otherwise.
    /// - Parameter isAuthoritative: Whether its version counts even if it is older than the one
    ///   that is known: in the reply to a conflict, and while everything is fetched anew.
    package func merge(
        _ record: ServiceRecord, policy: ConflictSettings, isAuthoritative: Bool = false
    ) throws -> MergeResult {
        if let reason = rejection(of: record) { return .rejected(reason) }
        do {
            let result = try mergeAccepted(
                record, policy: policy, isAuthoritative: isAuthoritative)
            switch result {
            case .unchanged, .parked, .undecided, .rejected: break
            case .applied, .conflict: try noteDuplicate(record)
            }
            try noteIncomplete(record)
            return result
        } catch let error as NumbersUsedUp {
            try noteIncomplete(record)
            return .rejected(error.description)
        }
    }

    /// Why a record can't be stored at all; nil if it can.
    private func rejection(of record: ServiceRecord) -> String? {
        if let violation = RecordName(record.recordName).violation { return violation }
        if record.changeTag.isEmpty || record.changeTag.utf8.count > 255 {
            return "Its change tag is empty or has more than 255 bytes."
        }
        func isImpossible(_ name: String) -> Bool {
            name.isEmpty || name.utf8.count > Catalog.nameBytesMax
        }
        if isImpossible(record.recordType) { return Self.impossibleName }
        for (name, value) in record.fields {
            if isImpossible(name) { return Self.impossibleName }
            guard value.mayBeRefused else { continue }
            do {
                let stored = ServiceMapping.storedValue(
                    value, of: AttributeType?.none
                ).value
                fieldWriter.reset()
                try fieldWriter.write(stored, of: FieldID(1))
            } catch {
                return "Its field \(name) can't be stored: \(error)."
            }
        }
        return nil
    }

    private static let impossibleName =
        "The name of its type or of a field is empty or has more than "
        + "\(Catalog.nameBytesMax) bytes."

    private func mergeAccepted(
        _ record: ServiceRecord, policy: ConflictSettings, isAuthoritative: Bool
    ) throws -> MergeResult {
        let key = RecordKey(RecordName(record.recordName))
        let table = try table(named: record.recordType)
        let version = ServerVersion(
            changeTag: record.changeTag, modifiedMilliseconds: record.modifiedMilliseconds)
        guard let row = try reader.row(table.number, key) else {
            // Names are unique across types: a record of another type ended unseen.
            for other in catalog.tables where other.number != table.number {
                if try reader.row(other.number, key) != nil {
                    // What can fail comes first, so that the other record does not end in vain.
                    _ = try number(record.fields.keys, of: table)
                    _ = try mergeAbsent(other, key, policy: policy)
                }
            }
            if let result = try mergeUnheardEnd(key, table, record, version, policy) {
                return result
            }
            let isUnreadable = try packBody(record, of: table)
            try insertBody(
                origin: .remote, entity: table.number, key: key, previous: 0,
                flags: isUnreadable ? .isUnreadable : [], stamp: SyncStamp(version, through: 0))
            return .applied
        }
        if row.hasChangeTag, row.changeTag == record.changeTag { return .unchanged }
        let (fields, known) = try fields(of: record, table)
        var requested: Set<FieldID>?
        if let names = record.requestedFields {
            requested = Set(known.attributes.filter { names.contains($0.name) }.map(\.field))
        }
        return try merge(
            .present(stamp: version, fields: fields, requested: requested), key, known, row, policy,
            isAuthoritative: isAuthoritative)
    }

    /// Merges the news that the service has no such record.
    ///
    /// - Parameter recordType: The type that the record had, if the service tells.
    package func mergeAbsent(
        _ key: RecordKey, recordType: String?, policy: ConflictSettings
    ) throws -> MergeResult {
        var result = MergeResult.unchanged
        try forgetIncomplete(key)
        for table in catalog.tables where recordType == nil || table.name == recordType {
            if try reader.row(table.number, key) != nil {
                result = try mergeAbsent(table, key, policy: policy)
            }
        }
        return result
    }

    func mergeAbsent(
        _ table: EntityTable, _ key: RecordKey, policy: ConflictSettings
    ) throws -> MergeResult {
        guard let row = try reader.row(table.number, key) else { return .unchanged }
        if try endEviction(of: key) { return .applied }
        // What stays on this device is no record of the service.
        guard row.hasChangeTag || row.isDirty else { return .unchanged }
        return try merge(.absent, key, table, row, policy)
    }

    // MARK: Deciding

    func merge(
        _ server: ServerState, _ key: RecordKey, _ table: EntityTable, _ row: RowView,
        _ policy: ConflictSettings, isAuthoritative: Bool = false
    ) throws -> MergeResult {
        if case .present(let version, let fields, _) = server, !prefersLocal,
            try stayed(for: row) != nil
        {
            // It ended as a duplicate of what it was. What it is now is looked at anew.
            try replace(
                key, table, with: fields, origin: .remote,
                stamp: SyncStamp(version, through: row.lastSequence), conflict: nil)
            return .applied
        }
        let rules = policy.rules.merging(table)
        var merge = Merge(
            rules: rules, knownFields: table.declaredFields,
            deferrableFields: Set(table.denyingReferences.map(\.field))
        ) { field, first, second in
            ServiceMapping.areSame(first, second, of: table.attribute(field)?.schema)
        }
        let isForgotten = row.flags.contains(.isForgotten) && !prefersLocal
        let current = row.isDeleted ? nil : try row.fields.map { try Fields($0) }
        let unsynced =
            isForgotten
            ? [] : try reader.contentSteps(from: row.lastSequence, after: row.syncedSequence)
        let masked = MaskedFields(of: table, current: current, unsynced: unsynced, server: server)
        let local = LocalState(
            fields: current?.without(masked.ids),
            version: row.hasChangeTag
                ? ServerVersion(
                    changeTag: row.changeTag, modifiedMilliseconds: row.modifiedMilliseconds) : nil,
            unsynced: unsynced.map { $0.without(masked.ids) },
            kept: unsynced.isEmpty ? Fields() : try reader.keptFields(of: row).without(masked.ids),
            name: key.name)
        let place = ConflictKey(
            entity: table.number, record: key, changeTag: server.changeTag,
            localSequence: row.lastSequence)
        merge.answer = policy.answers[place] ?? policy.lastAnswer
        var plan = merge.plan(
            local: local, server: masked.seen(server), isAuthoritative: isAuthoritative)
        if let question = plan.question { return .undecided(place, question) }
        if let reason = plan.parkingReason {
            let parked = try park(
                table.number, key, through: row.lastSequence, reason: reason)
            guard let parked else { return .unchanged }
            try noteMissedVersion(of: key, server)
            return .parked(parked)
        }
        if isForgotten, case .acknowledge(let version, _) = plan.remote {
            plan.remote = .acknowledge(version: version, through: row.lastSequence)
        }
        if plan.remote != .nothing {
            try forgetMissedVersion(of: key)
            try forgetUnheardEnd(of: key)
        }
        plan = masked.whole(plan, local)
        try perform(plan, key, table)
        if let conflict = plan.conflict { return .conflict(conflict) }
        return plan.remote == .nothing ? .unchanged : .applied
    }

    /// Appends what a merge decided.
    func perform(_ plan: MergePlan, _ key: RecordKey, _ table: EntityTable) throws {
        // Before the record changes: the copy is of what it was.
        if let copy = plan.copy, let name = plan.conflict?.copy {
            try insertCopy(copy, RecordKey(name), table)
        }
        switch plan.remote {
        case .nothing:
            break
        case .acknowledge(let version, let through):
            try acknowledge(
                table.number, key, through: through, version: version, conflict: plan.conflict)
        case .adopt(let version, let fields, let through):
            try replace(
                key, table, with: fields, origin: .remote,
                stamp: SyncStamp(version, through: through), conflict: plan.conflict)
        }
        switch plan.rebase {
        case .nothing:
            break
        case .save(let fields):
            try replace(
                key, table, with: fields, origin: .rebase, stamp: nil, conflict: nil)
        case .delete:
            try replace(key, table, with: nil, origin: .rebase, stamp: nil, conflict: nil)
        }
    }

    /// Makes the local version a record of its own, as a local edit. One that is there already is
    /// from the same conflict, and may have been edited since.
    private func insertCopy(_ fields: Fields, _ key: RecordKey, _ table: EntityTable) throws {
        for other in catalog.tables {
            if let row = try reader.row(other.number, key), !row.isDeleted { return }
        }
        try pack(fields)
        try insertBody(
            origin: .local, entity: table.number, key: key,
            previous: try reader.row(table.number, key)?.lastSequence ?? 0,
            flags: isUnreadable(fields, table) ? .isUnreadable : [])
    }

    /// Appends the operation that makes a record these fields; nil ends it.
    func replace(
        _ key: RecordKey, _ table: EntityTable, with fields: Fields?, origin: OperationOrigin,
        stamp: SyncStamp?, conflict: ConflictReport?
    ) throws {
        let row = try reader.row(table.number, key)
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
        let flags = isUnreadable(fields, table) ? OperationHeader.Flags.isUnreadable : []
        try pack(fields)
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

    private func pack(_ fields: Fields) throws {
        fieldWriter.reset()
        try fields.withoutNulls.write(to: &fieldWriter)
        bodyBuffer.removeAll()
        fieldWriter.finish(into: &bodyBuffer)
    }

    // MARK: Reading the service's fields

    /// Packs a record of the service into the body buffer.
    ///
    /// - Returns: whether it can't be read as its Swift type.
    private func packBody(_ record: ServiceRecord, of table: EntityTable) throws -> Bool {
        var (isUnreadable, isWhole) = try pack(record, of: table)
        if !isWhole {
            let table = try number(record.fields.keys, of: table)
            (isUnreadable, _) = try pack(record, of: table)
        }
        bodyBuffer.removeAll()
        fieldWriter.finish(into: &bodyBuffer)
        return isUnreadable
    }

    /// Writes the fields of a record that a table has.
    ///
    /// - Returns: whether the record can't be read, and whether the table has all of its fields.
    private func pack(
        _ record: ServiceRecord, of table: EntityTable
    ) throws -> (isUnreadable: Bool, isWhole: Bool) {
        fieldWriter.reset()
        var isUnreadable = false
        var found = 0
        for column in table.columns {
            guard let value = record.fields[column.name] else {
                if column.isMandatory { isUnreadable = true }
                continue
            }
            found += 1
            if column.isUnread { continue }
            if case .null = value {
                if column.isMandatory { isUnreadable = true }
                continue
            }
            let fits = try ServiceMapping.write(
                value, as: column, to: &fieldWriter)
            if !(fits ?? !column.isMandatory) { isUnreadable = true }
        }
        return (isUnreadable, found == record.fields.count)
    }

    /// The fields of a record of the service by their numbers.
    func fields(
        of record: ServiceRecord, _ table: EntityTable
    ) throws -> (Fields, EntityTable) {
        let table = try number(record.fields.keys, of: table)
        var fields = Fields()
        for (name, value) in record.fields where value != .null {
            guard let attribute = table.attribute(named: name),
                !table.unreadFields.contains(attribute.field)
            else { continue }
            fields[attribute.field] =
                ServiceMapping.storedValue(
                    value, of: attribute.isDeclared ? attribute.schema : nil
                ).value
        }
        return (fields, table)
    }

    /// Numbers the names that are new, in a fixed order, as far as there are numbers for them.
    private func number(
        _ names: Dictionary<String, ServiceValue>.Keys, of table: EntityTable
    ) throws -> EntityTable {
        try numberFields(
            named: names.filter { table.attribute(named: $0) == nil }.sorted(), of: table)
    }

    /// Whether fields can't be read as the Swift type that the schema declares.
    func isUnreadable(_ fields: Fields, _ table: EntityTable) -> Bool { !table.canRead(fields) }
}

extension SyncStamp {
    init(_ version: ServerVersion?, through: UInt64) {
        self.init(
            changeTag: version?.changeTag ?? "",
            modifiedMilliseconds: version?.modifiedMilliseconds ?? 0, acknowledgedThrough: through)
    }
}

extension ServiceValue {
    /// Whether storing the value may fail; most can't, and need no trial.
    fileprivate var mayBeRefused: Bool {
        switch self {
        case .string(let text): text.utf8.count > FieldWriter.fieldBytesMax
        case .bytes(let bytes): bytes.count > FieldWriter.fieldBytesMax
        case .list, .unknown: true
        case .reference(let reference):
            reference.recordName.utf8.count > FieldWriter.fieldBytesMax
        case .null, .int64, .double, .timestamp, .location: false
        }
    }
}

extension ServerState {
    /// The change tag; empty if the service has no such record.
    fileprivate var changeTag: String {
        if case .present(let version, _, _) = self { version.changeTag } else { "" }
    }
}
